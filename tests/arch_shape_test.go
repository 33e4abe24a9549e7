package tests

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxLines bounds a file of the program, maxTestLines one of its tests.
const maxLines, maxTestLines = 400, 600

// topLevel is everything the root may hold: one folder a concern, and the
// files that tools look for there.
var topLevel = []string{
	"app", "proxy", "resilience", "db", "folder", "assets", "build", "tests",
	".ci", ".github", ".gitignore", ".gitattributes", ".golangci.yml",
	"go.mod", "go.sum", "FyneApp.toml",
	"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE",
}

// sourceFiles returns the repository's files as git knows them, new ones that
// are not ignored included, with slashes and relative to the root.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("this is no git checkout (%v): nothing to compare with", err)
	}
	var files []string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(filepath.Join("..", name)); err == nil { // not deleted
			files = append(files, name)
		}
	}
	return files
}

func goFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(sourceFiles(t), func(name string) bool {
		return !strings.HasSuffix(name, ".go") || strings.Contains(name, "/testdata/")
	})
}

func readSource(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTopLevelHoldsOnlyWhatTheMapNames(t *testing.T) {
	for _, name := range sourceFiles(t) {
		first, _, _ := strings.Cut(name, "/")
		// main.go and its companions: flags, and one file a build tag.
		if first == name && strings.HasSuffix(name, ".go") {
			continue
		}
		if !slices.Contains(topLevel, first) {
			t.Errorf("%s: the top level holds only %s and main's own files", name, strings.Join(topLevel, " "))
		}
	}
}

func TestFilesStayReadable(t *testing.T) {
	for _, name := range goFiles(t) {
		limit := maxLines
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "facadetest/") {
			limit = maxTestLines
		}
		if n := bytes.Count(readSource(t, name), []byte("\n")); n > limit {
			t.Errorf("%s has %d lines; at %d a file is split", name, n, limit)
		}
	}
}

// endOfSentence is a full stop with another sentence behind it.
var endOfSentence = regexp.MustCompile(`[.?!]\s+[A-Z]`)

func TestEveryPackageHasOneSentence(t *testing.T) {
	type pack struct{ files, tests, comments []string }
	packs := map[string]*pack{}
	for _, name := range goFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), name, readSource(t, name), parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			continue
		}
		p := packs[path.Dir(name)]
		if p == nil {
			p = &pack{}
			packs[path.Dir(name)] = p
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, name)
		} else {
			p.files = append(p.files, name)
		}
		if f.Doc == nil {
			continue
		}
		p.comments = append(p.comments, name)
		text := strings.TrimSpace(f.Doc.Text())
		if !strings.HasSuffix(text, ".") || endOfSentence.MatchString(text) {
			t.Errorf("%s: the package comment is one sentence; it reads %q", name, text)
		}
	}
	for dir, p := range packs {
		if len(p.comments) != 1 {
			t.Errorf("%s has %d package comments %v, want exactly one", dir, len(p.comments), p.comments)
		} else if len(p.files) > 0 && slices.Contains(p.tests, p.comments[0]) {
			t.Errorf("%s: the package comment stands in a test file", dir)
		}
	}
}

// waiting are the packages of the core that measure spans of the running
// process: they use plain monotonic time, and their tests a synctest bubble.
var waiting = []string{"resilience/clock/", "resilience/admission/", "resilience/watchdog/"}

// Deadlines are compared with the injected clock, so that tests can hold it
// and a restart can replay it.
func TestTheCoreTakesTheTimeFromItsClock(t *testing.T) {
	banned := []string{"Now", "Since", "Until"}
	for _, name := range goFiles(t) {
		apart := slices.ContainsFunc(waiting, func(dir string) bool { return strings.HasPrefix(name, dir) })
		if !strings.HasPrefix(name, "resilience/") || apart || strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, readSource(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(banned, sel.Sel.Name) {
				t.Errorf("%s: time.%s; take the time from clock.Clock, or as a parameter", set.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

// declaration is what a document may point at by line.
var declaration = regexp.MustCompile(`^(var|func|type|const) `)

// sourceRef is a file of the repository in a document, with a line number or
// without: `proxy/catalog/providers.go:12`.
var sourceRef = regexp.MustCompile("`((?:app|proxy|resilience|db|assets|build|tests|main|\\.ci|\\.github)(?:/[A-Za-z0-9_./-]+)?)(?::(\\d+))?`")

func TestDocumentsNameFilesThatExist(t *testing.T) {
	for _, doc := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"} {
		for _, m := range sourceRef.FindAllStringSubmatch(string(readSource(t, doc)), -1) {
			name := m[1]
			if name == "main" { // the package
				continue
			}
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names %s, which does not exist", doc, name)
				continue
			}
			if m[2] == "" {
				continue
			}
			line, err := strconv.Atoi(m[2])
			if lines := bytes.Split(readSource(t, name), []byte("\n")); err != nil || line < 1 || line > len(lines) {
				t.Errorf("%s names %s:%s, which has %d lines", doc, name, m[2], len(lines))
			} else if !declaration.Match(lines[line-1]) {
				t.Errorf("%s names %s:%s, where nothing is declared: %q", doc, name, m[2], lines[line-1])
			}
		}
	}
}
