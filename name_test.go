package dueq

import (
	"strings"
	"testing"
)

func TestNameOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		host string
		pid  int
		want string
	}{
		{"web1", 42, "web1-42"},
		{"ip-10-1-2-3.eu-west-1.compute.internal", 7, "ip-10-1-2-3-7"},
		{"orders-worker-deployment-6d4cf56db6-x7k2p", 1, "er-deployment-6d4cf56db6-x7k2p-1"},
		{"pc of Jörg", 1, "pc-of-J-rg-1"},
		{"", 1, "process-1"},
		{strings.Repeat("h", 64), 4194304, strings.Repeat("h", 24) + "-4194304"},
	}
	for _, test := range tests {
		got := nameOf(test.host, test.pid)
		if got != test.want || checkName(got) != nil {
			t.Errorf("nameOf(%q, %d) = %q, want %q", test.host, test.pid, got, test.want)
		}
	}
}
