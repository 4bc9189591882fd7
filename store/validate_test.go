package store

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// refusal is an input of a Validate method and the error that is wanted.
type refusal[T any] struct {
	name  string
	edit  func(v *T)
	kind  error
	field string
	want  string
}

// refuse checks that the valid value passes and that each edit of it is refused
// with exactly the wanted text.
func refuse[T any](t *testing.T, valid func() T, validate func(T) error, cases []refusal[T]) {
	t.Helper()
	if err := validate(valid()); err != nil {
		t.Fatalf("the valid value is refused: %v", err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := valid()
			c.edit(&v)
			err := validate(v)
			wantInvalid(t, err, c.kind, c.field)
			if want := c.field + ": " + c.want + ": " + c.kind.Error(); err.Error() != want {
				t.Errorf("error %q\n want %q", err, want)
			}
		})
	}
}

func validMessage() Message { return Message{ID: idOf(0, 1), MaxAttempts: 20} }

func TestMessage_Validate(t *testing.T) {
	t.Parallel()
	const maxBody = 100
	many := map[string]string{}
	for i := range MaxHeaders + 1 {
		many[fmt.Sprintf("h%d", i)] = ""
	}
	header := func(name, value string) func(*Message) {
		return func(m *Message) { m.Headers = map[string]string{name: value} }
	}
	nameWant := ": want letters, digits and any of !#$%&'*+-.^_`|~"
	refuse(t, validMessage, func(m Message) error { return cmp.Or(m.Validate(), m.ValidateBody(maxBody)) }, []refusal[Message]{
		{"no id", func(m *Message) { m.ID = ID{} }, ErrInvalid, "id", "is missing"},
		{"long key", func(m *Message) { m.Key = strings.Repeat("k", 256) }, ErrInvalid, "key", "256 bytes, the limit is 255"},
		{"key with a line break", func(m *Message) { m.Key = "a\nb" }, ErrInvalid, "key", `"a\nb" has characters that are not printable UTF-8`},
		{"key turned around", func(m *Message) { m.Key = "\u202eb" }, ErrInvalid, "key", `"\u202eb" has characters that are not printable UTF-8`},
		{"key not UTF-8", func(m *Message) { m.Key = "\xff" }, ErrInvalid, "key", `"\xff" has characters that are not printable UTF-8`},
		{"many headers", func(m *Message) { m.Headers = many }, ErrInvalid, "headers", "65 headers, the limit is 64"},
		{"large headers", header("h", strings.Repeat("v", 8192)), ErrInvalid, "headers", "8193 bytes, the limit is 8192"},
		{"header name empty", header("", "v"), ErrInvalid, "headers", `name ""` + nameWant},
		{"header name with a space", header("a b", "v"), ErrInvalid, "headers", `name "a b"` + nameWant},
		{"header name with a colon", header("a:", "v"), ErrInvalid, "headers", `name "a:"` + nameWant},
		{"header value with CR LF", header("a", "b\r\nc: d"), ErrInvalid, "headers", `"a": the value has control characters or is not UTF-8`},
		{"header value not UTF-8", header("a", "\xc3"), ErrInvalid, "headers", `"a": the value has control characters or is not UTF-8`},
		{"large body", func(m *Message) { m.Body = make([]byte, 101) }, ErrTooLarge, "body", "101 bytes, the limit is 100"},
		{"the largest body and a byte", func(m *Message) { m.Body = make([]byte, MaxBody+1) }, ErrTooLarge, "body", "4194305 bytes, the limit is 4194304"},
		{"negative delay", func(m *Message) { m.Delay = -3000 }, ErrInvalid, "delay", "-3000 ms is negative"},
		{"long delay", func(m *Message) { m.Delay = MaxDelay + 1 }, ErrInvalid, "delay", "3660d1ms, the limit is 3660d (10 years)"},
		{"due before 1970 and a delay", func(m *Message) { m.Due, m.Delay = -1, 1 }, ErrInvalid, "due", "is given together with a delay, want one of them"},
		{"due and delay", func(m *Message) { m.Due, m.Delay = 1, 2 }, ErrInvalid, "due", "is given together with a delay, want one of them"},
		{"no attempts", func(m *Message) { m.MaxAttempts = 0 }, ErrInvalid, "max attempts", "0 is outside 1 to 1000"},
		{"many attempts", func(m *Message) { m.MaxAttempts = 1001 }, ErrInvalid, "max attempts", "1001 is outside 1 to 1000"},
		{"negative ttl", func(m *Message) { m.TTL = -1 }, ErrInvalid, "ttl", "-1 ms is outside 0 to 7320d"},
		{"long ttl", func(m *Message) { m.TTL = 632448000001 }, ErrInvalid, "ttl", "7320d1ms is outside 0 to 7320d"},
		{"ttl within the delay", func(m *Message) { m.TTL, m.Delay = 50, 50 }, ErrInvalid, "ttl", "50 ms ends before the delay of 50 ms"},
		{"replace without a key", func(m *Message) { m.Replace = true }, ErrInvalid, "replace", "needs a key"},
	})
}

