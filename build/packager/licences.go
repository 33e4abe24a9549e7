package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile is where the collected texts are kept, relative to the root.
const licenceFile = "build/licences.txt.gz"

// module is one dependency that is linked into the program on some system.
type module struct {
	Path, Version, Dir string
	packages           []string // folders of the linked packages
	licences           []licence
}

// licence is one text that came with a module.
type licence struct {
	file string // relative to the module's root
	id   string // SPDX
	text string
}

// id returns the module's licence as an SPDX expression.
func (m module) id() string {
	var ids []string
	for _, l := range m.licences {
		if !slices.Contains(ids, l.id) {
			ids = append(ids, l.id)
		}
	}
	return strings.Join(ids, " AND ")
}

// licenceName is how files with licence texts are called. (LICENSE-LOGO of
// modernc.org speaks of a picture that is linked nowhere.)
var licenceName = regexp.MustCompile(`(?i)^([a-z]+-)?(licen[sc]e|copying|notice|patents|ofl)([-._].*)?$`)

// spdx tells licences apart by words that only they have; the first that fits
// wins.
var spdx = []struct{ id, words string }{
	{"LicenseRef-Bitstream-Vera", "Bitstream Vera is a trademark of Bitstream"},
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"LGPL-3.0-only", "GNU LESSER GENERAL PUBLIC LICENSE"},
	{"GPL-3.0-only", "GNU GENERAL PUBLIC LICENSE"},
	{"OFL-1.1", "SIL OPEN FONT LICENSE"},
	{"Unlicense", "free and unencumbered software"},
	{"CC-BY-4.0", "Creative Commons Attribution 4.0"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-3-Clause", "names of its contributors"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining"},
	{"Zlib", "This software is provided 'as-is', without any express or implied"},
	{"blessing", "The author disclaims copyright to this source code"},
	{"LicenseRef-Go-Patents", "Additional IP Rights Grant (Patents)"},
	{"LicenseRef-Public-Domain", "Is Public Domain"},
	{"LicenseRef-Public-Domain", "into the public domain"},
}

// refused are licences whose terms a static program under the MIT licence
// cannot keep; one of them stops the build.
var refused = []string{"LGPL-3.0-only", "GPL-3.0-only"}

// spaces is what may stand between words.
var spaces = regexp.MustCompile(`[\s#*/]+`)

// identify returns the SPDX id of a text, or an error for an unknown one.
func identify(text string) (string, error) {
	flat := func(s string) string { return strings.ToLower(spaces.ReplaceAllString(s, " ")) }
	text = flat(text)
	for _, s := range spdx {
		if strings.Contains(text, flat(s.words)) {
			return s.id, nil
		}
	}
	return "", errors.New("nobody has said yet which licence this is")
}

// linkedModules returns the modules that the program is made of on any system,
// with and without a desktop, and their licences, sorted by path. The Go
// distribution itself is the first.
func linkedModules(ctx context.Context, root string) ([]module, error) {
	found := map[string]*module{}
	for _, system := range []string{"linux", "windows", "darwin"} {
		if err := listModules(ctx, root, system, found); err != nil {
			return nil, err
		}
	}
	goroot, err := output(ctx, root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// Its version is the toolchain's of the day: it stands in the program, not
	// in a list that is kept.
	all := []module{{Path: "std", Dir: goroot}}
	for _, m := range found {
		all = append(all, *m)
	}
	slices.SortFunc(all[1:], func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	for i := range all {
		if err := all[i].readLicences(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// listModules adds the modules of the desktop program of one system; what the
// static one links is part of that.
func listModules(ctx context.Context, root, system string, found map[string]*module) error {
	env := []string{"GOOS=" + system, "GOARCH=amd64", "CGO_ENABLED=1", "GOFLAGS="}
	out, err := output(ctx, root, env, "go", "list", "-deps", "-json=Dir,Module", ".")
	if err != nil {
		return err
	}
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("list of packages: %w", err)
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := found[p.Module.Path]
		if m == nil {
			m = &module{Path: p.Module.Path, Version: p.Module.Version, Dir: p.Module.Dir}
			found[m.Path] = m
		}
		if !slices.Contains(m.packages, p.Dir) {
			m.packages = append(m.packages, p.Dir)
		}
	}
}

// readLicences reads the texts that cover what is linked of the module.
func (m *module) readLicences() error {
	err := filepath.WalkDir(m.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			// Below the Go distribution's root lies nothing new, and much of it.
			if path != m.Dir && (m.Path == "std" || d.Name() == "testdata" || d.Name() == "cmd" || d.Name() == "vendor") {
				return fs.SkipDir
			}
			return nil
		case !licenceName.MatchString(d.Name()) || strings.HasSuffix(d.Name(), ".go") || d.Name() == "LICENSE-LOGO" || !m.covers(filepath.Dir(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.Dir, path)
		if err != nil {
			return err
		}
		id, err := identify(string(text))
		if err != nil {
			return fmt.Errorf("%s of %s: %w", name, m.Path, err)
		}
		if slices.Contains(refused, id) {
			return fmt.Errorf("%s of %s: its licence %s cannot be kept by this program", name, m.Path, id)
		}
		m.licences = append(m.licences, licence{filepath.ToSlash(name), id, tidy(text)})
		return nil
	})
	if err == nil && len(m.licences) == 0 {
		err = fmt.Errorf("%s %s has no licence file", m.Path, m.Version)
	}
	return err
}

// covers reports whether the licence in a folder covers something linked: a
// folder above a linked package, the package itself, or one of its own that
// holds no other package (C sources, fonts).
func (m *module) covers(dir string) bool {
	if dir == m.Dir {
		return true
	}
	for _, p := range m.packages {
		if p == dir || strings.HasPrefix(p, dir+string(filepath.Separator)) {
			return true
		}
	}
	goFiles, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(goFiles) > 0 {
		return false
	}
	return slices.Contains(m.packages, filepath.Dir(dir))
}

// tidy removes what differs without meaning: line ends and space behind lines.
func tidy(text []byte) string {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}

// rule separates the texts.
var rule = strings.Repeat("=", 78)

// withFonts adds what the program holds that is no module: the faces in the
// windows' folder.
func withFonts(modules []module, root string) ([]module, error) {
	font := module{Path: "Noto Sans Devanagari", Version: "2.001", Dir: filepath.Join(root, "app", "windows", "fonts")}
	if err := font.readLicences(); err != nil {
		return nil, err
	}
	return append(slices.Clone(modules), font), nil
}

// licenceText is the whole file: a list, then each text once with the modules
// that it came with.
func licenceText(modules []module) string {
	var b strings.Builder
	b.WriteString("Breakwater is made of the following, on one system or another. Its own licence\nis the MIT licence. The texts stand below the list; the source of each part is at\nhttps://pkg.go.dev/NAME@VERSION.\n\n")
	var texts []string
	users := map[string][]string{}
	for _, m := range modules {
		name := strings.TrimSpace(m.Path + " " + m.Version)
		if m.Path == "std" {
			name = "Go's standard library and runtime"
		}
		fmt.Fprintf(&b, "%s: %s\n", name, m.id())
		for _, l := range m.licences {
			if users[l.text] == nil {
				texts = append(texts, l.text)
			}
			if l.file != "" {
				users[l.text] = append(users[l.text], name+" ("+l.file+")")
			}
		}
	}
	for _, t := range texts {
		b.WriteString("\n" + rule + "\n" + strings.Join(users[t], "\n") + "\n" + rule + "\n\n" + t)
	}
	return b.String()
}
