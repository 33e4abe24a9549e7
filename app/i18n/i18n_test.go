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
	"breakwater/proxy/control"
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

func TestNumbersHaveTheirForm(t *testing.T) {
	t.Cleanup(func() { _ = Use("en") })
	for lang, want := range map[string]string{
		"en": "0 requests, 1 request, 2 requests",
		"es": "0 solicitudes, 1 solicitud, 2 solicitudes",
		"mr": "0 विनंत्या, 1 विनंती, 2 विनंत्या",
	} {
		if err := Use(lang); err != nil {
			t.Fatal(err)
		}
		var got []string
		for n := range 3 {
			got = append(got, N(n, "%d request", "%d requests", n))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
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
	if got := Languages(); !slices.Equal(got, []string{"en", "es", "mr"}) || !slices.Equal(got, control.Languages()) {
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
			for _, text := range translated(n) {
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

// translated returns the texts of a call of T, or of N, with literals.
func translated(n ast.Node) (texts []string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && (x.Name == "i18n" || x.Name == "view") {
			name = f.Sel.Name
		}
	}
	from, to := 0, 0
	switch name {
	case "T", "Tf":
		to = 1
	case "N", "Nf":
		from, to = 1, 3
	}
	for _, arg := range call.Args[min(from, len(call.Args)):min(to, len(call.Args))] {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// dynamic returns the texts that T is given without a literal.
func dynamic() []string {
	return strings.Fields("Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
}
