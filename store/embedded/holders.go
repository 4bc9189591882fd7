package embedded

// holdersMost is how many consumers that hold messages of a partition have a number. The
// messages of further consumers are shown without a holder.
const holdersMost = int(keyed) - 1

// holders are the consumers that hold messages of a partition, by number from 1: an entry
// has no space for a name. The number of a consumer that holds no message is used again.
type holders []holder

type holder struct {
	name string
	held int // messages
}

// number returns the number of a consumer that is about to hold messages, 0 if there are too many.
func (h *holders) number(name string) traits {
	free := 0
	for i := 1; i < len(*h); i++ {
		switch other := &(*h)[i]; {
		case other.held == 0:
			free = i
		case other.name == name:
			return traits(i)
		}
	}
	if free == 0 {
		if len(*h) > holdersMost {
			return 0
		}
		free = max(1, len(*h))
		*h = append(*h, make(holders, free+1-len(*h))...)
	}
	(*h)[free] = holder{name: name}
	return traits(free)
}

// name returns the name of an entry's holder, "" if it is not known.
func (h holders) name(e *entry) string {
	if n := e.holder(); int(n) < len(h) && n != 0 {
		return h[n].name
	}
	return ""
}

func (h holders) add(number traits) {
	if number != 0 {
		h[number].held++
	}
}

func (h holders) drop(number traits) {
	if number != 0 {
		h[number].held--
	}
}
