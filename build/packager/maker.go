package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// sumFile lists the SHA-256 of every package, in the form of sha256sum.
const sumFile = "SHA256SUMS"

// maker makes packages of one commit.
type maker struct {
	*source
	modules []module
	made    tree
}

// base is how the files of a platform begin.
func (m *maker) base(p platform, kind string) string {
	return strings.Join([]string{"breakwater", m.app.Version, p.String() + kind}, "-")
}

// list writes down what a program is made of, beside its packages.
func (m *maker) list(base string, program []byte) error {
	doc, err := m.sbom(program, m.modules)
	if err == nil {
		m.made.add(base+".cdx.json", doc)
	}
	return err
}

// pack adds an archive whose files lie in one folder: a zip for Windows, else
// a tar.
func (m *maker) pack(p platform, base string, t tree) error {
	t = t.under(base)
	data, err := t.tarGz("", m.when)
	name := base + ".tar.gz"
	if p.os != "linux" && p.os != "darwin" {
		data, err = t.zip(m.when)
		name = base + ".zip"
	}
	if err == nil {
		m.made.add(name, data)
	}
	return err
}

// static makes the programs without windows.
func (m *maker) static(ctx context.Context) error {
	for _, p := range static {
		if err := m.headlessOf(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// headlessOf makes the program without windows for one platform.
func (m *maker) headlessOf(ctx context.Context, p platform) error {
	program, err := m.compileStatic(ctx, p)
	if err != nil {
		return err
	}
	t, err := m.headless(p, program)
	if err != nil {
		return err
	}
	base := m.base(p, "-headless")
	return errors.Join(m.pack(p, base, t), m.list(base, program))
}

// headless is the program without windows, with what starts it at login.
func (m *maker) headless(p platform, program []byte) (tree, error) {
	t, err := m.papers("build/HEADLESS.txt")
	if err != nil {
		return nil, err
	}
	t.program("breakwater"+p.exe(), program)
	var starter, name string
	switch p.os {
	case "linux":
		starter, name = "build/linux/breakwater.service", "breakwater.service"
	case "darwin":
		starter, name = "build/macos/headless.plist", m.app.ID+".headless.plist"
	case "windows":
		for i := range t {
			if strings.HasSuffix(t[i].name, ".txt") {
				t[i].data = crlf(t[i].data)
			}
		}
		return t, nil
	}
	text, err := m.fillIn(starter, "@BIN@", "%h/.local/bin/breakwater")
	t.add(name, text)
	return t, err
}

// linux makes the desktop program's .deb and portable archive.
func (m *maker) linux(ctx context.Context, arch string) error {
	p := platform{"linux", arch}
	program, err := m.compileDesktop(ctx, p)
	if err != nil {
		return err
	}
	deb, err := m.deb(p, program)
	if err != nil {
		return err
	}
	m.made.add("breakwater_"+debVersion(m.app.Version)+"_"+arch+".deb", deb)
	t, err := m.portable(program)
	if err != nil {
		return err
	}
	base := m.base(p, "")
	return errors.Join(m.pack(p, base, t), m.list(base, program))
}

// windows makes the zip and the installer.
func (m *maker) windows(ctx context.Context) error {
	p := platform{"windows", "amd64"}
	desktop, err := m.compileDesktop(ctx, p)
	if err != nil {
		return err
	}
	console, err := m.compileStatic(ctx, p)
	if err != nil {
		return err
	}
	t, err := m.windowsTree(desktop, console)
	if err != nil {
		return err
	}
	base := m.base(p, "")
	if err := errors.Join(m.pack(p, base, t), m.list(base, desktop)); err != nil {
		return err
	}
	setup, err := m.installer(ctx, t)
	if err == nil {
		m.made.program(base+"-setup.exe", setup)
	}
	return err
}

// macos makes the bundle, on a Mac.
func (m *maker) macos(ctx context.Context) error {
	if runtime.GOOS != "darwin" {
		return fmt.Errorf("%w: the desktop program for macOS is built on a Mac", errNoCompiler)
	}
	for _, arch := range []string{"arm64", "amd64"} {
		p := platform{"darwin", arch}
		program, err := m.compileDesktop(ctx, p)
		if err != nil {
			return err
		}
		t, err := m.bundle(program)
		if err == nil {
			t, err = m.sign(ctx, t)
		}
		if err != nil {
			return err
		}
		data, err := t.zip(m.when)
		if err != nil {
			return err
		}
		base := strings.Join([]string{"breakwater", m.app.Version, "macos", arch}, "-")
		m.made.add(base+".zip", data)
		if err := m.list(base, program); err != nil {
			return err
		}
	}
	return nil
}

// checksums lists the sums of the packages in a folder.
func checksums(dir string) (string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		if !release(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&b, "%s  %s\n", hex.EncodeToString(sum[:]), e.Name())
	}
	return b.String(), nil
}
