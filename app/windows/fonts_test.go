//go:build (cgo || ci) && !nogui

package windows

import (
	"bytes"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"breakwater/app/i18n"
	"breakwater/app/windows/view"
)

// marathiBench is a window that speaks Marathi.
func marathiBench(t *testing.T, page string) *bench {
	t.Helper()
	b := newBench(t, "busy", page)
	t.Cleanup(func() { _ = i18n.Use("en") })
	b.fake.settings.Language = "mr"
	b.useSettings(b.fake.settings)
	return b
}

func width(s string) float32 { return fyne.MeasureText(s, 40, fyne.TextStyle{}).Width }

// TestDevanagariIsShaped compares widths: letters that join are narrower than
// side by side, and a vowel sign that goes before its letter adds its own width.
func TestDevanagariIsShaped(t *testing.T) {
	marathiBench(t, pageOverview)
	const apart = "\u200c" // keeps letters from joining
	for _, c := range []struct{ name, joined, apart string }{
		{"ksha", "क्ष", "क्" + apart + "ष"},
		{"dnya", "ज्ञ", "ज्" + apart + "ञ"},
		{"reph above the letter", "र्क", "र" + "क"},
		{"half sa", "स्थ", "स" + "थ"},
		{"tra", "त्र", "त" + "र"},
	} {
		if width(c.joined) >= width(c.apart) {
			t.Errorf("%s: %q is %v wide, its letters apart %v", c.name, c.joined, width(c.joined), width(c.apart))
		}
	}
	if w := width("कि"); w <= width("क") {
		t.Errorf("the vowel sign of कि takes no room: %v", w)
	}
	for _, s := range []fyne.TextStyle{{}, {Bold: true}} {
		if fyne.MeasureText("विनंती", 13, s).Width <= fyne.MeasureText("व", 13, s).Width {
			t.Errorf("%+v: the face has no letters", s)
		}
	}
}

// TestDevanagariStandsOnOneLineWithLatin compares the line of the face with that
// of Fyne's own, from which the Latin letters beside it come.
func TestDevanagariStandsOnOneLineWithLatin(t *testing.T) {
	marathiBench(t, pageOverview)
	for _, s := range []fyne.TextStyle{{}, {Bold: true}} {
		size, base := fyne.CurrentApp().Driver().RenderedTextSize("विनंती", 100, s, nil)
		_ = i18n.Use("en")
		latin, line := fyne.CurrentApp().Driver().RenderedTextSize("request", 100, s, newLook("light").Theme.Font(s))
		_ = i18n.Use("mr")
		if d := base - line; d < -0.5 || d > 0.5 {
			t.Errorf("%+v: the baseline is at %v, that of Latin letters at %v", s, base, line)
		}
		if d := size.Height - latin.Height; d < -0.5 || d > 0.5 {
			t.Errorf("%+v: the line is %v high, that of Latin letters %v", s, size.Height, latin.Height)
		}
	}
	broken := []byte{0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 'h'}
	if got := onOneLine(broken); !bytes.Equal(got, broken) {
		t.Error("a face that is none was changed")
	}
}

func TestMonospacedWordsHaveTheirLetters(t *testing.T) {
	mono := fyne.TextStyle{Monospace: true}
	if speltOut("*-mini शी जुळणारे", mono).Monospace || !speltOut("claude-*", mono).Monospace {
		t.Error("monospaced words are drawn with the wrong face")
	}
}

// TestMarathiLooksRight compares a few words with a picture that was looked at.
func TestMarathiLooksRight(t *testing.T) {
	marathiBench(t, pageOverview)
	words := container.New(stack{4},
		newTitle("सर्व 3 जोडण्या सेवेत"), newText("क्षमता, ज्ञात, त्रुटी, स्थिती, पूर्ण, विश्रांती", view.RoleText),
		newText("Breakwater 2 मि मध्ये परत येईल", view.RoleText).bold(), newCaption("कोट्याचे 18 % शिल्लक"))
	w := test.NewTempWindow(t, newPanel(colorCard, false, 0, container.New(inset{8, 8, 8, 8}, words)))
	w.SetPadded(false)
	w.Resize(fyne.NewSize(340, 120))
	test.AssertImageMatches(t, "marathi.png", w.Canvas().Capture())
}

// Another window, or the command line, may change the language at any page.
func TestAChangeOfLanguageKeepsWhatIsShown(t *testing.T) {
	for path, words := range map[string]string{"providers/openai": "OpenAI", "settings/resilience": "Modelos", "connections/c2": "Conexiones", "cooldowns/models": "Modelo"} {
		b := newBench(t, "busy", path)
		b.fake.settings.Language = "es"
		b.useSettings(b.fake.settings)
		b.wantShown(words)
		if got := b.path(); got != path && got != pageConnections {
			t.Errorf("%s: it shows %s", path, got)
		}
		b.useLanguage("en")
	}
}

func TestTheLanguageIsChosenInTheSettings(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	t.Cleanup(func() { _ = i18n.Use("en") })
	p := pageOf[*settings](b).general
	p.language.SetSelected("Marathi")
	if b.fake.settings.Language != "mr" {
		t.Fatalf("language %q", b.fake.settings.Language)
	}
	b.wantShown("सेटिंग्ज", "भाषा", "सूचना")
	if got := pageOf[*settings](b).general.language.Selected; got != "मराठी" {
		t.Errorf("the language is called %q", got)
	}
}
