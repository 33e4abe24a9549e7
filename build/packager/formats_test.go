package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// The object is read back by the standard library's reader, and its section by
// walking the directories as Windows does.
func TestWindowsResources(t *testing.T) {
	s := work(t)
	for arch, machine := range map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64} {
		object, err := s.resources(arch)
		if err != nil {
			t.Fatal(err)
		}
		f, err := pe.NewFile(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine || len(f.Sections) != 1 || f.Sections[0].Name != ".rsrc" {
			t.Fatalf("%s: machine %x, sections %v", arch, f.Machine, f.Sections)
		}
		section, err := f.Sections[0].Data()
		if err != nil {
			t.Fatal(err)
		}
		found := walk(t, section)
		if got := len(f.Sections[0].Relocs); got != len(found) {
			t.Errorf("%s: %d relocations for %d resources", arch, got, len(found))
		}
		if n := len(found[[2]uint32{typeManifest, 1}]); n == 0 {
			t.Errorf("%s: no manifest", arch)
		}
		group := found[[2]uint32{typeGroup, 1}]
		if len(group) < 6 || int(binary.LittleEndian.Uint16(group[4:])) < 5 {
			t.Errorf("%s: the group of icons is %x", arch, group)
		}
		version := found[[2]uint32{typeVersion, 1}]
		if want := utf16le("ProductVersion\x00"); !bytes.Contains(version, want) || !bytes.Contains(version, utf16le(s.app.Version+"\x00")) {
			t.Errorf("%s: the version does not name %s", arch, s.app.Version)
		}
	}
	if _, err := s.resources("riscv"); err == nil {
		t.Error("an unknown architecture was accepted")
	}
}

func utf16le(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// walk returns the data of every resource by type and id. Places are relative
// to the section, as in an object that is not linked yet.
func walk(t *testing.T, section []byte) map[[2]uint32][]byte {
	t.Helper()
	u32 := func(at uint32) uint32 { return binary.LittleEndian.Uint32(section[at:]) }
	entries := func(at uint32) (out [][2]uint32) {
		n := uint32(binary.LittleEndian.Uint16(section[at+14:]))
		last := uint32(0)
		for i := range n {
			e := at + dirSize + i*dirEntry
			if i > 0 && u32(e) <= last {
				t.Error("a directory is not sorted")
			}
			last = u32(e)
			out = append(out, [2]uint32{last, u32(e+4) &^ subFolder})
		}
		return out
	}
	found := map[[2]uint32][]byte{}
	for _, kind := range entries(0) {
		for _, id := range entries(kind[1]) {
			for _, lang := range entries(id[1]) {
				at, size := u32(lang[1]), u32(lang[1]+4)
				found[[2]uint32{kind[0], id[0]}] = section[at : at+size]
			}
		}
	}
	return found
}

func TestIconsRefuseDamage(t *testing.T) {
	s := work(t)
	ico, err := s.read("assets/icons/app.ico")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty": nil, "no icon": []byte("\x89PNG\r\n\x1a\n"), "cut list": ico[:20], "cut pictures": ico[:len(ico)-1],
	} {
		if _, err := icons(data); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzIcons(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 32, 0, 1, 0, 0, 0, 22, 0, 0, 0, 7})
	f.Add([]byte{0, 0, 1, 0, 255, 255})
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = icons(data) })
}

// plist reads the keys and values of a property list's outermost dictionary.
func plist(t *testing.T, text []byte) map[string]string {
	t.Helper()
	out, key, depth := map[string]string{}, "", 0
	dec := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			if depth != 3 { // plist, dict
				continue
			}
			switch e.Name.Local {
			case "key", "string", "integer":
				var text string
				if err := dec.DecodeElement(&text, &e); err != nil {
					t.Fatal(err)
				}
				depth--
				if e.Name.Local == "key" {
					key = text
				} else {
					out[key] = text
				}
			default:
				out[key] = e.Name.Local
			}
		case xml.EndElement:
			depth--
		}
	}
}

func TestBundle(t *testing.T) {
	s := work(t)
	s.app.Name = `A & <B>`
	app, err := s.bundle([]byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(app, func(f file) bool { return strings.HasSuffix(f.name, ".app/Contents/Info.plist") })
	got := plist(t, app[at].data)
	for key, want := range map[string]string{
		"CFBundleIdentifier": s.app.ID, "CFBundleName": `A & <B>`, "CFBundleShortVersionString": strings.Join(quad(s.app)[:3], "."),
		"LSUIElement": "true", "CFBundleExecutable": "breakwater", "LSMinimumSystemVersion": oldestMacOS,
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	at = slices.IndexFunc(app, func(f file) bool { return strings.HasSuffix(f.name, "Contents/MacOS/breakwater") })
	if !app[at].exec {
		t.Error("the program cannot be run")
	}
}

func TestLaunchAgent(t *testing.T) {
	s := work(t)
	text, err := s.fillIn("build/macos/headless.plist")
	if err != nil {
		t.Fatal(err)
	}
	if got := plist(t, text); got["Label"] != s.app.ID+".headless" || got["RunAtLoad"] != "true" || got["ProgramArguments"] != "array" {
		t.Errorf("got %v", got)
	}
}

func TestManifestIsXML(t *testing.T) {
	s := work(t)
	text, err := s.fillIn("build/windows/app.manifest")
	if err != nil {
		t.Fatal(err)
	}
	var any struct{ XMLName xml.Name }
	if err := xml.Unmarshal(text, &any); err != nil || any.XMLName.Local != "assembly" {
		t.Errorf("%v %v", any.XMLName, err)
	}
}

// Apple's container: every picture is a PNG of the size its name stands for.
func TestIcns(t *testing.T) {
	icns, err := work(t).icns()
	if err != nil {
		t.Fatal(err)
	}
	if string(icns[:4]) != "icns" || int(binary.BigEndian.Uint32(icns[4:])) != len(icns) {
		t.Fatalf("head %x for %d bytes", icns[:8], len(icns))
	}
	pixels := map[string]int{"ic12": 64, "ic07": 128, "ic13": 256, "ic08": 256, "ic14": 512, "ic09": 512}
	for rest := icns[8:]; len(rest) > 0; {
		kind, size := string(rest[:4]), binary.BigEndian.Uint32(rest[4:])
		picture, err := png.DecodeConfig(bytes.NewReader(rest[8:size]))
		if err != nil || picture.Width != pixels[kind] || picture.Height != pixels[kind] {
			t.Errorf("%s is %dx%d (%v)", kind, picture.Width, picture.Height, err)
		}
		delete(pixels, kind)
		rest = rest[size:]
	}
	if len(pixels) > 0 {
		t.Errorf("missing: %v", pixels)
	}
}
