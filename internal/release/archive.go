package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// file is a file in an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// archive writes files below one directory to an archive of the kind that is usual for the system.
// The archive has no owners, and all files have one time.
func (p platform) archive(path, dir string, files []file, at time.Time) error {
	write, suffix := writeTar, ".tar.gz"
	if p.os == "windows" {
		write, suffix = writeZip, ".zip"
	}
	var b bytes.Buffer
	if err := write(&b, dir, files, at); err != nil {
		return fmt.Errorf("%s%s: %w", path, suffix, err)
	}
	return publish(path+suffix, b.Bytes())
}

func writeTar(b *bytes.Buffer, dir string, files []file, at time.Time) error {
	packed := gzip.NewWriter(b)
	w := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: dir + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.content)),
			ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

func writeZip(b *bytes.Buffer, dir string, files []file, at time.Time) error {
	w := zip.NewWriter(b)
	for _, f := range files {
		header := &zip.FileHeader{Name: dir + "/" + f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}

const sumsName = "SHA256SUMS"

// writeSums writes the sums of what is published, in the format of sha256sum.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		if entry.Name() == bundleName { // it is for the repository, and has no place beside the archives
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name())) //nolint:gosec // a file that was written here
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return publish(filepath.Join(dir, sumsName), sums.Bytes())
}

func publish(path string, content []byte) error {
	return os.WriteFile(path, content, 0o644) //nolint:gosec // what is published may be read
}
