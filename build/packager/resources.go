package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
)

// Resource types and the language of Windows' resource section.
const (
	typeIcon     = 3
	typeGroup    = 14
	typeVersion  = 16
	typeManifest = 24
	langEnglish  = 0x409
)

// resource is one piece of a program's resource section.
type resource struct {
	kind, id uint32
	data     []byte
}

// resources returns a COFF object with the icon, the manifest and the version
// of the program.
func (s *source) resources(arch string) ([]byte, error) {
	ico, err := s.read("assets/icons/app.ico")
	if err != nil {
		return nil, err
	}
	manifest, err := s.fillIn("build/windows/app.manifest")
	if err != nil {
		return nil, err
	}
	list, err := icons(ico)
	if err != nil {
		return nil, fmt.Errorf("app.ico: %w", err)
	}
	version, err := s.versionInfo()
	if err != nil {
		return nil, err
	}
	// By type and id, as the directory must be sorted.
	list = append(list, resource{typeVersion, 1, version}, resource{typeManifest, 1, manifest})
	return coff(arch, list)
}

// icons takes an .ico apart: its pictures, and the group that names them.
func icons(ico []byte) ([]resource, error) {
	const head, entry = 6, 16
	if len(ico) < head || binary.LittleEndian.Uint16(ico[2:]) != 1 {
		return nil, errors.New("this is no icon")
	}
	n := int(binary.LittleEndian.Uint16(ico[4:]))
	if len(ico) < head+n*entry {
		return nil, errors.New("the icon is cut off")
	}
	group := bytes.Clone(ico[:head])
	var out []resource
	for i := range n {
		e := ico[head+i*entry:][:entry]
		size, at := binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
		if uint64(at)+uint64(size) > uint64(len(ico)) {
			return nil, errors.New("the icon is cut off")
		}
		id := uint32(i + 1)
		out = append(out, resource{typeIcon, id, ico[at : at+size]})
		group = append(group, e[:12]...)
		group = binary.LittleEndian.AppendUint16(group, uint16(id))
	}
	return append(out, resource{typeGroup, 1, group}), nil
}

// versionInfo is what the file's properties and the task list show.
func (s *source) versionInfo() ([]byte, error) {
	fixed := binary.LittleEndian.AppendUint32(nil, 0xFEEF04BD)
	fixed = binary.LittleEndian.AppendUint32(fixed, 0x10000)
	var numbers [4]uint32
	for i, part := range quad(s.app) {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", s.app.Version, err)
		}
		numbers[i] = uint32(n)
	}
	for range 2 { // of the file, of the product
		fixed = binary.LittleEndian.AppendUint32(fixed, numbers[0]<<16|numbers[1])
		fixed = binary.LittleEndian.AppendUint32(fixed, numbers[2]<<16|numbers[3])
	}
	// Flag mask, flags, Windows NT, an application, no subtype, no date.
	for _, v := range []uint32{0x3f, 0, 0x40004, 1, 0, 0, 0} {
		fixed = binary.LittleEndian.AppendUint32(fixed, v)
	}
	texts := [][2]string{
		{"CompanyName", s.app.Name},
		{"FileDescription", s.app.Name},
		{"FileVersion", s.app.Version},
		{"InternalName", "breakwater"},
		{"LegalCopyright", "The Breakwater authors, MIT licence"},
		{"OriginalFilename", "breakwater.exe"},
		{"ProductName", s.app.Name},
		{"ProductVersion", s.app.Version},
	}
	var strings [][]byte
	for _, t := range texts {
		strings = append(strings, block(t[0], 1, wide(t[1]), len(utf16.Encode([]rune(t[1])))+1))
	}
	table := block("040904b0", 1, nil, 0, strings...) // English, UTF-16
	translation := block("Translation", 0, []byte{0x09, 0x04, 0xb0, 0x04}, 4)
	return block("VS_VERSION_INFO", 0, fixed, len(fixed),
		block("StringFileInfo", 1, nil, 0, table), block("VarFileInfo", 1, nil, 0, translation)), nil
}

// block is one node of the version's tree: length, length of the value in its
// own units, kind (1 is text), key, value, children, each on a multiple of 4.
func block(key string, kind uint16, value []byte, units int, children ...[]byte) []byte {
	b := make([]byte, 6)
	binary.LittleEndian.PutUint16(b[2:], uint16(units))
	binary.LittleEndian.PutUint16(b[4:], kind)
	b = append(pad(append(b, wide(key)...)), value...)
	for _, c := range children {
		b = append(pad(b), c...)
	}
	binary.LittleEndian.PutUint16(b, uint16(len(b)))
	return b
}

// wide is a text in UTF-16 with its end mark.
func wide(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s + "\x00")) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