func TestMessage_ValidateAccepts(t *testing.T) {
	t.Parallel()
	full := map[string]string{}
	for i := range MaxHeaders {
		full[fmt.Sprintf("h%d", i)] = "ü"
	}
	for name, m := range map[string]Message{
		"empty body": {Body: nil},
		"largest": {
			Body: make([]byte, 100), Key: strings.Repeat("k", MaxKey), Headers: full, Delay: MaxDelay, TTL: 2 * MaxDelay, MaxAttempts: MaxAttempts, Replace: true,
		},
		"due long ago":     {Due: 1},
		"largest header":   {Headers: map[string]string{"h": strings.Repeat("v", MaxHeaderSize-1)}},
		"every name token": {Headers: map[string]string{"!#$%&'*+-.^_`|~09azAZ": ""}},
		"key with spaces":  {Key: "a b: {c} *ü日"},
	} {
		m.ID, m.MaxAttempts = idOf(1, 1), max(m.MaxAttempts, 1)
		if err := cmp.Or(m.Validate(), m.ValidateBody(100)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPushRequest_Validate(t *testing.T) {
	t.Parallel()
	valid := func() PushRequest {
		return PushRequest{Producer: "p.1_a-B", Messages: []Message{validMessage(), validMessage()}}
	}
	refuse(t, valid, PushRequest.Validate, []refusal[PushRequest]{
		{"no producer", func(r *PushRequest) { r.Producer = "" }, ErrInvalid, "producer", "a name of 0 bytes is outside 1 to 64 bytes"},
		{"long producer", func(r *PushRequest) { r.Producer = strings.Repeat("p", 65) }, ErrInvalid, "producer", "a name of 65 bytes is outside 1 to 64 bytes"},
		{"producer with a colon", func(r *PushRequest) { r.Producer = "a:b" }, ErrInvalid, "producer", `"a:b": want letters, digits, '.', '_', '-'`},
		{"no messages", func(r *PushRequest) { r.Messages = nil }, ErrInvalid, "messages", "0 is outside 1 to 500"},
		{"501 messages", func(r *PushRequest) { r.Messages = make([]Message, 501) }, ErrInvalid, "messages", "501 is outside 1 to 500"},
		{"bad message", func(r *PushRequest) { r.Messages[1].Delay = -1 }, ErrInvalid, "delay", "-1 ms is negative"},
		{"body above every limit", func(r *PushRequest) { r.Messages[1].Body = make([]byte, MaxBody+1) }, ErrTooLarge, "body", "4194305 bytes, the limit is 4194304"},
		{"batch above 1 MiB", func(r *PushRequest) {
			r.Messages[0].Body = make([]byte, MaxBatchBytes)
			r.Messages[1].Key = "k"
		}, ErrTooLarge, "messages", "1048577 bytes, the limit is 1048576"},
	})
	alone := PushRequest{Producer: "p", Messages: []Message{validMessage()}}
	alone.Messages[0].Body = make([]byte, MaxBody)
	if err := alone.Validate(); err != nil {
		t.Errorf("a single large message: %v", err)
	}
}

func TestClaimRequest_Validate(t *testing.T) {
	t.Parallel()
	valid := func() ClaimRequest { return ClaimRequest{Consumer: "c", Max: MaxBatch, Lease: MinLease} }
	refuse(t, valid, ClaimRequest.Validate, []refusal[ClaimRequest]{
		{"no consumer", func(r *ClaimRequest) { r.Consumer = "" }, ErrInvalid, "consumer", "a name of 0 bytes is outside 1 to 64 bytes"},
		{"consumer with a bar", func(r *ClaimRequest) { r.Consumer = "a|b" }, ErrInvalid, "consumer", `"a|b": want letters, digits, '.', '_', '-'`},
		{"max 0", func(r *ClaimRequest) { r.Max = 0 }, ErrInvalid, "max", "0 is outside 1 to 500"},
		{"max 501", func(r *ClaimRequest) { r.Max = 501 }, ErrInvalid, "max", "501 is outside 1 to 500"},
		{"short lease", func(r *ClaimRequest) { r.Lease = 999 }, ErrInvalid, "lease", "999 ms is outside 1s to 12h"},
		{"long lease", func(r *ClaimRequest) { r.Lease = MaxLease + 1 }, ErrInvalid, "lease", "12h1ms is outside 1s to 12h"},
	})
}

func TestSettleRequest_Validate(t *testing.T) {
	t.Parallel()
	valid := func() SettleRequest {
		item := Settlement{Receipt: Receipt{ID: idOf(0, 1), Attempt: 1}, Delay: MinLease, Failure: strings.Repeat("x", MaxFailure)}
		return SettleRequest{Verdict: Nack, Items: []Settlement{item, item}}
	}
	none := ID{}.String()
	refuse(t, valid, SettleRequest.Validate, []refusal[SettleRequest]{
		{"unknown verdict", func(r *SettleRequest) { r.Verdict = "nak" }, ErrInvalid, "verdict", `"nak" is none of ack, nack, release, snooze, again, next, reject`},
		{"no items", func(r *SettleRequest) { r.Items = nil }, ErrInvalid, "items", "0 is outside 1 to 500"},
		{"501 items", func(r *SettleRequest) { r.Items = make([]Settlement, 501) }, ErrInvalid, "items", "501 is outside 1 to 500"},
		{"no receipt", func(r *SettleRequest) { r.Items[1].Receipt = Receipt{} }, ErrInvalid, "receipt", `"` + none + `:0" is not a receipt`},
		{"long failure", func(r *SettleRequest) { r.Items[1].Failure += "x" }, ErrInvalid, "failure", "1025 bytes, the limit is 1024"},
		{"negative delay", func(r *SettleRequest) { r.Items[1].Delay = -1 }, ErrInvalid, "delay", "-1 ms is negative"},
		{"extend is none", func(r *SettleRequest) { r.Verdict = "extend" }, ErrInvalid, "verdict", `"extend" is none of ack, nack, release, snooze, again, next, reject`},
	})
}

func TestManageRequests_Validate(t *testing.T) {
	t.Parallel()
	id := idOf(0, 1)
	refuse(t, func() Move { return Move{Ref: Ref{ID: id}} }, Move.Validate, []refusal[Move]{
		{"nobody", func(m *Move) { m.Ref = Ref{} }, ErrInvalid, "key", "is empty"},
		{"id and key", func(m *Move) { m.Ref.Key = "k" }, ErrInvalid, "ref", "has an id and a key, want one of them"},
		{"due and delay", func(m *Move) { m.Due, m.Delay = 1, 1 }, ErrInvalid, "due", "is given together with a delay, want one of them"},
	})
	refuse(t, func() ListRequest { return ListRequest{State: Dead, Limit: MaxListLimit} }, ListRequest.Validate, []refusal[ListRequest]{
		{"unknown state", func(r *ListRequest) { r.State = "x" }, ErrInvalid, "state", `"x" is none of scheduled, ready, waiting, leased, dead, done`},
		{"list limit 0", func(r *ListRequest) { r.Limit = 0 }, ErrInvalid, "limit", "0 is outside 1 to 1000"},
		{"body limit", func(r *ListRequest) { r.BodyLimit = -1 }, ErrInvalid, "body limit", "-1 is negative"},
	})
	refuse(t, func() PurgeRequest { return PurgeRequest{Caller: "m", State: Dead, All: true, Limit: 1} }, PurgeRequest.Validate, []refusal[PurgeRequest]{
		{"leased", func(r *PurgeRequest) { r.State = Leased }, ErrInvalid, "state", `"leased" is none of scheduled, ready, dead, done`},
		{"501 ids", func(r *PurgeRequest) { r.All, r.IDs = false, make([]ID, 501) }, ErrInvalid, "ids", "501 is outside 1 to 500"},
		{"purge limit 501", func(r *PurgeRequest) { r.Limit = 501 }, ErrInvalid, "limit", "501 is outside 1 to 500"},
	})
	refuse(t, func() CheckRequest { return CheckRequest{Limit: 1} }, CheckRequest.Validate, []refusal[CheckRequest]{
		{"check limit", func(r *CheckRequest) { r.Limit = 1001 }, ErrInvalid, "limit", "1001 is outside 1 to 1000"},
	})
	refuse(t, func() Partition { return Partition{"q", MaxPartitions - 1} }, Partition.Validate, []refusal[Partition]{
		{"no queue", func(p *Partition) { p.Queue = "" }, ErrInvalid, "queue", "the name is empty"},
		{"index -1", func(p *Partition) { p.Index = -1 }, ErrInvalid, "partition", "-1 is outside 0 to 1023"},
		{"index 1024", func(p *Partition) { p.Index = 1024 }, ErrInvalid, "partition", "1024 is outside 0 to 1023"},
	})
}

func TestChange_Validate(t *testing.T) {
	t.Parallel()
	one, zero, many, large, negative, no := 1, 0, MaxPartitions+1, MaxBody+1, int64(-1), false
	refuse(t, func() Change { return Change{Partitions: &one, MaxBody: &one, Paused: &no} }, Change.Validate, []refusal[Change]{
		{"0 partitions", func(c *Change) { c.Partitions = &zero }, ErrInvalid, "partitions", "0 is outside 1 to 1024"},
		{"1025 partitions", func(c *Change) { c.Partitions = &many }, ErrInvalid, "partitions", "1025 is outside 1 to 1024"},
		{"max body 0", func(c *Change) { c.MaxBody = &zero }, ErrInvalid, "max body", "0 bytes is outside 1 to 4194304"},
		{"large max body", func(c *Change) { c.MaxBody = &large }, ErrInvalid, "max body", "4194305 bytes is outside 1 to 4194304"},
		{"max messages", func(c *Change) { c.MaxMessages = &negative }, ErrInvalid, "max messages", "-1 is negative"},
		{"dead retention", func(c *Change) { c.DeadRetention = &negative }, ErrInvalid, "dead retention", "-1 ms is outside 0 to 3660d (10 years)"},
		{"history", func(c *Change) { c.History = &negative }, ErrInvalid, "history", "-1 ms is outside 0 to 3660d (10 years)"},
		{"max history", func(c *Change) { c.MaxHistory = &negative }, ErrInvalid, "max history", "-1 is outside 0 to 1000000"},
		{"max dead", func(c *Change) { c.MaxDead = &negative }, ErrInvalid, "max dead", "-1 is negative"},
	})
}

func TestPlainRequests_Validate(t *testing.T) {
	t.Parallel()
	wantInvalid(t, CancelRequest{}.Validate(), ErrInvalid, "refs", "0 is outside 1 to 500")
	wantInvalid(t, CancelRequest{Refs: make([]Ref, 501)}.Validate(), ErrInvalid, "refs", "501 is outside 1 to 500")
	wantInvalid(t, CancelRequest{Refs: []Ref{{Key: "k"}, {}}}.Validate(), ErrInvalid, "key", "is empty")
	wantInvalid(t, RescheduleRequest{}.Validate(), ErrInvalid, "moves", "0 is outside 1 to 500")
	wantInvalid(t, RescheduleRequest{Moves: []Move{{Ref: Ref{Key: "k"}, Delay: -1}}}.Validate(), ErrInvalid, "delay", "-1 ms is negative")
	wantInvalid(t, RedriveRequest{Items: make([]Redrive, 501)}.Validate(), ErrInvalid, "items", "501 is outside 1 to 500")
	wantInvalid(t, RedriveRequest{Items: []Redrive{{ID: ID{1}, Delay: -1}}}.Validate(), ErrInvalid, "delay", "-1 ms is negative")
	receipt := Receipt{ID: idOf(0, 1), Attempt: 1}
	wantInvalid(t, ExtendRequest{Receipts: []Receipt{receipt}}.Validate(), ErrInvalid, "lease", "0 ms is outside 1s to 12h")
	wantInvalid(t, ExtendRequest{Receipts: make([]Receipt, 501), Lease: MinLease}.Validate(), ErrInvalid, "receipts", "501 is outside 1 to 500")
	wantInvalid(t, ExtendRequest{Receipts: []Receipt{receipt, {}}, Lease: MinLease}.Validate(), ErrInvalid, "receipt", `:0" is not a receipt`)
	wantInvalid(t, LeaveRequest{}.Validate(), ErrInvalid, "consumers", "0 is outside 1 to 500")
	wantInvalid(t, BeatRequest{Client: "a b", TTL: 1}.Validate(), ErrInvalid, "client", `"a b"`)
	wantInvalid(t, BeatRequest{Client: "c", TTL: -1}.Validate(), ErrInvalid, "ttl", "-1 ms is outside 0 to 12h")
	for _, err := range []error{
		CancelRequest{Caller: "m", Refs: []Ref{{ID: idOf(0, 1)}, {Key: "k"}}}.Validate(), RescheduleRequest{Caller: "m", Moves: []Move{{Ref: Ref{Key: "k"}}}}.Validate(),
		RedriveRequest{Caller: "m", Items: []Redrive{{ID: ID{1}, Delay: MaxDelay}}}.Validate(), BeatRequest{Client: "c"}.Validate(),
		ExtendRequest{Receipts: []Receipt{receipt}, Lease: MaxLease, Start: true}.Validate(), LeaveRequest{Consumers: []string{"c"}}.Validate(),
	} {
		if err != nil {
			t.Errorf("a valid request is refused: %v", err)
		}
	}
}

func TestValidateQueue_Names(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "Orders.eu-1_x", strings.Repeat("q", MaxQueueName), "a..b", "a-"} {
		if err := ValidateQueue(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"":                       "the name is empty",
		strings.Repeat("q", 129): "129 bytes, the limit is 128",
		"_a":                     `"_a": want letters, digits, '.', '_', '-', a letter or digit first`,
		"a{b}":                   `"a{b}": want`,
		"a\n":                    `"a\n": want`,
		"é":                      `"\u00e9": want`,
	} {
		wantInvalid(t, ValidateQueue(name), ErrInvalid, "queue", want)
	}
}

func TestCounters_Gone(t *testing.T) {
	t.Parallel()
	c := Counters{Sent: 1 << 20, Delivered: 1 << 19, Acked: 1, Cancelled: 2, Replaced: 4, Expired: 8, Purged: 16, DeadExpired: 32, DeadLettered: 1 << 18, Redriven: 1 << 17}
	if got := c.Gone(); got != 63 {
		t.Errorf("gone %d, want 63", got)
	}
}

// Each field has one counter, whose name is that of the field in snake case.
func TestCounters_AllHasEachField(t *testing.T) {
	t.Parallel()
	var c Counters
	all, fields := c.All(), reflect.ValueOf(&c).Elem()
	if len(all) != fields.NumField() {
		t.Errorf("%d counters, want %d", len(all), fields.NumField())
	}
	for i, one := range all {
		*one.Value += int64(i + 1)
		field := strings.ReplaceAll(one.Name, "_", "")
		value := fields.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, field) })
		if !value.IsValid() || value.Int() != int64(i+1) {
			t.Errorf("%s does not lead to the field of its name", one.Name)
		}
	}
}

