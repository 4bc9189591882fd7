package dueqhttp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/dueq-dev/dueq"
)

// UI returns a handler that serves the dashboard at /, and beside it all that [Handler] serves,
// with the same options: the dashboard uses nothing but the API. It may be mounted below another
// path with [http.StripPrefix]. Where tokens are required, the dashboard asks for one and keeps it
// in a cookie that scripts cannot read and that browsers send to no other site's requests.
// Errors are those of Handler.
func UI(client *dueq.Client, o *Options) (http.Handler, error) {
	s, err := newServer(client, o)
	if err != nil {
		return nil, err
	}
	if s.dashboard, err = newDashboard(); err != nil {
		return nil, err
	}
	return s.handler(append(s.routes(), s.pages()...)), nil
}

// pages returns the kinds of requests that only the dashboard makes. They are no part of the API.
func (s *server) pages() []route {
	return []route{
		{"GET", "/{$}", open, servePage},
		{"GET", "/assets/{name}", open, serveAsset},
		{"GET", "/session", open, serveSession},
		{"POST", "/session", open, serveSignIn},
		{"DELETE", "/session", open, serveSignOut},
	}
}

// bundle is what web/ is built to: see the target web of the Makefile.
//
//go:embed ui
var bundle embed.FS

// pagePolicy lets the page load what the server has, and nothing else: no script or style in the
// page itself, nothing from other sites, and no text that becomes markup.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// dashboard has the page and the files that it loads.
type dashboard struct {
	page   []byte
	build  string // changes with every file
	assets map[string]asset
}

// asset is a file whose name has a hash of its content, so that browsers may keep it.
type asset struct {
	kind           string
	plain, gzipped []byte
}

// newDashboard reads the bundle. The page names each file by its plain name; in what is served the
// names have hashes.
func newDashboard() (*dashboard, error) {
	d := &dashboard{assets: map[string]asset{}}
	page, err := bundle.ReadFile("ui/index.html")
	if err != nil {
		return nil, err
	}
	all := sha256.New()
	for _, file := range [...]struct{ name, kind string }{
		{"app.js", "text/javascript; charset=utf-8"},
		{"app.css", "text/css; charset=utf-8"},
		{"icon.svg", "image/svg+xml"},
		{"licenses.txt", "text/plain; charset=utf-8"},
	} {
		content, err := bundle.ReadFile("ui/" + file.name)
		if err != nil {
			return nil, err
		}
		gzipped, err := compress(content)
		if err != nil {
			return nil, err
		}
		name := hashedName(file.name, content)
		d.assets[name] = asset{file.kind, content, gzipped}
		page = bytes.ReplaceAll(page, []byte("assets/"+file.name), []byte("assets/"+name))
		_, _ = io.WriteString(all, name) // a hash does not fail
	}
	d.page, d.build = page, hex.EncodeToString(all.Sum(nil)[:hashBytes])
	return d, nil
}

const hashBytes = 8 // of SHA-256, in names of files

func hashedName(name string, content []byte) string {
	hash := sha256.Sum256(content)
	extension := path.Ext(name)
	return fmt.Sprintf("%s-%x%s", strings.TrimSuffix(name, extension), hash[:hashBytes], extension)
}

func compress(content []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close() // it writes the rest
	return b.Bytes(), err
}

// servePage returns the page, which is the same for every caller.
func servePage(c *call) error {
	c.w.Header().Set("Content-Security-Policy", pagePolicy)
	return c.write(http.StatusOK, "text/html; charset=utf-8", c.dashboard.page)
}

// serveAsset returns a file that the page loads. Its content never changes: another content has
// another name.
func serveAsset(c *call) error {
	a, ok := c.dashboard.assets[c.r.PathValue("name")]
	if !ok {
		return &statusError{http.StatusNotFound, "there is no such file"}
	}
	header := c.w.Header()
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Vary", "Accept-Encoding")
	if acceptsGzip(c.r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		return c.write(http.StatusOK, a.kind, a.gzipped)
	}
	return c.write(http.StatusOK, a.kind, a.plain)
}

// acceptsGzip reports whether a header Accept-Encoding names gzip without refusing it by a weight
// of zero.
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight = strings.ReplaceAll(weight, " ", "")
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
