package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// platform is one system and architecture, by Go's names.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// exe is the ending of programs.
func (p platform) exe() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// Programs may not grow without anybody noticing: these stop the build, in
// bytes.
const (
	maxStatic  = 20 << 20
	maxDesktop = 40 << 20
)

// static are the platforms of the program without windows; Go alone builds it.
var static = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
}

// link are the linker's flags: no symbols, no build id, and the facts that
// `breakwater version` prints.
func (s *source) link(extra ...string) string {
	return strings.Join(append([]string{
		"-s", "-w", "-buildid=",
		"-X", "breakwater/build.Commit=" + s.commit,
		"-X", "breakwater/build.Date=" + s.when.Format(time.RFC3339),
	}, extra...), " ")
}

// compileStatic builds the program without windows.
func (s *source) compileStatic(ctx context.Context, p platform) ([]byte, error) {
	if err := s.embedResources(p); err != nil {
		return nil, err
	}
	env := []string{"CGO_ENABLED=0"}
	return s.compile(ctx, p, env, maxStatic, "-ldflags", s.link())
}

// compileDesktop builds the program with tray and windows. It needs a C
// compiler for the platform; the one of CC, or else the usual name.
func (s *source) compileDesktop(ctx context.Context, p platform) ([]byte, error) {
	cc, err := compiler(p)
	if err != nil {
		return nil, err
	}
	if err := s.embedResources(p); err != nil {
		return nil, err
	}
	env := []string{"CGO_ENABLED=1"}
	if cc != "" {
		env = append(env, "CC="+cc)
	}
	flags := s.link()
	if p.os == "windows" {
		flags = s.link("-H=windowsgui") // no console flashes up
	}
	if p.os == "linux" && p.arch != runtime.GOARCH && os.Getenv("PKG_CONFIG_LIBDIR") == "" {
		env = append(env, "PKG_CONFIG_LIBDIR=/usr/lib/"+triplets[p]+"/pkgconfig:/usr/share/pkgconfig")
	}
	// The tag leaves out Fyne's checks of who calls it, which are for tests.
	return s.compile(ctx, p, env, maxDesktop, "-tags", "migrated_fynedo", "-ldflags", flags)
}

// triplets are the names of C's platforms.
var triplets = map[platform]string{
	{"linux", "amd64"}:   "x86_64-linux-gnu",
	{"linux", "arm64"}:   "aarch64-linux-gnu",
	{"windows", "amd64"}: "x86_64-w64-mingw32",
}

// errNoCompiler tells that this machine cannot build a desktop program.
var errNoCompiler = errors.New("no C compiler for it here")

// compiler returns the C compiler to name to Go, or "" for Go's own choice.
func compiler(p platform) (string, error) {
	if cc := os.Getenv("CC"); cc != "" {
		return cc, nil
	}
	switch {
	case p.os == runtime.GOOS && (p.arch == runtime.GOARCH || p.os == "darwin"):
		return "", nil
	case p.os == "darwin":
		return "", fmt.Errorf("%s: %w: the desktop program for macOS is built on a Mac", p, errNoCompiler)
	}
	cc := triplets[p] + "-gcc"
	if _, err := exec.LookPath(cc); triplets[p] == "" || err != nil {
		return "", fmt.Errorf("%s: %w: %s is not installed", p, errNoCompiler, cc)
	}
	return cc, nil
}

// compile runs go build so that the result depends on the commit, the toolchain
// and nothing else, and returns the program.
func (s *source) compile(ctx context.Context, p platform, env []string, limit int, flags ...string) ([]byte, error) {
	name := filepath.Join(s.dir, ".out", "breakwater"+p.exe())
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", name}, flags...)
	env = append(env, "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOWORK=off")
	if dir := s.cache(); dir != "" {
		env = append(env, "GOCACHE="+dir)
	}
	began := time.Now()
	if _, err := output(ctx, s.dir, env, "go", append(args, ".")...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	say("built %s, %.1f MB, in %.0f s", p, float64(len(data))/1e6, time.Since(began).Seconds())
	if len(data) > limit {
		return nil, fmt.Errorf("%s: the program has %d bytes, more than the %d it may have", p, len(data), limit)
	}
	return data, nil
}

// embedResources puts icon, manifest and version beside main.go, where the
// linker takes them from, for the architecture that is built next.
func (s *source) embedResources(p platform) error {
	old, err := filepath.Glob(filepath.Join(s.dir, "*.syso"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if p.os != "windows" {
		return nil
	}
	object, err := s.resources(p.arch)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "resources_windows_"+p.arch+".syso"), object, 0o600)
}
