package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/build"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// work is the work tree as a source: what would be the next commit.
func work(t *testing.T) *source {
	t.Helper()
	s := &source{dir: filepath.Join("..", ".."), commit: strings.Repeat("ab", 20), when: noon}
	toml, err := s.read("FyneApp.toml")
	if err != nil {
		t.Fatal(err)
	}
	if s.app, err = build.ReadApp(string(toml)); err != nil {
		t.Fatal(err)
	}
	return s
}

// self is this test program: a real one, of the system it runs on.
func self(t *testing.T) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// listTar returns the names in a tar.gz, in order, with their modes and owners
// checked.
func listTar(t *testing.T, packed []byte) (names []string, files map[string][]byte) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(noon) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s is of %v and belongs to %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		files[h.Name] = data
	}
}

func TestArchivesDependOnTheContentAlone(t *testing.T) {
	var one, other tree
	one.add("b/two", []byte("2"))
	one.program("a", []byte("1"))
	other.program("a", []byte("1"))
	other.add("b/two", []byte("2"))
	for name, packed := range map[string]func(tree) ([]byte, error){
		"tar": func(t tree) ([]byte, error) { return t.tarGz("./", noon) },
		"zip": func(t tree) ([]byte, error) { return t.zip(noon) },
	} {
		x, errX := packed(one)
		y, errY := packed(other)
		if err := errors.Join(errX, errY); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s: the order of gathering shows", name)
		}
	}
	packed, err := one.tarGz("./", noon)
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := listTar(t, packed); !slices.Equal(names, []string{"./", "./b/", "./a", "./b/two"}) {
		t.Errorf("tar holds %q", names)
	}
	if packed, err = one.under("dir").zip(noon); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 2 || z.File[0].Name != "dir/a" || z.File[0].Mode() != 0o755 || z.File[1].Mode() != 0o644 || !z.File[0].Modified.Equal(noon) {
		t.Errorf("zip holds %+v", z.File)
	}
}

func TestSameFindsTheDifference(t *testing.T) {
	a := tree{{name: "x", data: []byte("1")}, {name: "y", data: []byte("2")}}
	if err := same(a, tree{a[1], a[0]}); err != nil {
		t.Error(err)
	}
	for name, b := range map[string]tree{
		"a byte":  {{name: "x", data: []byte("1")}, {name: "y", data: []byte("3")}},
		"a name":  {{name: "x", data: []byte("1")}, {name: "z", data: []byte("2")}},
		"missing": {{name: "x", data: []byte("1")}},
	} {
		if err := same(a, b); err == nil {
			t.Errorf("%s: no difference found", name)
		}
	}
}

func TestDeb(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program in a .deb is an ELF file")
	}
	s := work(t)
	deb, err := s.deb(platform{"linux", "amd64"}, self(t))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string][]byte{}
	rest, ok := bytes.CutPrefix(deb, []byte("!<arch>\n"))
	for ok && len(rest) >= 60 {
		name := strings.TrimSpace(string(rest[:16]))
		size := 0
		for _, c := range strings.TrimSpace(string(rest[48:58])) {
			size = size*10 + int(c-'0')
		}
		members[name] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	if string(members["debian-binary"]) != "2.0\n" || len(rest) > 0 {
		t.Fatalf("this is no .deb: %d members, %d bytes left", len(members), len(rest))
	}
	_, control := listTar(t, members["control.tar.gz"])
	for _, want := range []string{"Package: breakwater\n", "\nVersion: " + s.app.Version + "\n", "\nArchitecture: amd64\n", "libx11-6", "debconf"} {
		if !strings.Contains(string(control["./control"]), want) {
			t.Errorf("control lacks %q:\n%s", want, control["./control"])
		}
	}
	names, data := listTar(t, members["data.tar.gz"])
	for _, want := range []string{
		"./usr/bin/breakwater", "./usr/share/applications/" + s.app.ID + ".desktop", "./usr/lib/systemd/user/breakwater.service",
		"./usr/share/icons/hicolor/scalable/apps/" + s.app.ID + ".svg", "./usr/share/doc/breakwater/copyright", "./usr/share/man/man1/breakwater.1.gz",
	} {
		if len(data[want]) == 0 {
			t.Errorf("%s is missing", want)
		}
	}
	for _, n := range names {
		if strings.Contains(n, "autostart") || strings.Contains(n, "/etc/") {
			t.Errorf("%s: nothing may start by itself", n)
		}
	}
	sums := strings.Count(string(control["./md5sums"]), "\n")
	if files := len(slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "/") })); sums != files {
		t.Errorf("%d sums for %d files", sums, files)
	}
}

