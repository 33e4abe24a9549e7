package build

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadApp(t *testing.T) {
	got, err := ReadApp(`
# a comment
Description = "Says = \"this\""
[Details]
  Icon = "i.png"
  Name = "N"
  ID = "a.b.c"
  Version = "1.2.3-rc.1"
  Build = 7
[Unknown]
  Name = "elsewhere"
[LinuxAndBSD]
  GenericName = "G"
  Categories = ["One", "Two"]
  Comment = "C"
  Keywords = []
`)
	if err != nil {
		t.Fatal(err)
	}
	want := App{
		Name: "N", ID: "a.b.c", Version: "1.2.3-rc.1", Build: 7, Icon: "i.png", Description: `Says = "this"`,
		GenericName: "G", Comment: "C", Categories: []string{"One", "Two"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadAppRefuses(t *testing.T) {
	for name, toml := range map[string]string{
		"nothing":             "",
		"a line without sign": "[Details]\nName",
		"no version":          "[Details]\nName = \"N\"\nID = \"i\"\nIcon = \"p\"",
		"a word as build":     "[Details]\nName = \"N\"\nID = \"i\"\nIcon = \"p\"\nVersion = \"1\"\nBuild = x",
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := ReadApp(toml); err == nil {
				t.Errorf("ReadApp = %+v, want an error", a)
			}
		})
	}
}

// The repository's own file: everything that packages are made from is there.
func TestFyneAppTOML(t *testing.T) {
	b, err := os.ReadFile("../FyneApp.toml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := ReadApp(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`).MatchString(a.Version) {
		t.Errorf("version %q is no semantic version", a.Version)
	}
	if a.Build < 1 || a.Description == "" || a.Comment == "" || len(a.Categories) != 1 || len(a.Keywords) == 0 {
		t.Errorf("incomplete: %+v", a)
	}
	if _, err := os.Stat(filepath.Join("..", a.Icon)); err != nil {
		t.Error(err)
	}
}

func FuzzReadApp(f *testing.F) {
	f.Add("[Details]\nName = \"N\"\nID = \"i\"\nVersion = \"1\"\nIcon = \"p\"\nBuild = 2")
	f.Add("[\n]\n=\n[]=[]\nKeywords = [\"a\", ]")
	f.Fuzz(func(t *testing.T, toml string) {
		if a, err := ReadApp(toml); err == nil && (a.Name == "" || a.Version == "") {
			t.Errorf("accepted without name or version: %+v", a)
		}
	})
}
