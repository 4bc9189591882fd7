package store

// Finding is one thing that a store has found out about the servers that it uses.
type Finding struct {
	Check  string // what was looked at, such as "persistence"
	Server string // its address; "" for the only one
	Level  Level
	Found  string // what is the case
	Fix    string // what to change, and why; "" if nothing
}

// Level is how bad a [Finding] is.
type Level int

// The levels.
const (
	Fine Level = iota // nothing has to be changed
	Warn              // messages can be lost or late under conditions that a fix prevents
	Fail              // something does not work
)
