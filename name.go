package dueq

import (
	"cmp"
	"crypto/rand"
	"os"
	"strconv"
	"strings"
)

// maxName leaves room for what makes a name unique: with the names of lanes behind it, it has up
// to store.MaxCallerName characters.
const maxName = 32

// uniqueName returns a name of 80 random bits for a producer or a consumer.
func uniqueName() string { return strings.ToLower(rand.Text())[:16] }

// uniqueNameOf returns a name that no other consumer has, and that begins with a given one.
func uniqueNameOf(name string) string { return name + "-" + uniqueName() }

func checkName(name string) error {
	if len(name) > maxName || strings.ContainsFunc(name, notInName) {
		return invalid("name", "%.50q: want at most %d letters, digits, '.', '_', '-'", name, maxName)
	}
	return nil
}

func notInName(r rune) bool {
	return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", r)
}

// processName returns what tells this process from others: host and process id. In a container
// the id is often 1, but there the host has a name of its own.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return nameOf(host, os.Getpid())
}

// nameOf returns host-pid without what may not be in a name. Names of hosts that were made by
// numbering or at random differ at the end, so that is kept of a long one.
func nameOf(host string, pid int) string {
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if notInName(r) {
			return '-'
		}
		return r
	}, host)
	behind := "-" + strconv.Itoa(pid)
	if room := maxName - len(behind); len(host) > room {
		host = host[len(host)-room:]
	}
	return cmp.Or(host, "process") + behind
}
