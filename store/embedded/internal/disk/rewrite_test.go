package disk

import (
	"bytes"
	"fmt"
	"testing"
)

// What is written again is what is in the file, whatever its offset, and ends the file.
func TestFileRewrite_EndsTheFileBehindTheBytes(t *testing.T) {
	t.Parallel()
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i % 251)
	}
	for i, tt := range []struct{ at, size, left int }{ // left: bytes of the file behind them
		{4160, 1, 0}, {4160, 5000, 0}, {4096, 4096, 0}, {8191, 2, 0}, {5000, 2<<20 + 1, 0}, {1 << 20, 1 << 20, 100}, {0, 700, 0}, {100, 0, 0},
	} {
		name := fmt.Sprint("file", i)
		f, err := d.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		end := tt.at + tt.size
		if _, err := f.WriteAt(content[:end+tt.left], 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Rewrite(content[tt.at:end], int64(tt.at)); err != nil {
			t.Fatalf("%+v: %v", tt, err)
		}
		got := make([]byte, end)
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, content[:end]) {
			t.Errorf("%+v: other bytes, %v", tt, err)
		}
		if size, err := f.Size(); err != nil || size != int64(end) {
			t.Errorf("%+v: %d bytes, %v, want %d", tt, size, err, end)
		}
		if _, err := f.WriteAt([]byte("x"), int64(end)); err != nil { // any byte, as usual again
			t.Errorf("%+v: a write behind them: %v", tt, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
