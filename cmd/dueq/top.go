package main

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
	"github.com/dueq-dev/dueq/cmd/dueq/internal/top"
)

func newTop(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "top [QUEUE]",
		Short: "Show queues live: sizes, rates, lateness, consumers",
		Long: `Show every queue on the screen, and what changes: sizes, how long the oldest message has been due,
consumers, and messages sent, delivered, acked and failed per second. Enter shows one queue with
its consumers, what becomes due, and its first leased and dead messages.

Keys: q quit, s sort (name, oldest, ready, dead, rate), p pause, r refresh, arrows select,
enter open, esc back. It needs a terminal; for pipes there is "dueq watch".`,
		ValidArgsFunction: a.completeQueue,
		Args:              cobra.MaximumNArgs(1),
	}
	every := 2 * time.Second
	cmd.Flags().Var(span{&every}, "every", "how often the queues are read, from 100ms")
	cmd.RunE = a.do(func(ctx context.Context, args []string) error {
		if !term.IsTerminal(a.out) {
			return usage("top: standard output is no terminal: for pipes there is dueq watch")
		}
		if err := checkEvery(every); err != nil {
			return err
		}
		return a.withClient(ctx, func(client *dueq.Client) error {
			s := &screen{ctx: ctx, every: every, source: &topSource{client: client}, model: top.Model{Store: withoutPassword(a.storeURL(), a.withToken(a.storeURL()))}}
			if len(args) > 0 {
				s.model.Open = args[0]
			}
			_, failed := tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(a.in), tea.WithOutput(a.out), tea.WithoutSignalHandler()).Run()
			if ctx.Err() != nil || errors.Is(failed, tea.ErrInterrupted) { // the user has ended it
				failed = nil
			}
			return failed
		})
	})
	return cmd
}

// screen shows a top.Model with Bubble Tea.
type screen struct {
	ctx    context.Context //nolint:containedctx // Bubble Tea passes none to its commands
	model  top.Model
	source *topSource
	every  time.Duration
}

// tick asks for the next snapshot.
type tick struct{}

// Init reads the first snapshot.
func (s *screen) Init() tea.Cmd { return tea.Batch(s.read, s.next()) }

func (s *screen) next() tea.Cmd {
	return tea.Tick(s.every, func(time.Time) tea.Msg { return tick{} })
}

// read takes a snapshot. Bubble Tea runs it apart from Update.
func (s *screen) read() tea.Msg { return s.source.snapshot(s.ctx, s.model.Open) }

// Update handles a key, a snapshot or a new size.
func (s *screen) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	next := *s
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		next.model.Width, next.model.Height = m.Width, m.Height
	case tea.KeyPressMsg:
		var action top.Action
		next.model, action = s.model.Press(m.String())
		switch action {
		case top.Quit:
			return &next, tea.Quit
		case top.Refresh:
			return &next, next.read
		case top.Nothing:
		}
	case top.Snapshot:
		next.model = s.model.Show(m)
	case tick:
		if s.model.Paused {
			return &next, next.next()
		}
		return &next, tea.Batch(next.read, next.next())
	}
	return &next, nil
}

// View returns the whole screen.
func (s *screen) View() tea.View {
	v := tea.NewView(s.model.View())
	v.AltScreen = true
	return v
}
