package main

// timeline is a picture of actors, each with a line, and of messages between them, from
// the top down.
type timeline struct {
	*canvas
	actors []float64 // where their lines are
}

func newTimeline(height int, title string, actors ...string) *timeline {
	t := &timeline{canvas: newCanvas(900, height, title)}
	for i, name := range actors {
		x := 150 + 600/float64(len(actors)-1)*float64(i)
		t.actors = append(t.actors, x)
		t.box(point{x - 70, 42}, 140, 30, "box", name)
		t.path("dashed", point{x, 72}, point{x, float64(height) - 14})
	}
	return t
}

// call draws an arrow from one actor to another.
func (t *timeline) call(y float64, from, to int, text string) {
	a, b := point{t.actors[from], y}, point{t.actors[to], y}
	if from < to {
		a.x, b.x = a.x+7, b.x-7
	} else {
		a.x, b.x = a.x-7, b.x+7
	}
	t.arrow("arrow", a, b)
	t.text(point{(a.x + b.x) / 2, y - 6}, "note", "middle", text)
}

// span draws what an actor does for some time, with a note to its left or right.
func (t *timeline) span(actor int, from, to float64, left bool, notes ...string) {
	x := t.actors[actor]
	t.bar(point{x - 6, from}, 12, to-from, "held")
	if left {
		t.lines(point{x - 14, (from+to)/2 + 4 - 8*float64(len(notes)-1)}, "note", "end", notes...)
	} else {
		t.lines(point{x + 14, (from+to)/2 + 4 - 8*float64(len(notes)-1)}, "note", "start", notes...)
	}
}

// lease draws what becomes of a lease when its holder crashes.
func lease() string {
	t := newTimeline(430, "A lease, and what happens when its holder crashes", "consumer A", "store", "consumer B")
	t.call(104, 0, 1, "claim")
	t.call(128, 1, 0, "the message, token 1, a lease of 30 s")
	t.span(0, 132, 232, true, "the handler runs")
	t.call(176, 0, 1, "extend, after a third of the lease")
	t.span(1, 128, 318, false, "leased to A: no one else gets it")
	t.lines(point{t.actors[0] - 14, 250}, "strong", "end", "A crashes")
	t.text(point{t.actors[0], 240}, "strong", "middle", "×")
	t.text(point{t.actors[1] - 14, 322}, "note", "end", "30 s after the last extension, it ends")
	t.call(342, 2, 1, "claim, within 1 s")
	t.call(366, 1, 2, "the message, token 2")
	t.span(2, 370, 412, false, "the handler", "runs")
	t.call(404, 2, 1, "ack: gone")
	t.lines(point{t.actors[1] - 14, 376}, "note", "end", "If A was only paused and continues,", "its ack gets ErrLeaseLost")
	return t.String()
}

// cancel draws how a message is cancelled while its handler runs.
func cancel() string {
	t := newTimeline(330, "Cancel while the handler runs", "client", "store", "consumer")
	t.call(104, 2, 1, "claim")
	t.call(128, 1, 2, "the message")
	t.span(2, 132, 262, false, "the handler", "runs")
	t.call(164, 0, 1, "Cancel")
	t.call(188, 1, 0, "ErrRunning: it is never delivered again")
	t.call(212, 1, 2, "cancelled (an event, or the next extension)")
	t.lines(point{t.actors[2] + 14, 232}, "note", "start", "its context ends", "with ErrCancelled")
	t.call(262, 2, 1, "whatever the handler returns")
	t.lines(point{t.actors[1] - 14, 282}, "note", "end", "ack: done. Anything else, or a lease", "that runs out: cancelled. Gone, either way")
	return t.String()
}
