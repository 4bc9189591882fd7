package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// The types below are the part of CycloneDX 1.6 that is used: https://cyclonedx.org/docs/1.6/json/

type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Time      string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref  string   `json:"ref"`
	Uses []string `json:"dependsOn,omitempty"`
}

// writeSBOM writes the bill of materials of a program: what the toolchain recorded in it.
func writeSBOM(path string, program []byte, at time.Time) error {
	b, err := sbom(program, at)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return publish(path, append(text, '\n'))
}

func sbom(program []byte, at time.Time) (*bom, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("read build information: %w", err)
	}
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return nil, errors.New("the program has no version")
	}
	sum := sha256.Sum256(program)
	main := library(info.Main.Path, info.Main.Version)
	main.Type = "application"
	main.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
	main.Licenses = make([]license, 1)
	main.Licenses[0].License.ID = "Apache-2.0"
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := &bom{
		Format: "CycloneDX", Spec: "1.6", Serial: serial(sum), Version: 1,
		Metadata:   metadata{Time: at.Format(time.RFC3339), Component: main},
		Components: []component{library("std", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, m := range info.Deps {
		b.Components = append(b.Components, used(m))
	}
	uses := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		uses.Uses = append(uses.Uses, c.Ref)
	}
	b.Dependencies = []dependency{uses}
	return b, nil
}

// used returns a module that is in the program: the one that replaces it, if there is one.
func used(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := library(m.Path, m.Version)
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}} // of the tree of files; the hashes of CycloneDX are of one file
	}
	return c
}

// library returns a Go module, named as https://github.com/package-url/purl-spec describes.
func library(path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}

// serial returns a UUID (version 8, RFC 9562) that is made of the program, so that each run writes
// the same.
func serial(sum [sha256.Size]byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
