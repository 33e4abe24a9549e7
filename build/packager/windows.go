package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// windowsTree is what a Windows user gets: the program with tray and windows,
// and the one for the command line.
func (s *source) windowsTree(desktop, console []byte) (tree, error) {
	var t tree
	t.program("breakwater-tray.exe", desktop)
	t.program("breakwater.exe", console)
	papers, err := s.papers("build/windows/README.txt")
	for i := range papers {
		papers[i].data = crlf(papers[i].data)
	}
	return append(t, papers...), err
}

// errNoNSIS tells that this machine cannot make the Windows installer.
var errNoNSIS = errors.New("makensis is not installed (Debian: apt install nsis)")

// installer packs the tree into a setup program.
func (s *source) installer(ctx context.Context, t tree) ([]byte, error) {
	if _, err := exec.LookPath("makensis"); err != nil {
		return nil, errNoNSIS
	}
	dir := filepath.Join(s.dir, ".out", "setup")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	icon, err := s.read("assets/icons/app.ico")
	if err != nil {
		return nil, err
	}
	script, err := s.fillIn("build/windows/installer.nsi", "@KILOBYTES@", strconv.Itoa((t.size()+1023)/1024))
	if err != nil {
		return nil, err
	}
	t = append(t, file{name: "app.ico", data: icon}, file{name: "installer.nsi", data: script})
	for _, f := range t.sorted() {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return nil, err
		}
		// The installer keeps the times of the files it holds.
		if err := os.Chtimes(path, s.when, s.when); err != nil {
			return nil, err
		}
	}
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(s.when.Unix(), 10)}
	if _, err := output(ctx, dir, env, "makensis", "-V2", "-WX", "installer.nsi"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "breakwater-setup.exe"))
}
