// Package tests holds the checks of the repository as a whole.
package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "breakwater"

// rule is what the packages of one folder may import besides the standard
// library. A pattern is an import path, or one with "/..." behind it, which
// also covers everything below; ours are written without the module's name.
type rule struct {
	pkg     string   // pattern; the longest that fits holds
	allow   []string // patterns
	denyStd []string // patterns of the standard library that are banned
	why     string
}

// impure is what the resilience core may not touch: it answers questions from
// values, so that every answer can be tested without a network, disk or clock.
var impure = []string{"net", "net/http/...", "os/...", "database/sql/...", "log/...", "math/rand/...", "syscall", "unsafe"}

// leaves of the resilience core know no policy.
var leaves = []string{"resilience/clock", "resilience/outcome", "resilience/exclusion", "resilience/settings", "resilience/hint/..."}

// wire is what handling HTTP, its encodings and JSON may need.
var wire = []string{
	"github.com/tidwall/gjson", "github.com/tidwall/sjson",
	"github.com/klauspost/compress/...", "github.com/andybalholm/brotli",
	"github.com/gofrs/flock", "golang.org/x/sync/...", "golang.org/x/sys/...", "golang.org/x/term",
}

var rules = []rule{
	{
		"proxy/folder", []string{"github.com/gofrs/flock"}, []string{"net/http/...", "database/sql/..."},
		"the one writer of the small files in a data folder, for the store, the proxy and the desktop alike, which do not know each other",
	},
	{
		"resilience",
		[]string{"resilience/...", "golang.org/x/time/rate"},
		impure,
		"the core is pure; only its root knows all policies",
	},
	{
		"resilience/...", append([]string{"golang.org/x/time/rate"}, leaves...), impure,
		"a policy imports leaves only, never another policy, so that each can be read and tested alone",
	},
	{
		"proxy/...", append([]string{"proxy/...", "resilience/...", "build"}, wire...), nil,
		"the proxy knows neither the store nor the desktop: both are handed to it",
	},
	{
		"proxy/attempt",
		append([]string{"proxy/catalog", "proxy/control", "proxy/dialect", "proxy/scrub", "proxy/sse", "proxy/upstream", "resilience/..."}, wire...),
		[]string{"os/...", "database/sql/..."},
		"an attempt knows neither the exchange nor what a client gets when nobody answers: it returns a result",
	},
	{
		"proxy/exchange",
		append([]string{
			"proxy/attempt", "proxy/catalog", "proxy/control", "proxy/dialect", "proxy/history", "proxy/refusal", "proxy/upstream",
			"resilience/...",
		}, wire...),
		[]string{"os/...", "database/sql/..."},
		"the one loop and the one end of a request: what it needs of the product is handed to it",
	},
	{
		"proxy/history", []string{"proxy/dialect"}, []string{"net/...", "os/...", "database/sql/..."},
		"who made the reasoning of a conversation is remembered in memory, as digests: no request, connection or store is known to it",
	},
	{
		"proxy/catalog",
		[]string{"proxy/dialect", "resilience/..."},
		[]string{"net/http/...", "os/...", "database/sql/..."},
		"the catalogue is plain data",
	},
	{
		"proxy/dialect",
		[]string{"proxy/sse", "resilience/...", "github.com/tidwall/gjson", "github.com/tidwall/sjson"},
		[]string{"net/http/...", "os/...", "database/sql/..."},
		"the dialects are data and pure functions over bytes",
	},
	{
		"proxy/refusal",
		[]string{"proxy/control", "proxy/dialect", "resilience/...", "github.com/tidwall/gjson", "github.com/tidwall/sjson"},
		[]string{"os/...", "database/sql/..."},
		"what a client gets when no target answers is a value made of values, tested without a server, an upstream or a store",
	},
	{
		"proxy/sse", nil,
		[]string{"net/http/...", "os/..."},
		"frames are cut from bytes, wherever these come from",
	},
	{
		"proxy/scrub", nil,
		[]string{"net/http/...", "os/..."},
		"secrets are taken out of bytes, wherever these come from",
	},
	{
		"proxy/control",
		[]string{"resilience/...", "proxy/catalog", "proxy/dialect", "proxy/scrub", "build", "golang.org/x/sync/...", "golang.org/x/crypto/scrypt"},
		[]string{"net/http/...", "database/sql/..."},
		"the facade is plain types over the core: no transport, no database, no window",
	},
	{
		"proxy/events", append([]string{"proxy/...", "resilience/...", "build", "github.com/r3labs/sse/v2"}, wire...), nil,
		"the event stream's server half is r3labs's",
	},
	{
		"proxy/client", append([]string{"proxy/control", "proxy/dialect", "build", "github.com/r3labs/sse/v2", "gopkg.in/cenkalti/backoff.v1"}, wire...), nil,
		"the client knows the facade, the wire and how a small request is put in each dialect, nothing of the service behind it",
	},
	{
		"db/...",
		[]string{
			"db/...", "proxy/folder", "resilience/...", "proxy/control", "gorm.io/gorm/...", "github.com/glebarez/...", "modernc.org/...",
			"github.com/zalando/go-keyring", "golang.org/x/sys/...",
		},
		[]string{"net/http/..."},
		"the store implements interfaces; it never serves anybody by itself",
	},
	{
		"app",
		[]string{"app/...", "proxy/folder", "proxy/control", "proxy/client", "assets", "build", "golang.org/x/sys/..."},
		nil,
		"the desktop drives the product through the facade alone",
	},
	{
		"app/...",
		[]string{"app/i18n", "proxy/control", "assets", "build", "golang.org/x/sys/..."},
		nil,
		"the parts of the desktop know the facade, and not each other",
	},
	{
		"app/tray/...",
		[]string{
			"app/tray/...", "app/i18n", "proxy/control", "assets", "build",
			"fyne.io/systray", "github.com/godbus/dbus/v5", "golang.org/x/sys/...",
		},
		nil,
		"the tray is drawn without Fyne: it must never need a display's OpenGL",
	},
	{
		"app/notify/...",
		[]string{"app/notify/...", "app/i18n", "proxy/control", "assets", "build", "github.com/godbus/dbus/v5", "github.com/gen2brain/beeep", "golang.org/x/sys/..."},
		nil,
		"notifications go straight to the desktop, without Fyne",
	},
	{
		"app/setup",
		[]string{"proxy/folder", "github.com/pelletier/go-toml/v2/...", "github.com/tailscale/hujson", "go.yaml.in/yaml/v3", "github.com/gofrs/flock"},
		[]string{"net/http/..."},
		"the settings of other programs are edited as bytes, key by key, and read back by real parsers under the data folder's lock",
	},
	{
		"app/windows/...",
		[]string{"app/windows/...", "app/setup", "app/i18n", "proxy/control", "proxy/client", "assets", "build", "fyne.io/fyne/v2/..."},
		nil,
		"the windows live in a child process and see the product over the management API only",
	},
	{"assets/...", nil, []string{"net/http/..."}, "bytes, nothing else"},
	{"build", nil, []string{"net/http/..."}, "facts, nothing else"},
	{"build/packager", []string{"build"}, []string{"net/http/..."}, "packages are made with the standard library, on every system"},
	{
		"tests/...",
		[]string{
			"tests/...", "resilience/...", "proxy/...", "db/...", "app/...", "assets", "build",
			"github.com/...", "go.uber.org/goleak", "golang.org/x/sync/...", "golang.org/x/sys/...", "gorm.io/...", "pgregory.net/rapid",
		},
		nil,
		"the tests of the whole may look everywhere",
	},
	{
		"",
		[]string{"app/...", "proxy/folder", "proxy/...", "resilience/...", "db/...", "assets", "build"},
		nil,
		"main wires our own packages and needs no library of its own",
	},
}

