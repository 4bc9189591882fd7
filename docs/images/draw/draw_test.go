package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPicturesAreThoseOfTheProgram(t *testing.T) {
	for name, picture := range pictures() {
		committed, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || string(committed) != picture {
			t.Errorf("%s is not what the program draws (%v): run make generate", name, err)
		}
		for d := xml.NewDecoder(strings.NewReader(picture)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}
