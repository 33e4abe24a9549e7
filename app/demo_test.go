//go:build cgo || !darwin

package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDemoOutlivesItsStartAndWritesToAFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvToken, "secret")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), playVar+"=demo")
	if err := startDemo(t.Context(), cmd, dir); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error("it did not live on:", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "demo", "demo.log"))
	if err != nil || !strings.Contains(string(b), "data in "+dir) || strings.Contains(string(b), "secret") {
		t.Errorf("%q, %v", b, err)
	}
}

func TestDemoThatEndsAtOnceSaysWhy(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), playVar+"=bad demo")
	if err := startDemo(t.Context(), cmd, t.TempDir()); err == nil || err.Error() != "the database is damaged" {
		t.Error(err)
	}
	running := exec.CommandContext(t.Context(), os.Args[0])
	running.Env = append(os.Environ(), playVar+"=fine")
	if err := startDemo(t.Context(), running, t.TempDir()); err != nil {
		t.Error("one that runs already was brought to front: ", err)
	}
}

func TestWithoutDropsWholeNames(t *testing.T) {
	got := without([]string{"A=1", "AB=2", "B=3", "BREAKWATER_TOKEN=x"}, "A", "BREAKWATER_TOKEN")
	if !slices.Equal(got, []string{"AB=2", "B=3"}) {
		t.Error(got)
	}
}
