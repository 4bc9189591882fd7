package redisstore

import (
	"fmt"
	"strings"
	"time"

	"github.com/dueq-dev/dueq/store"
)

// claimReply is a claim's reply in Go's terms.
type claimReply struct {
	store.ClaimResult
	unreadable []unreadable
}

// unreadable is a message that the partition has leased and whose record cannot be read.
type unreadable struct {
	text    string        // of the receipt
	receipt store.Receipt // zero if that cannot be read either
	cause   error
}

// readClaim reads {status, wait, runs, histories, records...}, as claim.lua describes it. A reply
// of another shape is ErrCorrupt.
func readClaim(fields []string) (claimReply, error) {
	if len(fields) != 2 && len(fields) < 5 {
		return claimReply{}, unexpected(fields)
	}
	status, err := numberIn("claim", "status", fields[0])
	if err != nil {
		return claimReply{}, err
	}
	wait, err := numberIn("claim", "wait", fields[1])
	if err != nil {
		return claimReply{}, err
	}
	reply := claimReply{ClaimResult: store.ClaimResult{Wait: time.Duration(wait) * time.Microsecond}}
	switch status {
	case 0:
	case 1:
		reply.Paused = true
	case 2:
		reply.Stale = true
	default:
		return claimReply{}, badField("claim", "status", fields[0])
	}
	if len(fields) == 2 {
		return reply, nil
	}
	histories, err := readHistories(fields[3])
	if err != nil {
		return claimReply{}, err
	}
	return reply, reply.deliver(runs{text: fields[2]}, histories, fields[4:])
}

// deliver adds the delivery of each record. Their receipts are in runs.
func (r *claimReply) deliver(runs runs, histories []claimHistory, records []string) error {
	r.Deliveries = make([]store.Delivery, len(records))
	n, bodies := 0, newPieces(records)
	for i, record := range records {
		receipt, due, err := runs.next()
		if err != nil {
			return err
		}
		d := &r.Deliveries[n]
		*d = store.Delivery{Due: due}
		if len(histories) > 0 && histories[0].index == int64(i)+1 {
			histories[0].addTo(d)
			histories = histories[1:]
		}
		if err := readDelivery(d, receipt, record, &bodies); err != nil {
			r.unreadable = append(r.unreadable, unreadable{receipt, d.Receipt, err})
			*d = store.Delivery{}
			continue
		}
		n++
	}
	if runs.left != 0 || runs.text != "" || len(histories) > 0 {
		return fmt.Errorf("reply of claim: more receipts or histories than the %d records: %w", len(records), store.ErrCorrupt)
	}
	r.Deliveries = r.Deliveries[:n]
	return nil
}

func readDelivery(d *store.Delivery, receipt, stored string, bodies *pieces) error {
	var err error
	if d.Receipt, err = parseReceipt(receipt); err != nil {
		return err
	}
	r, err := decodeRecord(stored)
	if err != nil {
		return err
	}
	d.Key, d.Headers, d.Body = r.key, r.headers, bodies.copy(r.body)
	d.MaxAttempts, d.Expiry, d.Repeat = r.maxAttempts, r.expiry, r.repeat
	return nil
}

// runs reads "due count receipt..." of each due time that receipts share.
type runs struct {
	text string
	due  int64 // of the receipts that follow
	left int64 // how many those are
}

// next returns the receipt of the next delivery, and when that was due.
func (r *runs) next() (receipt string, due int64, err error) {
	if r.left == 0 {
		if r.due, err = numberIn("claim", "due time", r.word()); err != nil {
			return "", 0, err
		}
		count := r.word()
		if r.left, err = numberIn("claim", "count", count); err == nil && r.left < 1 {
			err = badField("claim", "count", count)
		}
		if err != nil {
			return "", 0, err
		}
	}
	r.left--
	if receipt = r.word(); receipt == "" {
		err = badField("claim", "receipt", receipt)
	}
	return receipt, r.due, err
}

func (r *runs) word() (word string) {
	word, r.text, _ = strings.Cut(r.text, " ")
	return word
}

// claimHistory is what a claim reports of the earlier deliveries of the record with that index,
// from 1, and of its schedule.
type claimHistory struct{ index, failures, snoozes, suspicion, earlier, now int64 }

// readHistories reads the six numbers of each history, which are in the order of their indexes.
func readHistories(text string) ([]claimHistory, error) {
	words := strings.Fields(text)
	if len(words)%6 != 0 {
		return nil, badField("claim", "histories", text)
	}
	all := make([]claimHistory, len(words)/6)
	last := int64(0)
	for i := range all {
		h := &all[i]
		for j, field := range []*int64{&h.index, &h.failures, &h.snoozes, &h.suspicion, &h.earlier, &h.now} {
			var err error
			if *field, err = numberIn("claim", "histories", words[6*i+j]); err != nil {
				return nil, err
			}
		}
		if h.index <= last || h.suspicion < int64(store.Unsuspected) || h.suspicion > int64(store.Crashed) {
			return nil, badField("claim", "histories", text)
		}
		last = h.index
	}
	return all, nil
}

func (h claimHistory) addTo(d *store.Delivery) {
	d.Failures, d.Snoozes, d.Earlier = int(h.failures), int(h.snoozes), int(h.earlier)
	d.Suspicion, d.Now = store.Suspicion(h.suspicion), h.now
}
