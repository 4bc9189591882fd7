// Package wire has what a remote store and its server must agree on: package httpstore calls each
// method of the port with a POST that package dueqhttp answers.
//
// The body of a request is a [Call] as JSON, the body of an answer what the method returns. Both
// consist of the structures of package store. An error is a problem document (RFC 9457).
package wire

// Path is the path of the methods below that of the server. The name of a method follows.
const Path = "/v1/store/"

// Names of the methods.
const (
	Push       = "push"
	Claim      = "claim"
	Settle     = "settle"
	Extend     = "extend"
	Cancel     = "cancel"
	Reschedule = "reschedule"
	Get        = "get"
	List       = "list"
	Stats      = "stats"
	Forecast   = "forecast"
	Names      = "names"
	Queues     = "queues"
	Redrive    = "redrive"
	Purge      = "purge"
	Restore    = "restore"
	Configure  = "configure"
	Delete     = "delete"
	Beat       = "beat"
	Duties     = "duties"
	Members    = "members"
	Notify     = "notify"
	Now        = "now"
	Leave      = "leave"
	Watch      = "watch"
	Check      = "check"
	// Describe is no method of the port: stores can have it. Its answer is a store.Description.
	Describe = "describe"
)

// Call is the request of a method. Methods that are about no queue, or about no partition, leave
// these out.
type Call[R any] struct {
	Queue     string `json:"queue,omitzero"`
	Partition int    `json:"partition,omitzero"`
	Request   R      `json:"request,omitzero"`
}

// None is the request or the answer of a method that has none.
type None struct{}

// Headers besides those of HTTP.
const (
	// Answer is in each answer of a method. An answer without it is from another server.
	Answer = "Dueq-Store"
	// Known is in a request: the version of the settings that the client has of the queue.
	Known = "Dueq-Known"
	// Settings is in an answer if the server has other settings of the queue: they, as JSON, or
	// NoSettings.
	Settings = "Dueq-Settings"
)

// NoSettings is the header Settings if the server knows none of the queue.
const NoSettings = "none"

// MaxRequest is the maximum size of a request in bytes. Every request that the library makes is
// smaller: one body of store.MaxBody takes a third more in base 64, and the texts of
// store.MaxBatchBytes at most six times as much if all characters are escaped.
const MaxRequest = 8 << 20

// EventStream is the media type of the answer to Watch: an event is a line "data: " with a
// store.Event as JSON, and an empty line.
const EventStream = "text/event-stream"

// EventPrefix is in front of an event.
const EventPrefix = "data: "
