package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"breakwater/build"
)

// The list that the program carries is that of the modules it links today.
// After a change of go.mod: build/package licences.
func TestLicenceFileIsCurrent(t *testing.T) {
	modules, err := linkedModules(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if modules, err = withFonts(modules, "../.."); err != nil {
		t.Fatal(err)
	}
	if build.Licences() != licenceText(modules) {
		t.Errorf("%s is not what the linked modules say: run build/package licences", licenceFile)
	}
}

func TestIdentify(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"MIT":     {"Permission is hereby granted, free\nof charge, to any person  obtaining a copy", "MIT"},
		"BSD 3":   {"Redistributions in binary form must reproduce\n ... Neither the name of", "BSD-3-Clause"},
		"BSD 2":   {"2. Redistributions in binary form must\n// reproduce the above", "BSD-2-Clause"},
		"Apache":  {"   Apache License\n  Version 2.0", "Apache-2.0"},
		"unknown": {"All rights reserved.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := identify(tc.text)
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("identify = %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

// What covers a linked package counts; examples, tests and packages that are
// not linked do not.
func TestLicencesOfWhatIsLinked(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const mit = "Permission is hereby granted, free of charge, to any person obtaining"
	const zlib = "This software is provided 'as-is', without any express or implied"
	put("LICENSE", mit)
	put("licence.go", "package m")
	put("linked/LICENSE.md", zlib+"\r\n")
	put("linked/a.go", "package linked")
	put("linked/c/COPYING", mit+" \n")
	put("linked/testdata/LICENSE", "whatever")
	put("other/LICENSE", "GNU GENERAL PUBLIC LICENSE")
	put("other/a.go", "package other")
	m := module{Path: "m", Dir: dir, packages: []string{filepath.Join(dir, "linked")}}
	if err := m.readLicences(); err != nil {
		t.Fatal(err)
	}
	if got := m.id(); got != "MIT AND Zlib" {
		t.Errorf("licence %q", got)
	}
	text := licenceText([]module{m})
	if n := strings.Count(text, mit); n != 1 {
		t.Errorf("the same text stands %d times", n)
	}
	if !strings.Contains(text, "m (LICENSE)\nm (linked/c/COPYING)") {
		t.Errorf("the text does not name both of its files:\n%s", text)
	}

	m = module{Path: "m", Dir: dir, packages: []string{filepath.Join(dir, "other")}}
	if err := m.readLicences(); err == nil || !strings.Contains(err.Error(), "cannot be kept") {
		t.Errorf("a licence that cannot be kept: %v", err)
	}
	if runtime.GOOS != "windows" { // where folders have another separator
		m = module{Path: "m", Dir: filepath.Join(dir, "linked", "testdata", "none")}
		if err := os.MkdirAll(m.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := m.readLicences(); err == nil {
			t.Error("a module without a licence was accepted")
		}
	}
}
