package store

// Description is what a store is, and how it keeps messages. It has no secrets.
type Description struct {
	Kind     Kind
	Servers  []Server // of a Redis: the server, or the masters of a Cluster
	Files    *Files   // of a directory
	Findings []Finding
}

// Kind is a kind of store.
type Kind string

// The kinds.
const (
	KindRedis    Kind = "redis" // one server
	KindSentinel Kind = "sentinel"
	KindCluster  Kind = "cluster"
	KindFile     Kind = "file"
	KindMemory   Kind = "memory"
)

// Server is a Redis server.
type Server struct {
	Address      string // host and port, of a Cluster; "" for the only one
	Version      string // with the name, such as "Redis 7.2.4"
	Role         string // "master" or "slave"
	MemoryUsed   int64  // bytes
	MemoryLimit  int64  // 0: none
	Eviction     string // what is deleted when it is full
	AppendOnly   bool   // it writes an append-only file
	LastSnapshot int64  // instant; when there was none yet, the start of the server
	Clients      int64  // connections
	Replicas     int64
}

// Files are those of a store in a directory.
type Files struct {
	Bytes    int64
	Needed   int64 // bytes that are left when all garbage is removed
	Segments int
	Sync     string // "always": a call waits for the disk; "never"; or how often, such as "500ms"
	Full     bool   // new messages are refused
}
