package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dueq-dev/dueq/cmd/dueq/internal/term"
)

// console is what a command reads and writes besides the store.
type console struct {
	in       io.Reader
	out, err io.Writer
	env      func(name string) string
	isSet    func(name string) bool // of a variable of the environment; nil: not known
}

// app is what the commands share: the console and the flags of all of them.
type app struct {
	console
	store    string       // --store
	output   string       // --output
	logLevel slog.Level   // of the library's log
	logTime  bool         // its lines begin with the time
	log      slog.Handler // takes the library's log instead of standard error, if it is set
	started  bool         // the command line was understood
	makes    bool         // the command makes a store in a directory that has none

	files     map[string]string // options of the store that name files, given by flags
	storeFlag *pflag.Flag
	queue     *pflag.Flag // of the command; nil: it has none
}

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, c console) int {
	a := &app{console: c, logLevel: slog.LevelError}
	root := newRoot(a)                        //nolint:contextcheck // cobra carries ctx to the commands
	root.SetArgs(append([]string{}, args...)) // for nil it would take the arguments of the process
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !a.started {
		err = usage("%w (see %s --help)", meantCommand(cmd, err), cmd.CommandPath())
	}
	_, _ = fmt.Fprintln(c.err, oneLine(err, a.withToken(a.storeURL()))) // when stderr is gone, the exit code remains
	return exitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "dueq",
		Short: "Send, receive and manage delayed messages",
		Long: `dueq is a delayed message queue: a message is sent now, becomes due later, and is
delivered until a consumer acknowledges it or it runs out of attempts.

  what is stuck, and why       dueq stats
  who holds a message          dueq show key:order-42
  how many become due when     dueq forecast
  some dead messages again     dueq redrive --queue NAME --failure 503 --spread 10m
  is the store fit             dueq doctor
  what changes, as it changes  dueq top, dueq watch

Start with "dueq demo", which needs no store. All other commands use the store in --store
or in the environment variable DUEQ_STORE. Put a URL with a password in the variable,
or name a file with it in --store-password-file, and put the token of a server in
DUEQ_TOKEN, because other users of a machine can read command lines. Without either they use
the directory dueq in $XDG_DATA_HOME, ~/.local/share or (on Windows) %LOCALAPPDATA%,
one command at a time. A store that is named by an empty text is an error.

Commands that send messages or serve a store make one in a directory that has none, and
say so; all others fail with "no store at DIR".

Exit codes: 0 ok, 1 failure, 2 wrong usage, 3 not found or nothing to receive,
4 conflict (duplicate key, lease lost, message is running, queue not empty), 5 store
unavailable, 6 refused (queue full), 130 interrupted at a question.`,
		Version:            version().Version,
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // they would make an error several lines long; see hint.go
	}
	root.SetFlagErrorFunc(meantFlag)
	root.SetVersionTemplate(term.Escape(strings.TrimSpace(version().text())) + "\n")
	flags := root.PersistentFlags()
	flags.StringVar(&a.store, "store", "", "`URL` of the store: file:DIR, redis://host:6379, rediss://, redis+sentinel://, redis+cluster://, http(s)://host:7373, mem: (default $DUEQ_STORE, or else a directory in your data home)")
	a.storeFlag = flags.Lookup("store")
	a.files = map[string]string{}
	for _, f := range storeFiles {
		flags.Var(fileOption{a.files, f.option}, f.flag, f.use+" (default $"+f.variable+")")
	}
	flags.VarP(&choice{value: &a.output, of: []string{formatText, formatJSON}}, "output", "o", "text for people, json for scripts")
	a.output = formatText
	root.AddCommand(
		newDemo(a), creating(newSend(a)), creating(newImport(a)), newExport(a), creating(newMigrate(a)), newReceive(a), newWork(a),
		newList(a), newShow(a), newCancel(a), newReschedule(a),
		newDead(a), newRedrive(a), newDelete(a), newPurge(a), newPause(a), newResume(a),
		newQueue(a),
		newStats(a), newTop(a), newWatch(a), newForecast(a), newMembers(a), newCheck(a), newDoctor(a), newBackup(a), newServe(a), newToken(a), creating(newBench(a)), newVersion(a), newMan(a),
	)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	a.complete(root)
	return root
}

// The values of --output.
const (
	formatText = "text"
	formatJSON = "json"
)

// action is the body of a command.
type action func(ctx context.Context, args []string) error

// do adapts an action to cobra's RunE. Errors of the action are not about the command line
// unless they wrap errUsage.
func (a *app) do(act action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		a.queue = cmd.Flags().Lookup("queue")
		a.makes = cmd.Annotations[annotationMakes] != ""
		return act(cmd.Context(), args)
	}
}

// result is the result of a command. Its JSON is the value itself.
type result interface {
	// text returns the result as lines of text, in which all data from a store is escaped.
	text() string
}

// print writes a result in the format of --output.
func (a *app) print(r result) error {
	text := []byte{}
	if a.output == formatJSON {
		encoded, err := term.JSON(r)
		if err != nil {
			return err
		}
		text = encoded
	} else {
		text = append(text, r.text()...)
	}
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// note writes something beside the result for people. Scripts do not get it.
func (a *app) note(format string, args ...any) {
	if a.output == formatText {
		_, _ = fmt.Fprintf(a.err, format+"\n", args...) // nothing depends on a note
	}
}
