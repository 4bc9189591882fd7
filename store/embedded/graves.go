package embedded

import "slices"

// graves are the dead messages of each key, letters that only name it among them, in the
// order of death; or the done ones in that of their ends. Most keys have one.
type graves map[string][]*entry

func (g graves) add(e *entry) {
	key := e.content.key()
	if key == "" {
		return
	}
	all := g[key]
	at := len(all)
	for at > 0 && all[at-1].at > e.at { // the clock was set back, or a log is being read
		at--
	}
	g[key] = slices.Insert(all, at, e)
}

// addLast is add, and drops the first of the key if there are more than most then.
func (g graves) addLast(e *entry, most int) {
	g.add(e)
	if all := g[e.content.key()]; len(all) > most {
		g[e.content.key()] = slices.Delete(all, 0, 1)
	}
}

func (g graves) drop(e *entry) {
	key := e.content.key()
	at := slices.Index(g[key], e)
	switch {
	case at < 0:
	case len(g[key]) == 1:
		delete(g, key)
	default:
		g[key] = slices.Delete(g[key], at, at+1)
	}
}

// last returns the message that died last with a key, nil if there is none.
func (g graves) last(key string) *entry {
	all := g[key]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}
