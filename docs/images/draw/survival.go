package main

// survival draws which store keeps messages through which crash.
func survival() string {
	rows := []struct {
		store string
		kept  [3]string // after a process ended, after a power cut, after a failover
	}{
		{"mem:", [3]string{"lost", "lost", "-"}},
		{"file:, sync=always", [3]string{"kept", "kept", "-"}},
		{"file:, sync=100ms", [3]string{"kept", "up to 0.2 s lost", "-"}},
		{"file:, sync=never", [3]string{"kept", "up to about 30 s lost", "-"}},
		{"Redis, no AOF", [3]string{"lost since the snapshot", "lost since the snapshot", "lost since the snapshot"}},
		{"Redis, AOF everysec", [3]string{"kept", "up to about 2 s lost", "last writes can be lost"}},
		{"Redis, AOF always", [3]string{"kept", "kept", "last writes can be lost"}},
		{"Redis, Replicas: 1", [3]string{"kept by the replica", "kept if the replica fsyncs", "kept in all tests"}},
	}
	const left, top, width, height = 190, 84, 222, 30
	c := newCanvas(880, top+height*len(rows)+16, "What survives which crash")
	for i, crash := range []string{"the process is killed", "the power is cut", "a replica takes over"} {
		c.text(point{left + width*(float64(i)+.5), 66}, "strong", "middle", crash)
	}
	for i, row := range rows {
		y := float64(top + height*i)
		c.text(point{16, y + 18}, "", "start", row.store)
		for j, kept := range row.kept {
			class := "bad"
			switch kept {
			case "kept", "kept by the replica", "kept if the replica fsyncs", "kept in all tests":
				class = "held"
			case "-":
				continue
			}
			c.box(point{left + width*float64(j) + 3, y}, width-6, height-4, class, kept)
		}
	}
	return c.String()
}
