// Package mutants breaks the code on purpose, one mistake at a time, and runs the tests
// that must notice. A mistake that no test notices is a test that is missing.
//
// Each mistake of the table replaces one text of one file. The file itself is not
// touched: the go command is given the changed one by its -overlay flag. `make mutants`
// runs them all; it takes some minutes, so it belongs into a nightly run and before a
// release.
package mutants
