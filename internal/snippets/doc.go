// Package snippets has the test that compiles what README and docs show.
package snippets
