package redisstore

import (
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

// readClaim reads {status, wait, places, failed, records...}, as claim.lua describes it. ok is
// false if the reply is of another shape.
func readClaim(fields []string) (reply claimReply, ok bool) {
	if len(fields) < 2 || len(fields) == 3 {
		return claimReply{}, false
	}
	reply.Wait = time.Duration(number(fields[1])) * time.Microsecond
	reply.Paused, reply.Stale = fields[0] == "1", fields[0] == "2"
	if len(fields) == 2 {
		return reply, true
	}
	reply.hand(placesOf{text: fields[2]}, fields[3], fields[4:])
	return reply, true
}

// hand adds the deliveries of records that are at places, where failed says what became of
// earlier ones.
func (r *claimReply) hand(places placesOf, failed string, records []string) {
	r.Deliveries = make([]store.Delivery, len(records))
	n, bodies := 0, newPieces(records)
	for i, record := range records {
		receipt, due := places.next()
		d := &r.Deliveries[n]
		if err := readDelivery(d, receipt, record, &bodies); err != nil {
			r.unreadable = append(r.unreadable, unreadable{receipt, d.Receipt, err})
			*d = store.Delivery{}
			continue
		}
		n++
		d.Due = due
		if failed != "" {
			failed = addHistory(d, i, failed)
		}
	}
	r.Deliveries = r.Deliveries[:n]
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

// placesOf reads "due receipt receipt... due receipt...".
type placesOf struct {
	text string
	due  int64 // of the receipts that follow
}

// next returns the receipt of the next delivery, and when that was due.
func (p *placesOf) next() (receipt string, due int64) {
	receipt, p.text, _ = strings.Cut(p.text, " ")
	if len(receipt) < idLen {
		p.due = number(receipt)
		receipt, p.text, _ = strings.Cut(p.text, " ")
	}
	return receipt, p.due
}

// addHistory adds to the delivery of record i what became of earlier ones: it takes
// "index:failures" or "index:failures.snoozes", the letter of a suspicion, "+earlier" and "@now",
// the index from 1, off the front of failed as the records come by.
func addHistory(d *store.Delivery, i int, failed string) (rest string) {
	for failed != "" {
		first, rest, _ := strings.Cut(failed, " ")
		index, count, _ := strings.Cut(first, ":")
		switch at := number(index); {
		case at == int64(i)+1:
			count, now, _ := strings.Cut(count, "@")
			d.Now = number(now)
			count, earlier, _ := strings.Cut(count, "+")
			d.Earlier = int(number(earlier))
			count, d.Suspicion = suspicion(count)
			d.Failures, d.Snoozes = counted(count)
			return rest
		case at > int64(i)+1:
			return failed
		}
		failed = rest // of a record that could not be read
	}
	return ""
}

// counted reads two counts, the second behind a point, or one.
func counted(text string) (n, second int) {
	text, more, _ := strings.Cut(text, ".")
	return int(number(text)), int(number(more))
}

// suspicion takes the letter of a suspicion, if there is one, off the end of text.
func suspicion(text string) (rest string, s store.Suspicion) {
	if rest, ok := strings.CutSuffix(text, "u"); ok {
		return rest, store.Suspect
	}
	if rest, ok := strings.CutSuffix(text, "c"); ok {
		return rest, store.Crashed
	}
	return text, store.Unsuspected
}
