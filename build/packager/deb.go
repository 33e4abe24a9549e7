package main

import (
	"crypto/md5" //nolint:gosec // dpkg's list of sums is made of these
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"time"
)

// scripts are dpkg's maintainer scripts and what they ask.
var scripts = []string{"preinst", "postinst", "prerm", "postrm"}

// deb packs the desktop program for Debian and what is made of it.
func (s *source) deb(p platform, program []byte) ([]byte, error) {
	data, err := s.installed(program)
	if err != nil {
		return nil, err
	}
	needs, err := depends(program)
	if err != nil {
		return nil, err
	}
	text, err := s.fillIn("build/linux/deb/control",
		"@ARCH@", p.arch, "@DEPENDS@", needs, "@SIZE@", fmt.Sprint((data.size()+1023)/1024))
	if err != nil {
		return nil, err
	}
	var control tree
	control.add("control", text)
	for _, name := range scripts {
		script, err := s.fillIn("build/linux/deb/" + name)
		if err != nil {
			return nil, err
		}
		control.program(name, script)
	}
	if err := control.read(s, "build/linux/deb/templates", "templates"); err != nil {
		return nil, err
	}
	var sums strings.Builder
	for _, f := range data.sorted() {
		sum := md5.Sum(f.data) //nolint:gosec // see above
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), f.name)
	}
	control.add("md5sums", []byte(sums.String()))

	controlTar, err := control.tarGz("./", s.when)
	if err != nil {
		return nil, err
	}
	dataTar, err := data.tarGz("./", s.when)
	if err != nil {
		return nil, err
	}
	return ar(s.when, tree{{name: "debian-binary", data: []byte("2.0\n")}, {name: "control.tar.gz", data: controlTar}, {name: "data.tar.gz", data: dataTar}}), nil
}

// ar is the archive that a .deb is, its members in the order given.
func ar(when time.Time, members tree) []byte {
	b := []byte("!<arch>\n")
	for _, m := range members {
		b = fmt.Appendf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, when.Unix(), 0, 0, "100644", len(m.data))
		b = append(b, m.data...)
		if len(m.data)%2 == 1 {
			b = append(b, '\n')
		}
	}
	return b
}

// installed is the desktop program as it lies in a Linux system.
func (s *source) installed(program []byte) (tree, error) {
	t, err := s.shared("usr/share")
	if err != nil {
		return nil, err
	}
	t.program("usr/bin/breakwater", program)
	unit, err := s.fillIn("build/linux/breakwater.service", "@BIN@", "/usr/bin/breakwater")
	if err != nil {
		return nil, err
	}
	t.add("usr/lib/systemd/user/breakwater.service", unit)
	manual, err := s.fillIn("build/linux/breakwater.1")
	if err != nil {
		return nil, err
	}
	changes, err := s.read("CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	if err := t.read(s, licenceFile, "usr/share/doc/breakwater/licences.txt.gz"); err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{
		"usr/share/man/man1/breakwater.1.gz": manual, "usr/share/doc/breakwater/changelog.gz": changes,
	} {
		small, err := squeeze(text)
		if err != nil {
			return nil, err
		}
		t.add(name, small)
	}
	return t, t.read(s, "build/linux/deb/copyright", "usr/share/doc/breakwater/copyright")
}

// shared is the desktop entry and the icons, below a folder like usr/share.
func (s *source) shared(dir string) (tree, error) {
	var t tree
	t.add(path.Join(dir, "applications", s.app.ID+".desktop"), s.desktopEntry())
	for _, icon := range []struct{ from, size string }{
		{"app-64.png", "64x64"}, {"app-128.png", "128x128"}, {"app-256.png", "256x256"}, {"app.png", "512x512"},
	} {
		if err := t.read(s, "assets/icons/"+icon.from, path.Join(dir, "icons/hicolor", icon.size, "apps", s.app.ID+".png")); err != nil {
			return nil, err
		}
	}
	return t, t.read(s, "assets/icons/app.svg", path.Join(dir, "icons/hicolor/scalable/apps", s.app.ID+".svg"))
}

// desktopEntry is the program in the desktop's menu.
func (s *source) desktopEntry() []byte {
	a := s.app
	return []byte(strings.Join([]string{
		"[Desktop Entry]", "Type=Application", "Version=1.0",
		"Name=" + a.Name, "GenericName=" + a.GenericName, "Comment=" + a.Comment,
		"Icon=" + a.ID, "Exec=breakwater", "Terminal=false", "StartupNotify=false",
		"Categories=" + strings.Join(a.Categories, ";") + ";", "Keywords=" + strings.Join(a.Keywords, ";") + ";",
		"Actions=window;quit;", "",
		"[Desktop Action window]", "Name=Open the window", "Exec=breakwater window", "",
		"[Desktop Action quit]", "Name=Quit", "Exec=breakwater quit", "",
	}, "\n"))
}

// portable is the desktop program in a folder that can lie anywhere; starting
// it writes nothing outside its data folder.
func (s *source) portable(program []byte) (tree, error) {
	t, err := s.shared("share")
	if err != nil {
		return nil, err
	}
	t.program("breakwater", program)
	more, err := s.papers("build/linux/PORTABLE.txt")
	return append(t, more...), err
}

// papers are the texts that lie in every archive: how to use it, the licence,
// and those of all parts.
func (s *source) papers(readme string) (tree, error) {
	text, err := s.fillIn(readme)
	if err != nil {
		return nil, err
	}
	var t tree
	t.add("README.txt", text)
	if err := t.read(s, "LICENSE", "LICENSE.txt"); err != nil {
		return nil, err
	}
	return t, t.licences(s, "licences.txt")
}
