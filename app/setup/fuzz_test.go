package setup

import (
	"strings"
	"testing"
)

// fuzzFormat sets a value in any text of a format and takes it out again: the
// text means what it meant, and its steps give the former bytes.
func fuzzFormat(f *testing.F, fm format, keys []path, seeds ...string) {
	for _, c := range files {
		f.Add(c.before)
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "zz") {
			return
		}
		e, err := edit(fm, []byte(text))
		if err != nil {
			return
		}
		before := e.tree
		var set []path
		for _, k := range keys {
			if _, _, err := e.set(k, "v"); err == nil {
				set = append(set, k)
			}
		}
		written := e.bytes()
		body, ok := unstep(e.body, e.steps)
		if want := strings.TrimPrefix(text, string(bom)); !ok || string(body) != want {
			t.Fatalf("%q became %q", want, body)
		}
		for _, k := range set {
			if v, _ := e.get(k); v != "v" {
				t.Fatalf("%s is %q in %q", k, v, written)
			}
			if err := e.remove(k); err != nil {
				t.Fatalf("%s in %q: %v", k, written, err)
			}
		}
		for _, k := range set {
			before, e.tree = pruned(before, k), pruned(e.tree, k)
		}
		if !same(before, e.tree) {
			t.Fatalf("%q became %q by %q", text, e.bytes(), written)
		}
	})
}

func FuzzJSON(f *testing.F) {
	fuzzFormat(f, jsonFormat{comment: true}, []path{{"zz", "y", "x"}, {"zz", "y", "w"}}, "{\"a\":{}\r\n}", " {\t} ", `{"env":{"a.b":"c"},"env2":null}`,
		"{ // c\n}", "{\"a\":1,/*x*/}", "\ufeff{}", "{\"a\":[1,\n2,],\n// end\n}\n//x")
}

func FuzzTOML(f *testing.F) {
	fuzzFormat(f, tomlFormat{}, []path{{"zz"}, {"t", "zz", "k"}, {"t", "zz", "l"}}, "[a]\n[t.yy]\r\nx=1\n", "a=[ # x\n[1,2],\n['#']]", "t.y.k=1", "[[t.a]]\nb=\"\"\"\"q\"\"\"\"\"", "\ufeffa=1")
}

func FuzzYAML(f *testing.F) {
	fuzzFormat(f, yamlFormat{}, []path{{"zz"}, {"zz-k"}}, "---\na: 1\n...\n", "{a: 1, b: [2]} # x", "  a: |+\n    x\n\n", "a: &x y\nb: *x", "# c\n---\n", "\ufeffa: 1\r\n")
}