// What a program needs to correct a request is in fields of its own, and not only in the text.
func TestError_HasTheValueAndTheLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u00fc", 40) // 80 bytes
	for _, c := range []struct {
		err                 error
		field, value, limit string
	}{
		{validateCount("max", 501, 500), "max", "501", "1 to 500"},
		{validateDelay(-5), "delay", "-5 ms", "0 or more"},
		{validateDelay(MaxDelay + 1), "delay", "3660d1ms", "0 to 3660d (10 years)"},
		{ValidateKey(strings.Repeat("k", 256)), "key", "256 bytes", "255 bytes"},
		{ValidateKey(long[:79]), "key", strings.Repeat("\u00fc", 32), ""},
		{ValidateQueue("a b"), "queue", "a b", ""},
		{(&Message{Body: []byte("SECRET")}).ValidateBody(5), "body", "6 bytes", "5 bytes"},
		{validateHeaders(map[string]string{"a": "SECRET\n"}), "headers", "a", ""},
		{ListRequest{State: "late"}.Validate(), "state", "late", "scheduled, ready, waiting, leased, dead, done"},
		{Invalid("ref", "has an id and a key"), "ref", "", ""},
	} {
		e := new(Error)
		if !errors.As(c.err, &e) || e.Field != c.field || e.Value != c.value || e.Limit != c.limit {
			t.Errorf("%v: field %q, value %q, limit %q, want %q, %q, %q", c.err, e.Field, e.Value, e.Limit, c.field, c.value, c.limit)
		}
		if strings.Contains(c.err.Error()+e.Value, "SECRET") || len(e.Value) > 64 || !utf8.ValidString(e.Value) {
			t.Errorf("%v with the value %q shows a secret, or is longer than 64 bytes, or cuts a character", c.err, e.Value)
		}
	}
}
