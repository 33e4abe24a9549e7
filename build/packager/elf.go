package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// debOf names the Debian package of each library that the program may name. One
// that is not listed stops the build, so that a new dependency is seen.
var debOf = map[string]string{
	"libc.so.6": "libc6", "libm.so.6": "libc6", "libpthread.so.0": "libc6", "libdl.so.2": "libc6", "librt.so.1": "libc6",
	"ld-linux-x86-64.so.2": "libc6", "ld-linux-aarch64.so.1": "libc6",
	"libGL.so.1": "libgl1", "libGLESv2.so.2": "libgles2", "libEGL.so.1": "libegl1",
	"libwayland-client.so.0": "libwayland-client0", "libwayland-cursor.so.0": "libwayland-cursor0", "libwayland-egl.so.1": "libwayland-egl1",
	"libxkbcommon.so.0": "libxkbcommon0",
	"libX11.so.6":       "libx11-6",
}

// loaded are the packages whose libraries the window opens by name while it
// runs: its list of needed libraries does not hold them.
var loaded = []string{"libegl1", "libx11-6", "libxcursor1", "libxext6", "libxi6", "libxinerama1", "libxrandr2"}

// depends returns what a Debian package of the program depends on: the packages
// of the libraries it names, libc6 in the oldest version that has all functions
// it uses, and the libraries it opens while it runs.
func depends(program []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("the program is no ELF file: %w", err)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return "", fmt.Errorf("libraries of the program: %w", err)
	}
	symbols, err := f.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) { // a static program has none
		return "", fmt.Errorf("functions of the program: %w", err)
	}
	out := slices.Clone(loaded)
	for _, l := range libraries {
		p := debOf[l]
		if p == "" {
			return "", fmt.Errorf("nobody has said yet which package has %s", l)
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	newest := ""
	for _, s := range symbols {
		if v, ok := strings.CutPrefix(s.Version, "GLIBC_"); ok && later(v, newest) {
			newest = v
		}
	}
	for i, p := range out {
		if p == "libc6" && newest != "" {
			out[i] = "libc6 (>= " + newest + ")"
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", "), nil
}

// later reports whether a dotted version is newer than another; "" is the
// oldest.
func later(a, b string) bool {
	if b == "" {
		return true
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(x[i])
		n, errN := strconv.Atoi(y[i])
		if errM != nil || errN != nil {
			return false // GLIBC_PRIVATE and its like are no versions
		}
		if m != n {
			return m > n
		}
	}
	return len(x) > len(y)
}
