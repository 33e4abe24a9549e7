//go:build (cgo || ci) && !nogui

package windows

import (
	_ "embed"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"unicode"

	"fyne.io/fyne/v2"

	"breakwater/app/i18n"
)

// The faces for Devanagari, which Fyne's own have not. Letters of other scripts
// come from Fyne's. The licence is beside them.
var (
	//go:embed fonts/NotoSansDevanagari-Regular.ttf
	devanagariRegular []byte
	//go:embed fonts/NotoSansDevanagari-Bold.ttf
	devanagariBold []byte

	// Made when they are asked for: the program that has no window needs none.
	devanagari     = faceOf("NotoSansDevanagari-Regular.ttf", devanagariRegular)
	devanagariDark = faceOf("NotoSansDevanagari-Bold.ttf", devanagariBold)
)

func faceOf(name string, content []byte) func() fyne.Resource {
	return sync.OnceValue(func() fyne.Resource { return fyne.NewStaticResource(name, onOneLine(content)) })
}

// The line of Fyne's own face, in thousandths of the size: above and below the
// baseline.
const (
	faceAbove = 1069
	faceBelow = 293
)

// onOneLine gives a face the line of Fyne's own: a text is drawn on the
// baseline of the face that its letters come from, so that Latin names would
// stand lower than the words beside them. A face that is not understood stays
// as it is.
func onOneLine(face []byte) []byte {
	out := slices.Clone(face)
	head, hhea := table(out, "head"), table(out, "hhea")
	if len(head) < 20 || len(hhea) < 10 {
		return face
	}
	unit := int(binary.BigEndian.Uint16(head[18:]))
	binary.BigEndian.PutUint16(hhea[4:], uint16(faceAbove*unit/1000))
	binary.BigEndian.PutUint16(hhea[6:], uint16(-faceBelow*unit/1000)) // a negative number, as it is stored
	binary.BigEndian.PutUint16(hhea[8:], 0)
	return out
}

// table is one part of a face, nil when it has none of that name.
func table(face []byte, name string) []byte {
	if len(face) < 12 {
		return nil
	}
	for n, at := int(binary.BigEndian.Uint16(face[4:])), 12; n > 0 && at+16 <= len(face); n, at = n-1, at+16 {
		from, size := int(binary.BigEndian.Uint32(face[at+8:])), int(binary.BigEndian.Uint32(face[at+12:]))
		if string(face[at:at+4]) == name && from+size <= len(face) {
			return face[from : from+size]
		}
	}
	return nil
}

// speltOut is the style for words: Fyne's monospaced face has no Devanagari.
func speltOut(words string, s fyne.TextStyle) fyne.TextStyle {
	if s.Monospace && strings.IndexFunc(words, func(r rune) bool { return unicode.Is(unicode.Devanagari, r) }) >= 0 {
		s.Monospace = false
	}
	return s
}

// Font returns the face of a style: that of the language's script first.
func (l *look) Font(s fyne.TextStyle) fyne.Resource {
	if i18n.Lang() != "mr" || s.Monospace || s.Symbol {
		return l.Theme.Font(s)
	}
	if s.Bold {
		return devanagariDark()
	}
	return devanagari()
}
