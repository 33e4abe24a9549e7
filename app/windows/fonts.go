//go:build (cgo || ci) && !nogui

package windows

import (
	_ "embed"

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

	devanagari     = fyne.NewStaticResource("NotoSansDevanagari-Regular.ttf", devanagariRegular)
	devanagariDark = fyne.NewStaticResource("NotoSansDevanagari-Bold.ttf", devanagariBold)
)

// Font returns the face of a style: that of the language's script first.
func (l *look) Font(s fyne.TextStyle) fyne.Resource {
	if i18n.Lang() != "mr" || s.Monospace || s.Symbol {
		return l.Theme.Font(s)
	}
	if s.Bold {
		return devanagariDark
	}
	return devanagari
}
