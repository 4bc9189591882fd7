// Draw writes the pictures of the documents: how a message changes its state, what happens
// to a lease when its holder crashes, and the like. In the root of the repository,
//
//	go run ./docs/images/draw docs/images
package main

//go:generate go run . ..

import (
	"fmt"
	"os"
	"path/filepath"
)

// pictures are all pictures, by the names of their files.
func pictures() map[string]string {
	return map[string]string{
		"states.svg":        states(),
		"lease.svg":         lease(),
		"cancel.svg":        cancel(),
		"what-survives.svg": survival(),
		"demo.svg":          demo(),
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: draw DIRECTORY")
		os.Exit(2)
	}
	for name, picture := range pictures() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(picture), 0o644); err != nil { //nolint:gosec // it is published
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
