package dueqhttp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// How long a comparison takes must not depend on how much of a secret is right.
func TestTokens_SecretsAreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	fset, constant := token.NewFileSet(), 0
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && !isEmptyText(n.X) && !isEmptyText(n.Y) && (isSecret(n.X) || isSecret(n.Y)) {
					t.Errorf("%s: compares a secret", fset.Position(n.Pos()))
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "ConstantTimeCompare" {
					constant++
				}
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "bytes" && n.Sel.Name == "Equal" {
					t.Errorf("%s: compares bytes", fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if constant == 0 {
		t.Error("nothing is compared in constant time")
	}
}

// isSecret reports whether an expression has the name of a secret, or of its hash.
func isSecret(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			name := strings.ToLower(id.Name)
			found = found || name == "secret" || name == "sha256" || name == "hash" || strings.HasSuffix(name, "secret")
		}
		_, call := n.(*ast.CallExpr)
		return !call // len(hash) is no secret
	})
	return found
}

func isEmptyText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == `""`
}
