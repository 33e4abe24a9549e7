package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"breakwater/proxy/dialect"
)

// namesDialects are the files outside of proxy/dialect that may name a single
// dialect, and why.
var namesDialects = map[string]string{
	"proxy/catalog/providers.go":  "where a provider serves which dialect",
	"proxy/simulator/voice.go":    "the table of what the simulated provider speaks, checked at its start",
	"proxy/simulator/request.go":  "the form of a list of models that no header tells apart",
	"proxy/refusal/intake.go":     "the form of an error outside of every route",
	"app/notify/text.go":          "the table of the APIs' names, for people; others are shown as they are",
	"app/windows/view/reasons.go": "the table of short names, for people; others are shown as they are",
}

// What differs between the dialects is behind dialect.Dialect: nothing else names
// a dialect, or compares its name, so that another one has no place to be
// forgotten in and no default to fall into.
func TestOnlyTheirPackageTellsDialectsApart(t *testing.T) {
	dialects := dialectVariables(t)
	if len(dialects) != len(dialect.All) {
		t.Fatalf("proxy/dialect/dialect.go declares %v, and %d are in All", dialects, len(dialect.All))
	}
	seen := map[string]bool{}
	for _, name := range goFiles(t) {
		if strings.HasPrefix(name, "proxy/dialect/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, readSource(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, found := range tellsApart(f, dialects) {
			if seen[name] = true; namesDialects[name] == "" {
				t.Errorf("%s: %s; make it a method or a trait of dialect.Dialect", set.Position(found.at), found.what)
			}
		}
	}
	for name := range namesDialects {
		if !seen[name] {
			t.Errorf("%s names no dialect any more: take it off the list", name)
		}
	}
}

// dialectVariables returns the names under which the dialects are exported.
func dialectVariables(t *testing.T) []string {
	t.Helper()
	const name = "proxy/dialect/dialect.go"
	f, err := parser.ParseFile(token.NewFileSet(), name, readSource(t, name), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Dialect" {
				out = append(out, v.Names[0].Name)
			}
		}
		return true
	})
	return out
}

type finding struct {
	at   token.Pos
	what string
}

// tellsApart returns where a file names one of the dialects by its variable, or
// chooses by a name written out.
func tellsApart(f *ast.File, dialects []string) (found []finding) {
	pkg := ""
	for _, im := range f.Imports {
		if im.Path.Value == strconv.Quote(module+"/proxy/dialect") {
			if pkg = "dialect"; im.Name != nil {
				pkg = im.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && pkg != "" && x.Name == pkg && slices.Contains(dialects, n.Sel.Name) {
				found = append(found, finding{n.Pos(), "it names dialect." + n.Sel.Name})
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				if speaks(n.X) && isName(n.Y) || speaks(n.Y) && isName(n.X) {
					found = append(found, finding{n.Pos(), "it compares a dialect's name"})
				}
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && speaks(n.Tag) && slices.ContainsFunc(n.Body.List, namesOne) {
				found = append(found, finding{n.Pos(), "it switches over a dialect's name"})
			}
		case *ast.CompositeLit:
			if namesAsKeys(n) > 1 {
				found = append(found, finding{n.Pos(), "it has a table of dialects' names"})
			}
		}
		return true
	})
	return found
}

// speaks reports whether an expression is a dialect or its name by its own name.
func speaks(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && (strings.Contains(strings.ToLower(id.Name), "dialect") || id.Name == "speaks" || id.Name == "Traits")
		return !found
	})
	return found
}

// namesOne reports whether a case is a dialect's name.
func namesOne(s ast.Stmt) bool {
	c, ok := s.(*ast.CaseClause)
	return ok && slices.ContainsFunc(c.List, isName)
}

func isName(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return false
	}
	s, err := strconv.Unquote(lit.Value)
	return err == nil && slices.Contains(dialect.Names(), s)
}

func namesAsKeys(lit *ast.CompositeLit) (n int) {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && isName(kv.Key) {
			n++
		}
	}
	return n
}

// The check is only as good as what it finds.
func TestTellsApart(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		found      int
	}{
		{"a comparison", `if d == dialect.Chat { }`, 1},
		{"a comparison the other way round", `if dialect.Responses != d { }`, 1},
		{"a switch", `switch d { case dialect.Anthropic, dialect.Chat: default: }`, 2},
		{"a value that is passed on", `f(dialect.Chat)`, 1},
		{"a name written out", `if req.Dialect == "chat" { }`, 1},
		{"a switch over a name", `switch string(q.dialect) { case "x", "chat": }`, 1},
		{"a switch over their number", `switch len(dialects) { case 1: }`, 0},
		{"the name of its traits", `if d.Traits().Name == "chat" { }`, 1},
		{"a table of names", `_ = map[string]int{"anthropic": 1, "chat": 2, "responses": 3}`, 1},
		{"another package", `if d == other.Chat { }`, 0},
		{"another word", `if d == dialect.TextDelta { }`, 0},
		{"a provider's name", `if p.ID == "anthropic" { }`, 0},
		{"a name that is empty", `if a.Dialect != "" { }`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := "package x\nimport \"" + module + "/proxy/dialect\"\nfunc f() {\n" + tc.body + "\n}\n"
			f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if got := tellsApart(f, []string{"Anthropic", "Chat", "Responses"}); len(got) != tc.found {
				t.Errorf("found %v, want %d", got, tc.found)
			}
		})
	}
}
