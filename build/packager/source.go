package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"breakwater/build"
)

// source is one commit, written out in a folder of its own: what is not
// committed cannot slip into a package, and every build of a commit sees the
// same files.
type source struct {
	dir    string
	commit string
	when   time.Time // of the commit: the time of everything in the packages
	app    build.App
	fresh  bool // compile everything anew, out of a cache of its own
}

// checkout writes HEAD of the repository into a new folder. version, when not
// empty, replaces the one of FyneApp.toml there.
func checkout(ctx context.Context, repo, version string) (*source, error) {
	commit, err := output(ctx, repo, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("packages are made from a commit: %w", err)
	}
	seconds, err := output(ctx, repo, nil, "git", "log", "-1", "--format=%ct", commit)
	if err != nil {
		return nil, err
	}
	if fixed := os.Getenv("SOURCE_DATE_EPOCH"); fixed != "" {
		seconds = fixed
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the time of the commit: %w", err)
	}
	dir, err := os.MkdirTemp("", "breakwater-package-")
	if err != nil {
		return nil, err
	}
	s := &source{dir: dir, commit: commit, when: time.Unix(unix, 0).UTC()}
	if err := s.fill(ctx, repo, version); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// cache is where go keeps what it has compiled, empty for the usual place.
func (s *source) cache() string {
	if s.fresh {
		return filepath.Join(s.dir, ".out", "cache")
	}
	return ""
}

func (s *source) remove() error { return os.RemoveAll(s.dir) }

func (s *source) fill(ctx context.Context, repo, version string) error {
	cmd := exec.CommandContext(ctx, "git", "archive", "--format=tar", s.commit)
	cmd.Dir = repo
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	packed, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git archive: %w\n%s", err, complaint.String())
	}
	if err := unpack(packed, s.dir); err != nil {
		return err
	}
	toml, err := s.read("FyneApp.toml")
	if err != nil {
		return err
	}
	if version != "" {
		toml = versionLine.ReplaceAll(toml, []byte("${1}"+strconv.Quote(version)))
		if err := os.WriteFile(filepath.Join(s.dir, "FyneApp.toml"), toml, 0o600); err != nil {
			return err
		}
	}
	s.app, err = build.ReadApp(string(toml))
	return err
}

var versionLine = regexp.MustCompile(`(?m)^(\s*Version\s*=\s*)"[^"]*"`)

// unpack writes a tar of folders and plain files below dir.
func unpack(packed []byte, dir string) error {
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("git archive: %w", err)
		}
		if !filepath.IsLocal(filepath.FromSlash(h.Name)) && h.Typeflag != tar.TypeXGlobalHeader {
			return fmt.Errorf("git archive: %q leads out of the folder", h.Name)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			err = writeFrom(path, r, h.FileInfo().Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
}

func writeFrom(path string, r io.Reader, mode os.FileMode) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}

// read returns a file of the commit.
func (s *source) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
}

// fillIn reads a template of the commit and puts the facts in: @VERSION@ and
// its like.
func (s *source) fillIn(name string, more ...string) ([]byte, error) {
	text, err := s.read(name)
	if err != nil {
		return nil, err
	}
	pairs := append([]string{
		"@NAME@", s.app.Name, "@ID@", s.app.ID, "@VERSION@", s.app.Version,
		"@QUAD@", strings.Join(quad(s.app), "."), "@DEBVERSION@", debVersion(s.app.Version),
		"@DESCRIPTION@", s.app.Description, "@DATE@", s.when.Format(time.DateOnly),
	}, more...)
	out := strings.NewReplacer(pairs...).Replace(string(text))
	if left := placeholder.FindString(out); left != "" {
		return nil, fmt.Errorf("%s: nothing is known for %s", name, left)
	}
	return []byte(out), nil
}

var placeholder = regexp.MustCompile(`@[A-Z]{2,}@`)

// quad is the version in the four numbers that Windows wants, the last being
// the build.
func quad(a build.App) []string {
	numbers, _, _ := strings.Cut(a.Version, "-")
	parts := strings.Split(numbers, ".")
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return append(parts[:3], strconv.Itoa(a.Build))
}

// debVersion is the version as Debian sorts it: 1.0.0~rc.1 before 1.0.0.
func debVersion(version string) string { return strings.Replace(version, "-", "~", 1) }
