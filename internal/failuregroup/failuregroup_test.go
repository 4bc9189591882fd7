package failuregroup

import "testing"

func TestOf_MarksWhatDiffers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "",
		"order 17 is unknown":      "order # is unknown",
		"order17: 2.5s":            "order#: #.#s",
		"503 Service Unavailable":  "503 Service Unavailable",
		"answered with status 404": "answered with status 404",
		"HTTP/1.1 503 busy":        "HTTP/#.# 503 busy",
		"HTTP 502 after 1203 ms":   "HTTP 502 after # ms",
		"order 404 is unknown":     "order # is unknown",
		"HTTP 999":                 "HTTP #",
		"user 3F2504E0-4F89-11D3-9A0C-0305E82C3301 is gone": "user # is gone",
		"3F2504E0-4F89-11D3-9A0C-0305E82C330 is no UUID":    "#-#F#-#D#-#A#C-# is no UUID",
		"commit 9fceb02 at 0x1f":                            "commit # at #",
		"defaced facade":                                    "defaced facade", // words, not ids
		"dial tcp 10.0.0.1:443: i/o":                        "dial tcp #.#.#.#:#: i/o",
		"schön 1":                                           "schön #",
	} {
		if got := Of(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if again := Of(Of(text)); again != Of(text) {
			t.Errorf("%q: the group of the group is %q", text, again)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("user 3F2504E0-4F89-11D3-9A0C-0305E82C3301: 503")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Of(text); len(got) > len(text) {
			t.Errorf("%q is longer than %q", got, text)
		}
	})
}
