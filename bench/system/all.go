// Package system has the queues under test, one in each file: dueq, other queues, and the classic
// designs, written from their descriptions.
package system

import "github.com/dueq-dev/dueq/bench/peer"

// All returns every queue in the order of the report. script is the directory of the
// BullMQ driver.
func All(script string) []peer.Entry {
	return []peer.Entry{
		Dueq(),
		Asynq(), AsynqTuned(), BullMQ(script),
		PollBusy(), PollSleep(), PollLua(),
		ListBackup(), KeyPerMessage(), Topics(), Expiry(), Wheel(), Rabbit(),
	}
}
