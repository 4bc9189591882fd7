package redisstore

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// scriptRun is what one script did.
type scriptRun struct {
	calls   int // commands that it called
	items   int // of the partition: fields and members that the commands were about or could return
	records int // messages that it read
}

// scriptsRun returns what each script of fn did, by the SLOWLOG, which has the commands of a script
// before the script itself.
func scriptsRun(r *rig, fn func() error) []scriptRun {
	r.t.Helper()
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-max-len", "100000").Err())
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-log-slower-than", "0").Err())
	r.must(r.rdb.Do(r.ctx(), "SLOWLOG", "RESET").Err())
	r.must(fn())
	entries, err := r.rdb.SlowLogGet(r.ctx(), -1).Result()
	r.must(err)
	r.must(r.rdb.ConfigSet(r.ctx(), "slowlog-log-slower-than", "-1").Err())
	slices.Reverse(entries)
	partition := strings.TrimSuffix(r.key("msg"), "msg")
	var all []scriptRun
	var run scriptRun
	for _, e := range entries {
		switch name := strings.ToLower(e.Args[0]); name {
		case "evalsha", "eval":
			all, run = append(all, run), scriptRun{}
		case "slowlog", "config", "hello", "client", "command", "script":
		default:
			run.calls++
			if len(e.Args) > 1 && strings.HasPrefix(e.Args[1], partition) {
				run.items += itemsOf(name, e.Args)
			}
			run.records += r.recordsOf(name, e)
		}
	}
	if len(all) == 0 {
		r.t.Fatal("no script has run")
	}
	return all
}

// lengthOf returns how many arguments a command had. The SLOWLOG keeps 31 of them, and how many more
// there were.
func lengthOf(args []string) int {
	n := len(args)
	if rest, ok := strings.CutSuffix(args[n-1], " more arguments)"); ok {
		more, err := strconv.Atoi(strings.TrimPrefix(rest, "... ("))
		if err == nil {
			return n - 1 + more
		}
	}
	return n
}

// recordsOf returns how many records of messages a command read.
func (r *rig) recordsOf(name string, e redis.SlowLog) int {
	switch {
	case (name == "hmget" || name == "hget" || name == "hscan") && e.Args[1] == r.key("msg"):
		return max(1, lengthOf(e.Args)-2)
	case (name == "hmget" || name == "hget") && e.Args[1] == r.key("past") && !strings.Contains(e.Args[2], ":"):
		return lengthOf(e.Args) - 2 // others are fields of the index by key
	}
	return 0
}

const unbounded = math.MaxInt32 // items of a command that names no limit

// itemsOf returns how many items a command is about: its arguments, or what it may return or remove.
func itemsOf(name string, args []string) int {
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			return unbounded
		}
		return n
	}
	after := func(word string, skip int) int {
		i := slices.IndexFunc(args, func(arg string) bool { return strings.EqualFold(arg, word) })
		if i < 0 {
			return unbounded
		}
		return number(i + skip)
	}
	byRank := func() int {
		from, to := number(2), number(3)
		if to < from || from < 0 && to >= 0 || from >= 0 && to < 0 {
			return unbounded
		}
		return to - from + 1
	}
	switch name {
	case "hgetall", "hkeys", "hvals", "smembers", "zremrangebyscore", "zremrangebylex", "keys":
		return unbounded
	case "zrangebyscore", "zrevrangebyscore", "zrangebylex":
		return after("LIMIT", 2)
	case "zrange":
		if slices.Contains(args, "BYSCORE") || slices.Contains(args, "BYLEX") {
			return after("LIMIT", 2)
		}
		return byRank()
	case "zrevrange", "zremrangebyrank", "lrange":
		return byRank()
	case "hscan", "zscan", "sscan":
		return after("COUNT", 1)
	}
	return lengthOf(args)
}

func TestItemsOf_CountsWhatACommandMayTouch(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{
		"hmget k a b c":                      5,
		"hmget k a ... (70 more arguments)":  73,
		"zrange k 0 0 WITHSCORES":            1,
		"zrange k -2 -2 WITHSCORES":          1,
		"zrange k 0 99":                      100,
		"zrange k 0 -1":                      unbounded,
		"zrange k 1 5 BYSCORE":               unbounded,
		"zrange k -inf 5 BYSCORE LIMIT 0 7":  7,
		"zrangebyscore k -inf 5":             unbounded,
		"zrangebyscore k -inf 5 LIMIT 0 500": 500,
		"zremrangebyrank k 0 499":            500,
		"hscan k 0 COUNT 1000":               1000,
		"hscan k 0":                          unbounded,
		"hgetall k":                          unbounded,
	} {
		args := strings.Fields(command)
		if before, rest, cut := strings.Cut(command, " ... "); cut {
			args = append(strings.Fields(before), "... "+rest)
		}
		if got := itemsOf(args[0], args); got != want {
			t.Errorf("%s: %d items, want %d", command, got, want)
		}
	}
}
