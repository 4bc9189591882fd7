package redisstore

import (
	"net"
	"testing"

	"github.com/dueq-dev/dueq/internal/redistest"
	"github.com/dueq-dev/dueq/store"
)

// A replica that has not seen the last claim is made master: the exception to receipts
// being unique that docs/GUARANTEES.md states, and its end.
func TestReceipts_AcrossAFailoverThatLacksAClaim(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	host, port, _ := net.SplitHostPort(master.Addr())
	replica := redistest.Start(t, "--replicaof", host+" "+port)
	before := newRigWith(t, master.Client(t), Config{Prefix: "x", Replicas: 1, Logger: quiet()})
	awaitReplicated(before, before.request(before.messages(1, 10)))

	cut(before, replica)
	a := before.claim(1)[0] // the replica does not get this claim
	master.Kill()
	before.must(replica.Thaw())
	rdb := replica.Client(t)
	before.must(rdb.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	after := newRigWith(t, rdb, Config{Prefix: "x", Logger: quiet()})
	after.number = 100
	b := after.claim(1)[0]
	after.want("the receipt of both", b.Receipt, a.Receipt)

	// The verdict of one consumer ends the delivery of the other.
	after.want("nack by A", after.settle(store.Nack, a), []store.Code{store.CodeOK})
	after.want("ack by B", after.settle(store.Ack, b), []store.Code{store.CodeLeaseLost})
	// The next delivery has a unique receipt again, and the message was not lost.
	c := after.claim(1)[0]
	after.want("the next delivery", c.Receipt != a.Receipt && c.Receipt.ID == a.Receipt.ID, true)
	for _, d := range []store.Delivery{a, b} {
		after.want("ack with the old receipt", after.settle(store.Ack, d), []store.Code{store.CodeLeaseLost})
	}
	after.want("ack of the next delivery", after.settle(store.Ack, c), []store.Code{store.CodeOK})
	after.wantClean()
}

// cut freezes a replica and ends its connection, so that it gets nothing of what follows.
func cut(r *rig, replica *redistest.Server) {
	r.t.Helper()
	r.must(replica.Freeze())
	r.must(r.rdb.Do(r.ctx(), "CLIENT", "KILL", "TYPE", "replica").Err())
}
