package i18n

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"breakwater/assets"
)

func TestLoadFindsTheLanguageOfALocale(t *testing.T) {
	for locale, want := range map[string]string{
		"": "en", "es": "es", "es_ES.UTF-8": "es", "ES-mx": "es", "en_GB": "en",
		"xx": "en", "../es": "en", "es@euro": "es", "C": "en",
	} {
		c, err := Load(locale)
		if err != nil || c.Lang() != want {
			t.Errorf("Load(%q) speaks %q, %v; want %q", locale, c.Lang(), err, want)
		}
	}
}

func TestUseChangesT(t *testing.T) {
	t.Cleanup(func() { _ = Use("en") })
	if err := Use("es_ES.UTF-8"); err != nil {
		t.Fatal(err)
	}
	if got := T("Quit"); got != "Salir" || Lang() != "es" {
		t.Errorf("Quit is %q in %s", got, Lang())
	}
	if got := T("not a known text %d", 3); got != "not a known text 3" {
		t.Errorf("an unknown text became %q", got)
	}
	if err := Use("none"); err != nil || T("Quit") != "Quit" {
		t.Errorf("an unknown language gave %q, %v", T("Quit"), err)
	}
}

func TestSystemFollowsPosixOrder(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"LANG": "es_ES.UTF-8"}, "es"},
		{map[string]string{"LANG": "es_ES.UTF-8", "LC_MESSAGES": "en_US"}, "en"},
		{map[string]string{"LANG": "es_ES.UTF-8", "LC_ALL": "C"}, ""},
		{map[string]string{"LANG": "POSIX"}, ""},
		{map[string]string{"LANG": "C.UTF-8"}, ""},
	} {
		if got := System(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%v gives %q, want %q", c.env, got, c.want)
		}
	}
}

func TestLanguages(t *testing.T) {
	if got := Languages(); !slices.Equal(got, []string{"en", "es"}) {
		t.Errorf("%q", got)
	}
}

// TestEveryTextIsTranslated reads the sources for texts given to T and checks
// that each file of translations knows them all, and nothing that nobody says.
func TestEveryTextIsTranslated(t *testing.T) {
	used := map[string]string{}
	err := filepath.WalkDir("..", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Logf("%v", err) // the compiler says it better
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if text, ok := translated(n); ok {
				used[text] = path
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range dynamic() {
		used[text] = "times.go"
	}
	for _, lang := range Languages() {
		if lang == "en" {
			continue
		}
		b, err := assets.Translations.ReadFile("i18n/" + lang + ".json")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		if err := json.Unmarshal(b, &texts); err != nil {
			t.Fatal(err)
		}
		for text, where := range used {
			if texts[text] == "" {
				t.Errorf("%s lacks %q of %s", lang, text, where)
			}
		}
		for text := range texts {
			if used[text] == "" {
				t.Errorf("%s has %q, which nothing says", lang, text)
			}
		}
	}
}

// translated returns the text of a call of T with a literal.
func translated(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		ok = f.Name == "T" || f.Name == "Tf"
	case *ast.SelectorExpr:
		x, isIdent := f.X.(*ast.Ident)
		ok = isIdent && (x.Name == "i18n" || x.Name == "view") && (f.Sel.Name == "T" || f.Sel.Name == "Tf")
	default:
		ok = false
	}
	lit, isLit := call.Args[0].(*ast.BasicLit)
	if !ok || !isLit {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// dynamic returns the texts that T is given without a literal.
func dynamic() []string {
	return strings.Fields("Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
}
