package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dueq-dev/dueq/dueqhttp"
)

// newSecret is the result of token.
type newSecret struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
	Line   string `json:"line"` // of the file of tokens
}

func (s newSecret) text() string { return s.Secret + "\n" }

func newToken(a *app) *cobra.Command {
	var scopes, queues []string
	var file string
	cmd := &cobra.Command{
		Use:   "token NAME --scope SCOPE --token-file FILE",
		Short: "Make a token for the HTTP API",
		Long: `Make a token, append it to a file for "dueq serve --token-file", and print its secret. The file has
only a hash of the secret, so the secret cannot be shown again. A running server reads the file again
within 5 s.

Scopes: produce (send, cancel, reschedule), consume (receive, settle), read (look at messages,
queues and metrics), admin (everything).`,
		Example: `  dueq token billing --scope produce,read --queue invoices --queue "mail-*" --token-file tokens`,
		Args:    cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&scopes, "scope", nil, "what it allows: produce, consume, read, admin; may be repeated")
	flags.StringSliceVar(&queues, "queue", nil, "`name` or pattern of the queues that it is for (default: all); may be repeated")
	flags.StringVar(&file, "token-file", "", "`file` to append it to; it is made if it is missing")
	_ = cmd.MarkFlagRequired("scope")      // fails only when there is no such flag
	_ = cmd.MarkFlagRequired("token-file") // likewise
	cmd.RunE = a.do(func(_ context.Context, args []string) error {
		secret, hash := dueqhttp.NewSecret()
		t := dueqhttp.Token{Name: args[0], SHA256: hash, Queues: queues}
		for _, s := range scopes {
			t.Scopes = append(t.Scopes, dueqhttp.Scope(s))
		}
		if strings.ContainsAny(t.Name, " \t\r\n#") { // which would be another line, or none
			return usage("NAME: %.40q: want letters, digits, '.', '_', '-'", t.Name)
		}
		if err := appendToken(file, t); err != nil {
			return err
		}
		return a.print(newSecret{t.Name, secret, t.String()})
	})
	return cmd
}

// appendToken appends a token to a file that only its owner can read. It changes nothing if the
// file with the token would not be one of tokens.
func appendToken(path string, t dueqhttp.Token) error {
	known, err := os.ReadFile(path) //nolint:gosec // the user says which file to read
	if err != nil && !os.IsNotExist(err) {
		return usage("--token-file: %w", err)
	}
	line := t.String() + "\n"
	if n := len(known); n > 0 && known[n-1] != '\n' {
		line = "\n" + line
	}
	if _, err := dueqhttp.ParseTokens(strings.NewReader(string(known) + line)); err != nil {
		return usage("%w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // likewise
	if err != nil {
		return usage("--token-file: %w", err)
	}
	if _, err := f.WriteString(line); err != nil {
		_ = f.Close() // the error of the write is reported
		return usage("--token-file: %w", err)
	}
	return f.Close()
}