// owners says who alone may import a package, tests beside the code included.
var owners = []rule{
	{"db/...", []string{"", "db/...", "tests/..."}, nil, "the store is handed to its users as an interface"},
	{"app", []string{"", "app", "tests/..."}, nil, "only main starts the desktop"},
	{"fyne.io/fyne/v2/...", []string{"app/windows/..."}, nil, "everything else must run without a display"},
	{"fyne.io/systray", []string{"app/tray/..."}, nil, "one goroutine of one package owns the tray"},
	{"gorm.io/...", []string{"db/...", "tests/..."}, nil, "SQL stays in the store"},
	{"github.com/r3labs/sse/v2", []string{"proxy/events", "proxy/client", "tests/..."}, nil, "model streams keep their bytes; this library does not keep them"},
}

// testing libraries may be imported by any test.
var testLibraries = []string{
	"github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/...",
	"go.uber.org/goleak", "pgregory.net/rapid",
}

// goPackage is the part of `go list -json` that the checks read.
type goPackage struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// A tag set is one way in which the program is built.
type tagSet struct {
	name string
	env  []string
	args []string
}

var tagSets = []tagSet{
	{"headless", []string{"CGO_ENABLED=0"}, nil},
	{"desktop", []string{"CGO_ENABLED=1"}, nil},
	{"widget tests", []string{"CGO_ENABLED=0"}, []string{"-tags", "ci"}},
	{"windows", []string{"CGO_ENABLED=1", "GOOS=windows"}, nil},
	{"macos", []string{"CGO_ENABLED=1", "GOOS=darwin"}, nil},
}

