package main

// states draws the states of a message, and what moves it from one to another.
func states() string {
	c := newCanvas(900, 430, "States of a message")
	const top, height, width = 150, 50, 120
	middle := float64(top + height/2)
	c.box(point{190, top}, width, height, "box", "scheduled")
	c.box(point{430, top}, width, height, "box", "ready")
	c.box(point{670, top}, width, height, "held", "leased")
	c.box(point{670, 330}, width, height, "bad", "dead")
	c.text(point{40, middle + 4.5}, "strong", "start", "(none)")
	c.text(point{850, middle + 4.5}, "strong", "middle", "(gone)")

	c.arrow("arrow", point{88, middle}, point{190, middle})
	c.lines(point{98, middle - 22}, "note", "start", "send, due", "later")
	c.arrow("arrow", point{62, middle + 12}, point{62, 245}, point{470, 245}, point{470, top + height})
	c.text(point{98, 239}, "note", "start", "send, due at once")
	c.arrow("arrow", point{310, middle}, point{430, middle})
	c.text(point{370, middle - 8}, "note", "middle", "due time comes")
	c.arrow("arrow", point{550, middle}, point{670, middle})
	c.text(point{610, middle - 8}, "note", "middle", "claim")
	c.arrow("arrow", point{790, middle}, point{826, middle})
	c.text(point{808, middle - 8}, "note", "middle", "ack")

	c.arrow("arrow", point{700, top}, point{700, 70}, point{250, 70}, point{250, top})
	c.text(point{475, 62}, "note", "middle", "nack (after a backoff), snooze, again")
	c.arrow("arrow", point{680, top}, point{680, 108}, point{490, 108}, point{490, top})
	c.text(point{585, 100}, "note", "middle", "release; lease ran out")
	c.arrow("arrow", point{760, top}, point{760, 108}, point{850, 108}, point{850, middle - 12})
	c.text(point{800, 100}, "note", "middle", "cancelled, and settled")

	c.arrow("arrow", point{730, top + height}, point{730, 330})
	c.lines(point{740, 248}, "note", "start", "reject; the", "last attempt", "failed")
	c.arrow("arrow", point{670, 355}, point{510, 355}, point{510, top + height})
	c.text(point{590, 347}, "note", "middle", "redrive")
	c.arrow("arrow", point{790, 355}, point{850, 355}, point{850, middle + 12})
	c.lines(point{800, 373}, "note", "start", "delete, purge,", "retention")
	c.arrow("dashed", point{250, top + height}, point{250, 305}, point{330, 305})
	c.arrow("dashed", point{440, top + height}, point{440, 305}, point{400, 305})
	c.text(point{365, 310}, "strong", "middle", "(gone)")
	c.lines(point{365, 330}, "note", "middle", "cancel, delete, purge,", "replaced, TTL passed")
	return c.String()
}
