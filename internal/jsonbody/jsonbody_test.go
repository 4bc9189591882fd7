package jsonbody

import "testing"

func TestEncode_TextOrBase64(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{"": "", "日": "日", "\x00": "\x00"} {
		if text, inBase64 := Encode([]byte(body)); text == nil || *text != want || inBase64 != nil {
			t.Errorf("Encode(%q) = %v, %v, want the text", body, text, inBase64)
		}
	}
	if text, inBase64 := Encode([]byte("\xff\x00")); text != nil || inBase64 == nil || *inBase64 != "/wA=" {
		t.Errorf("Encode of bytes that are no text = %v, %v, want base 64", text, inBase64)
	}
}

func TestWholeRunes_TextStaysText(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{"": "", "ab": "ab", "a\xe6\x97": "a", "a\xe6": "a", "日": "日", "a\xff": "a\xff"} {
		if got := WholeRunes([]byte(body)); string(got) != want {
			t.Errorf("WholeRunes(%q) = %q, want %q", body, got, want)
		}
	}
}
