package redisstore

// pieceSize is small, so that a body that is used for long keeps little else in memory.
const pieceSize = 4096

// pieces copies bodies, several small ones into one piece of memory. They overlap nowhere,
// and an append to one moves it.
type pieces struct {
	free []byte // of the piece in use
	left int    // at least the bytes to be copied still
}

// newPieces returns pieces for bodies that are part of records.
func newPieces(records []string) pieces {
	p := pieces{}
	for _, record := range records {
		p.left += len(record)
	}
	return p
}

func (p *pieces) copy(body string) []byte {
	n := len(body)
	if n == 0 || n > pieceSize/4 {
		return []byte(body)
	}
	if n > len(p.free) {
		p.free = make([]byte, max(n, min(pieceSize, p.left)))
	}
	made := p.free[:n:n]
	p.free, p.left = p.free[n:], p.left-n
	copy(made, body)
	return made
}
