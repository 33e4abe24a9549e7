package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// requestPath are the packages that hold the way of one request.
var requestPath = []string{"proxy", "proxy/exchange", "proxy/attempt", "proxy/refusal", "proxy/scrub"}

const (
	maxParameters = 6
	maxMethods    = 25
)

// manyMethods are the types that may have more: the facade, and what implements
// it as a whole.
var manyMethods = []string{
	"proxy/control.Service", "proxy/control.Facade", "proxy/client.Client", "proxy/client/facadetest.Fake", "proxy/rest.api",
}

// tooMany are the types that still have more methods than they may, and how
// many: the numbers only ever fall.
var tooMany = map[string]int{
	"app/setup.Setup": 30, "app/windows.tableHead": 29, "app/windows.ui": 43, "db.Store": 63,
	"proxy/attempt.attempt": 64, "proxy/control.Route": 28, "proxy/dialect.responses": 26, "proxy/drill.store": 37,
	"proxy/exchange.comboPlan": 46, "proxy/exchange.run": 61, "proxy/simulator.Step": 34,
	"resilience.Conn": 33, "resilience.Engine": 35, "resilience/breaker.Breaker": 29, "resilience/classify.facts": 42,
	"resilience/cooldown.State": 28,
}

// presence is a context itself: it lives while the client reads.
const presence = "proxy.presence"

// eachFile parses the program's own files below these folders.
func eachFile(t *testing.T, in func(dir string) bool, f func(dir string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, name := range goFiles(t) {
		if dir := path.Dir(name); in(dir) && !strings.HasSuffix(name, "_test.go") {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, readSource(t, name), parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			f(dir, set, file)
		}
	}
}

func onRequestPath(dir string) bool { return slices.Contains(requestPath, dir) }

func decides(dir string) bool {
	return onRequestPath(dir) || dir == "resilience" || strings.HasPrefix(dir, "resilience/")
}

func fields(list *ast.FieldList) (n int) {
	if list == nil {
		return 0
	}
	for _, f := range list.List {
		n += max(len(f.Names), 1)
	}
	return n
}

func TestFunctionsTakeFewParameters(t *testing.T) {
	eachFile(t, decides, func(_ string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncType); ok && fields(f.Params) > maxParameters {
				t.Errorf("%s: %d parameters; at most %d", set.Position(f.Pos()), fields(f.Params), maxParameters)
			}
			return true
		})
	})
}

// A context is a parameter: one in a struct outlives its request unseen.
func TestNoContextIsStored(t *testing.T) {
	eachFile(t, decides, func(dir string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || dir+"."+spec.Name.Name == presence {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				if x, ok := f.Type.(*ast.SelectorExpr); ok && x.Sel.Name == "Context" {
					t.Errorf("%s: %s stores a context", set.Position(f.Pos()), spec.Name.Name)
				}
			}
			return true
		})
	})
}

// A request ends by a result. The one panic is net/http's way to cut a
// connection, and finish is called where the exchange ends.
func TestARequestHasOneEnd(t *testing.T) {
	var panics, ends []string
	eachFile(t, onRequestPath, func(dir string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.Ident:
				if f.Name == "panic" {
					panics = append(panics, set.Position(call.Pos()).String())
				}
			case *ast.SelectorExpr:
				if dir == "proxy/exchange" && f.Sel.Name == "finish" {
					ends = append(ends, set.Position(call.Pos()).String())
				}
			}
			return true
		})
	})
	if len(panics) != 1 || !strings.HasPrefix(panics[0], "proxy/inference.go:") {
		t.Errorf("panics at %v; the connection is cut in proxy/inference.go and nowhere else", panics)
	}
	if len(ends) != 1 {
		t.Errorf("finish is called at %v; want one place", ends)
	}
}

func TestTypesHaveFewMethods(t *testing.T) {
	methods := map[string]int{}
	eachFile(t, func(string) bool { return true }, func(dir string, _ *token.FileSet, file *ast.File) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[dir+"."+receiver(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if spec, ok := s.(*ast.TypeSpec); ok {
						if i, ok := spec.Type.(*ast.InterfaceType); ok {
							methods[dir+"."+spec.Name.Name] = fields(i.Methods)
						}
					}
				}
			}
		}
	})
	for name, n := range methods {
		if limit := max(maxMethods, tooMany[name]); n > limit && !slices.Contains(manyMethods, name) {
			t.Errorf("%s has %d methods; at most %d", name, n, limit)
		}
	}
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
