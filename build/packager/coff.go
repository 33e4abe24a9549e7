package main

import (
	"encoding/binary"
	"fmt"
)

// Sizes of the parts of a resource section and of a COFF object.
const (
	dirSize    = 16 // a directory's head
	dirEntry   = 8
	leafSize   = 16 // where the data of a resource lie
	coffHead   = 20
	sectHead   = 40
	relocSize  = 10
	subFolder  = 0x80000000 // the entry leads to a directory
	rsrcTraits = 0x40000040 // readable, initialised data
)

// machines are the architectures by COFF's numbers, with the kind of relocation
// that stands for an address relative to the image.
var machines = map[string]struct{ machine, relocation uint16 }{
	"amd64": {0x8664, 3},
	"arm64": {0xaa64, 2},
}

// coff returns an object file with one .rsrc section. The resources must be
// sorted by type and id.
func coff(arch string, list []resource) ([]byte, error) {
	m, ok := machines[arch]
	if !ok {
		return nil, fmt.Errorf("no resources can be made for %s", arch)
	}
	section, relocations := resourceSection(list)
	le := binary.LittleEndian
	size, n := uint32(len(section)), uint32(len(relocations))
	var b []byte
	b = le.AppendUint16(b, m.machine)
	b = le.AppendUint16(b, 1)                                             // sections
	b = le.AppendUint32(b, 0)                                             // no time
	b = le.AppendUint32(b, coffHead+sectHead+size+n*relocSize)            // symbols
	b = le.AppendUint32(b, 1)                                             // one of them
	b = le.AppendUint32(b, 0)                                             // no optional header, no traits
	b = append(b, ".rsrc\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...) // name, no place yet
	b = le.AppendUint32(b, size)
	b = le.AppendUint32(b, coffHead+sectHead)
	b = le.AppendUint32(b, coffHead+sectHead+size)
	b = le.AppendUint32(b, 0) // no line numbers
	b = le.AppendUint16(b, uint16(n))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, rsrcTraits)
	b = append(b, section...)
	for _, at := range relocations {
		b = le.AppendUint32(b, at)
		b = le.AppendUint32(b, 0) // the one symbol
		b = le.AppendUint16(b, m.relocation)
	}
	b = append(b, ".rsrc\x00\x00\x00"...)
	b = le.AppendUint32(b, 0)         // the section's start
	b = le.AppendUint16(b, 1)         // the section
	b = le.AppendUint16(b, 0)         // no type
	b = append(b, 3, 0)               // static
	return le.AppendUint32(b, 4), nil // an empty table of long names
}

// resourceSection lays the resources out: the directories of types, of ids and
// of languages, then where the data lie, then the data. It also returns the
// places that hold an address.
func resourceSection(list []resource) (section []byte, relocations []uint32) {
	var kinds []uint32
	byKind := map[uint32][]resource{}
	for _, r := range list {
		if byKind[r.kind] == nil {
			kinds = append(kinds, r.kind)
		}
		byKind[r.kind] = append(byKind[r.kind], r)
	}
	le := binary.LittleEndian
	u := func(n int) uint32 { return uint32(n) }
	directory := func(b []byte, entries int) []byte {
		b = append(b, make([]byte, dirSize-2)...)
		return le.AppendUint16(b, uint16(entries))
	}
	ids := dirSize + dirEntry*len(kinds)
	languages := ids + dirSize*len(kinds) + dirEntry*len(list)
	leaves := languages + (dirSize+dirEntry)*len(list)
	data := leaves + leafSize*len(list)

	section = directory(section, len(kinds))
	next := ids
	for _, k := range kinds {
		section = le.AppendUint32(section, k)
		section = le.AppendUint32(section, u(next)|subFolder)
		next += dirSize + dirEntry*len(byKind[k])
	}
	next = languages
	for _, k := range kinds {
		section = directory(section, len(byKind[k]))
		for _, r := range byKind[k] {
			section = le.AppendUint32(section, r.id)
			section = le.AppendUint32(section, u(next)|subFolder)
			next += dirSize + dirEntry
		}
	}
	for i := range list {
		section = directory(section, 1)
		section = le.AppendUint32(section, langEnglish)
		section = le.AppendUint32(section, u(leaves+i*leafSize))
	}
	next = data
	for _, r := range list {
		relocations = append(relocations, u(len(section)))
		section = le.AppendUint32(section, u(next))
		section = le.AppendUint32(section, u(len(r.data)))
		section = append(section, make([]byte, 8)...)
		next += (len(r.data) + 7) &^ 7
	}
	for _, r := range list {
		section = append(section, r.data...)
		section = append(section, make([]byte, (8-len(r.data)%8)%8)...)
	}
	return section, relocations
}
