package embedded

import "slices"

// endedByKey has the dead messages of each key in the order of their deaths, including letters
// that name the key; or the done messages of each key in the order of their ends. Most keys
// have one.
type endedByKey map[string][]*entry

func (k endedByKey) add(e *entry) {
	key := e.content.key()
	if key == "" {
		return
	}
	all := k[key]
	at := len(all)
	for at > 0 && all[at-1].at > e.at { // the clock was set back, or a log is being read
		at--
	}
	k[key] = slices.Insert(all, at, e)
}

// addLast is add, but keeps the last most messages of the key only.
func (k endedByKey) addLast(e *entry, most int) {
	k.add(e)
	if all := k[e.content.key()]; len(all) > most {
		k[e.content.key()] = slices.Delete(all, 0, 1)
	}
}

func (k endedByKey) drop(e *entry) {
	key := e.content.key()
	at := slices.Index(k[key], e)
	switch {
	case at < 0:
	case len(k[key]) == 1:
		delete(k, key)
	default:
		k[key] = slices.Delete(k[key], at, at+1)
	}
}

// last returns the message that died last with a key, nil if there is none.
func (k endedByKey) last(key string) *entry {
	all := k[key]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}