func goList(t *testing.T, set tagSet, args ...string) []goPackage {
	t.Helper()
	args = append(append([]string{"list", "-e", "-json=ImportPath,Standard,Imports,TestImports,XTestImports"}, set.args...), args...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), set.env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// ours returns an import path without the module's name; ok is false for the
// packages of others.
func ours(importPath string) (name string, ok bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func short(importPath string) string {
	if name, ok := ours(importPath); ok {
		return name
	}
	return importPath
}

// isStd reports whether a path that is not ours is the standard library's: its
// first element has no dot. cgo's "C" counts too.
func isStd(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

func match(pattern, name string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return pattern == name
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// ruleFor returns the rule with the longest pattern that fits, an exact one
// before one that covers a tree.
func ruleFor(name string) (rule, bool) {
	var best rule
	length, found := -1, false
	for _, r := range rules {
		n := 2 * len(strings.TrimSuffix(r.pkg, "/..."))
		if r.pkg == name {
			n++
		}
		if match(r.pkg, name) && n > length {
			best, length, found = r, n, true
		}
	}
	return best, found
}

// refusal says why a package may not import another, or "".
func refusal(name, imported string, inTest bool) string {
	r, ok := ruleFor(name)
	if !ok {
		return "no rule covers this package: add one to tests/arch_test.go"
	}
	target, mine := ours(imported)
	if !mine {
		target = imported
	}
	for _, o := range owners {
		if match(o.pkg, target) && (mine || !isStd(imported)) && !matchAny(o.allow, name) {
			return o.why
		}
	}
	switch {
	case inTest && (mine || isStd(imported) || matchAny(testLibraries, imported)):
		return ""
	case !mine && isStd(imported):
		if matchAny(r.denyStd, imported) {
			return r.why
		}
	case !matchAny(r.allow, target):
		return r.why
	}
	return ""
}

func TestImportDirections(t *testing.T) {
	for _, set := range tagSets {
		t.Run(set.name, func(t *testing.T) {
			for _, p := range goList(t, set, "./...") {
				name := short(p.ImportPath)
				check := func(imports []string, inTest bool) {
					for _, imported := range imports {
						if why := refusal(name, imported, inTest); why != "" {
							t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
						}
					}
				}
				check(p.Imports, false)
				check(p.TestImports, true)
				check(p.XTestImports, true)
			}
		})
	}
}

// What is linked matters as much as what is imported: these look at whole
// dependency trees.
func TestLinkedPackages(t *testing.T) {
	for _, tc := range []struct {
		name   string
		set    tagSet
		root   []string
		banned []string
		why    string
	}{
		{
			"the headless program has no window in it", tagSets[0],
			[]string{"."},
			[]string{"fyne.io/fyne/v2/...", "runtime/cgo"},
			"CGO_ENABLED=0 must give a static program for machines without a desktop",
		},
		{
			"the tray side has no Fyne in it", tagSets[1],
			[]string{"./resilience/...", "./proxy/...", "./db/...", "./app/tray/...", "./app/notify/...", "./app/i18n/..."},
			[]string{"fyne.io/fyne/v2/..."},
			"no request may depend on a display",
		},
		{
			"the core stays clear of the network", tagSets[0],
			[]string{"./resilience/..."},
			[]string{"net/...", "database/sql/...", "log/slog/..."},
			"the core is pure",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, p := range goList(t, tc.set, append([]string{"-deps"}, tc.root...)...) {
				if matchAny(tc.banned, p.ImportPath) {
					t.Errorf("%s is linked in: %s", p.ImportPath, tc.why)
				}
			}
		})
	}
}

// The checks above are only as good as their matching.
func TestRefusal(t *testing.T) {
	for _, tc := range []struct {
		name, imported string
		inTest         bool
		refused        bool
	}{
		{"resilience/breaker", module + "/resilience/clock", false, false},
		{"resilience/breaker", module + "/resilience/cooldown", false, true},
		{"resilience", module + "/resilience/cooldown", false, false},
		{"resilience/breaker", "net/http", false, true},
		{"resilience/breaker", "os", false, true},
		{"resilience/breaker", "os", true, false},
		{"resilience/breaker", "net/http/httptest", true, false},
		{"resilience/breaker", "github.com/google/go-cmp/cmp", true, false},
		{"resilience/breaker", "github.com/google/go-cmp/cmp", false, true},
		{"proxy", module + "/db", false, true},
		{"proxy", module + "/db", true, true},
		{"tests/scenario", module + "/db", true, false},
		{"", module + "/db", false, false},
		{"", "fyne.io/fyne/v2", false, true},
		{"", "gorm.io/gorm", false, true},
		{"proxy/control", "net/http", false, true},
		{"proxy/control", module + "/proxy/catalog", false, false},
		{"proxy/control", module + "/proxy/rest", false, true},
		{"proxy/rest", "net/http", false, false},
		{"proxy/refusal", module + "/proxy/dialect", false, false},
		{"proxy/refusal", module + "/proxy/upstream", false, true},
		{"proxy/refusal", module + "/proxy", false, true},
		{"proxy/relay", "github.com/r3labs/sse/v2", false, true},
		{"proxy/events", "github.com/r3labs/sse/v2", false, false},
		{"app/tray", "fyne.io/fyne/v2/theme", false, true},
		{"app/tray", "fyne.io/systray", false, false},
		{"app/windows/page", "fyne.io/fyne/v2/theme", false, false},
		{"app/windows", module + "/app", false, true},
		{"app/windows", module + "/resilience", false, true},
		{"assets", module + "/build", false, true},
		{"elsewhere", "fmt", false, true},
	} {
		if why := refusal(tc.name, tc.imported, tc.inTest); (why != "") != tc.refused {
			t.Errorf("%s importing %s (test: %v): refusal %q, want refused %v", path.Join(module, tc.name), tc.imported, tc.inTest, why, tc.refused)
		}
	}
}
