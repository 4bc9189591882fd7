package storetest

import "testing"

func Concurrent(t *testing.T, h Harness) {}