func TestDesktopEntry(t *testing.T) {
	s := work(t)
	text := string(s.desktopEntry())
	for _, want := range []string{"Name=" + s.app.Name + "\n", "Icon=" + s.app.ID + "\n", "Exec=breakwater\n", "Categories=Development;\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Every text that a package fills in knows all its facts.
func TestTemplatesAreComplete(t *testing.T) {
	s := work(t)
	for name, more := range map[string][]string{
		"build/linux/deb/preinst": nil, "build/linux/deb/postinst": nil, "build/linux/deb/prerm": nil, "build/linux/deb/postrm": nil,
		"build/linux/breakwater.1": nil, "build/linux/breakwater.service": {"@BIN@", "/usr/bin/breakwater"},
		"build/windows/installer.nsi": {"@KILOBYTES@", "1"}, "build/windows/app.manifest": nil, "build/macos/headless.plist": nil,
		"build/linux/PORTABLE.txt": nil, "build/windows/README.txt": nil, "build/HEADLESS.txt": nil,
	} {
		text, err := s.fillIn(name, more...)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(text, []byte("\r")) {
			t.Errorf("%s has foreign line ends", name)
		}
	}
	if _, err := s.fillIn("build/linux/breakwater.service"); err == nil || !strings.Contains(err.Error(), "@BIN@") {
		t.Errorf("an unknown fact was not noticed: %v", err)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]struct{ quad, deb string }{
		"1.2.3":      {"1.2.3.4", "1.2.3"},
		"1.2.3-rc.1": {"1.2.3.4", "1.2.3~rc.1"},
		"1":          {"1.0.0.4", "1"},
	} {
		if got := strings.Join(quad(build.App{Version: version, Build: 4}), "."); got != want.quad {
			t.Errorf("%s: quad %s", version, got)
		}
		if got := debVersion(version); got != want.deb {
			t.Errorf("%s: Debian %s", version, got)
		}
	}
}

func TestLater(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"2.4", "", true},
		{"2.34", "2.4", true},
		{"2.4", "2.34", false},
		{"2.2.5", "2.2", true},
		{"2.2", "2.2.5", false},
		{"2.2", "2.2", false},
		{"PRIVATE", "2.2", false},
	} {
		if got := later(tc.a, tc.b); got != tc.want {
			t.Errorf("%q after %q: %v", tc.a, tc.b, got)
		}
	}
}

// The list is made from what the linker left in a program: this test's own.
func TestSBOM(t *testing.T) {
	s := work(t)
	modules := []module{{Path: "std", licences: []licence{{id: "BSD-3-Clause"}}}, {Path: "github.com/google/go-cmp", licences: []licence{{id: "BSD-3-Clause"}}}}
	first, err := s.sbom(self(t), modules)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.sbom(self(t), modules)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same program has another list the second time (%v)", err)
	}
	var doc bom
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || len(doc.Components) == 0 || len(doc.Dependencies[0].DependsOn) != len(doc.Components) {
		t.Errorf("incomplete: %s", first)
	}
	if c := doc.Components[0]; c.Name != "std" || c.PURL != "pkg:golang/std@"+strings.TrimPrefix(runtime.Version(), "go") || c.Licences[0].Expression != "BSD-3-Clause" {
		t.Errorf("Go itself: %+v", c)
	}
	if _, err := s.sbom([]byte("no program"), modules); err == nil {
		t.Error("a list was made of nothing")
	}
}

func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir, tree{{name: "breakwater-1.zip", data: []byte("abc")}}); err != nil {
		t.Fatal(err)
	}
	// A second run into the same folder adds to the list.
	if err := write(dir, tree{{name: "breakwater-0.zip", data: nil}}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, sumFile))
	if err != nil {
		t.Fatal(err)
	}
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  breakwater-0.zip\n" +
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  breakwater-1.zip\n"
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	if err := w.WriteHeader(&tar.Header{Name: "../outside", Typeflag: tar.TypeReg, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unpack(buf.Bytes(), t.TempDir()); err == nil {
		t.Error("a file outside the folder was written")
	}
}

func TestTargetsByName(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  int // 0: refused
	}{
		{nil, len(targets)},
		{[]string{"windows"}, 1},
		{[]string{"static-linux-arm64", "linux-amd64"}, 2},
		{[]string{"static-plan9-arm64"}, 0},
		{[]string{"everything"}, 0},
	} {
		got, err := named(tc.names)
		if len(got) != tc.want || (err != nil) != (tc.want == 0) {
			t.Errorf("%q: %d targets, %v", tc.names, len(got), err)
		}
	}
}
