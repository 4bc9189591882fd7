package store

import "fmt"

// Partition names one shard of a queue.
type Partition struct {
	Queue string
	Index int // 0 to MaxPartitions-1
}

// String returns "queue:index", for logs and errors.
func (p Partition) String() string { return fmt.Sprintf("%s:%d", p.Queue, p.Index) }

// Validate returns an *Error of kind ErrInvalid when p cannot exist.
func (p Partition) Validate() error {
	if err := ValidateQueue(p.Queue); err != nil {
		return err
	}
	if p.Index < 0 || p.Index >= MaxPartitions {
		return Invalid("partition", "%d is outside 0 to %d", p.Index, MaxPartitions-1)
	}
	return nil
}
