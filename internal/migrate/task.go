package migrate

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// task is what is copied of asynq's TaskMessage, and what is reported.
type task struct {
	kind      string
	payload   []byte
	headers   map[string]string
	retry     int64 // failures allowed
	retried   int64 // failures so far
	timeout   int64 // seconds
	deadline  int64 // Unix time in seconds
	retention int64 // seconds
	unique    bool
	group     bool
}

// The numbers of the fields of TaskMessage in asynq v0.26 that are read.
const (
	taskKind      = 1
	taskPayload   = 2
	taskRetry     = 5
	taskRetried   = 6
	taskTimeout   = 8
	taskDeadline  = 9
	taskUnique    = 10
	taskRetention = 12
	taskGroup     = 14
	taskHeaders   = 15
)

// decodeTask reads a TaskMessage. Fields that it does not know are left out, as Protocol Buffers
// demand.
func decodeTask(text []byte) (task, error) {
	var t task
	err := eachField(text, func(number uint64, value int64, bytes []byte) error {
		switch number {
		case taskKind:
			t.kind = string(bytes)
		case taskPayload:
			t.payload = bytes
		case taskRetry:
			t.retry = value
		case taskRetried:
			t.retried = value
		case taskTimeout:
			t.timeout = value
		case taskDeadline:
			t.deadline = value
		case taskUnique:
			t.unique = len(bytes) > 0
		case taskRetention:
			t.retention = value
		case taskGroup:
			t.group = len(bytes) > 0
		case taskHeaders:
			return t.addHeader(bytes)
		}
		return nil
	})
	if err == nil && (t.kind == "" || !utf8.ValidString(t.kind) || t.retry < 0 || t.retried < 0 || t.retry > 1<<31 || t.retried > 1<<31) {
		err = errEncoding // asynq has no task without a type
	}
	return t, err
}

// addHeader reads an entry of a map of strings.
func (t *task) addHeader(entry []byte) error {
	var name, value string
	err := eachField(entry, func(number uint64, _ int64, bytes []byte) error {
		switch number {
		case 1:
			name = string(bytes)
		case 2:
			value = string(bytes)
		}
		return nil
	})
	if t.headers == nil {
		t.headers = map[string]string{}
	}
	t.headers[name] = value
	return err
}

var errEncoding = errors.New("the encoding is unknown")

// The types of fields on the wire: https://protobuf.dev/programming-guides/encoding/
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// eachField passes the fields of a message to use: its value if it is a varint, its bytes if it has
// a length.
func eachField(text []byte, use func(number uint64, value int64, bytes []byte) error) error {
	for len(text) > 0 {
		tag, n := binary.Uvarint(text)
		if n <= 0 || tag>>3 == 0 {
			return errEncoding
		}
		text = text[n:]
		var value uint64
		var bytes []byte
		skip := 0
		switch tag & 7 {
		case wireVarint:
			value, skip = binary.Uvarint(text)
		case wire64:
			skip = 8
		case wire32:
			skip = 4
		case wireBytes:
			size, n := binary.Uvarint(text)
			if n <= 0 || size > uint64(len(text)-n) {
				return errEncoding
			}
			skip = n + int(size)
			bytes = text[n:skip]
		}
		if skip <= 0 || skip > len(text) {
			return errEncoding
		}
		if err := use(tag>>3, int64(value), bytes); err != nil {
			return err
		}
		text = text[skip:]
	}
	return nil
}
