package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// page is a Markdown page in the making.
type page struct {
	*Result
	text   strings.Builder
	images string // where plots are, as seen from the page
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

// head begins a table whose columns but the first are numbers.
func (p *page) head(cells ...string) {
	p.line("")
	p.row(cells...)
	p.line("|---%s|", strings.Repeat("|---:", len(cells)-1))
}

// Write writes the page and its plots, and the table of the README unless that is "".
func Write(r *Result, file, imageDir, readme string) error {
	images, err := filepath.Rel(filepath.Dir(file), imageDir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(imageDir, 0o755); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	for name, svg := range plots(r) {
		if err := os.WriteFile(filepath.Join(imageDir, name), []byte(svg), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	if err := os.WriteFile(file, []byte(Page(r, filepath.ToSlash(images))), 0o644); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	if readme == "" {
		return nil
	}
	return writeShort(r, readme, file, imageDir)
}

// Page returns the page.
func Page(r *Result, images string) string {
	p := &page{Result: r, images: images}
	p.intro()
	p.overview()
	p.findings()
	p.designs()
	p.details()
	p.method()
	return p.text.String()
}

func (p *page) intro() {
	p.line("# dueq beside other delayed queues")
	p.line("")
	p.line("<!-- Written by bench/cmd/peers from bench/results. Do not edit: run `make bench-page`. -->")
	if p.Quick {
		p.line("> **A smoke run.** Counts were tiny and the machine busy: the figures mean nothing.")
		p.line("")
	} else if !p.Finished {
		p.line("> **An unfinished run**: some figures are of fewer rounds than they should be.")
		p.line("")
	}
	p.line("The same work, given to dueq, to three queues that people use, and to the classic ways of building one")
	p.line("yourself. One machine, one run, one server process; the queues take turns. Medians of %d rounds;", p.Rounds)
	p.line("memory and faults, which vary little, of %d.", p.rounds("kill"))
	p.line("[How it was measured](#how-it-was-measured), and how to repeat it, is at the end.")
	p.line("")
	p.image("peers-drain.svg", "Messages per second that a consumer hands out when it has catching up to do, and which queues lose messages")
	p.image("peers-lateness.svg", "How long after its due time a message reaches its handler")
}

// rounds of a workload.
func (p *page) rounds(workload string) int {
	most := 0
	for _, s := range p.Samples {
		if s.Workload == workload {
			most = max(most, s.Round)
		}
	}
	return most
}

func (p *page) image(name, alt string) {
	p.line("![%s](%s/%s)", alt, p.images, name)
	p.line("")
}
