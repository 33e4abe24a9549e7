package assets

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"regexp"
	"testing"
)

func decode(t *testing.T, b []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("icons/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAppIconHasItsSize(t *testing.T) {
	for _, size := range []int{64, 128, 256, 512} {
		if b := decode(t, AppIcon(size)).Bounds(); b.Dx() != size || b.Dy() != size {
			t.Errorf("icon of %d is %v", size, b)
		}
	}
	if AppIcon(7) != nil {
		t.Error("an unknown size gave an icon")
	}
}

func TestTrayIconsExistInEverySizeAndVariant(t *testing.T) {
	for _, variant := range []string{"any", "light", "dark", "template"} {
		for _, state := range TrayStates {
			for _, size := range []int{16, 20, 22, 24, 32, 44, 48, 64} {
				b := decode(t, file(t, fmt.Sprintf("tray/%s/%s-%d.png", variant, state, size))).Bounds()
				if b.Dx() != size || b.Dy() != size {
					t.Errorf("%s %s %d is %v", variant, state, size, b)
				}
			}
		}
	}
}

func TestWindowsIconsHoldFiveSizes(t *testing.T) {
	for _, variant := range []string{"light", "dark"} {
		for _, state := range TrayStates {
			b := file(t, "tray/"+variant+"/"+state+".ico")
			if kind, n := binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint16(b[4:]); kind != 1 || n != 5 {
				t.Errorf("%s %s: type %d with %d images", variant, state, kind, n)
			}
		}
	}
}

// TestStatesDifferByShape compares the icons without their colour: where one
// has ink and the other has none must be a good part of the picture.
func TestStatesDifferByShape(t *testing.T) {
	const size = 16
	ink := map[string][]bool{}
	for _, state := range TrayStates {
		img := decode(t, file(t, fmt.Sprintf("tray/any/%s-%d.png", state, size)))
		for y := range size {
			for x := range size {
				_, _, _, a := img.At(x, y).RGBA()
				ink[state] = append(ink[state], a > 0x7fff)
			}
		}
	}
	for i, a := range TrayStates {
		for _, b := range TrayStates[i+1:] {
			diff := 0
			for n := range ink[a] {
				if ink[a][n] != ink[b][n] {
					diff++
				}
			}
			if diff < 8 {
				t.Errorf("%s and %s differ in %d of %d pixels only", a, b, diff, size*size)
			}
		}
	}
}

func TestTemplateIsBlackOnTransparent(t *testing.T) {
	for _, state := range TrayStates {
		img := decode(t, file(t, "tray/template/"+state+"-44.png"))
		seen := false
		for y := range 44 {
			for x := range 44 {
				c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
				if c.A > 0 && (c.R|c.G|c.B) != 0 {
					t.Fatalf("%s has a coloured pixel at %d,%d", state, x, y)
				}
				seen = seen || c.A == 0xff
			}
		}
		if !seen {
			t.Errorf("%s is empty", state)
		}
	}
}

func TestTrayIconKnowsEveryState(t *testing.T) {
	for _, state := range TrayStates {
		if len(TrayIcon(state, true)) == 0 || len(TrayIcon(state, false)) == 0 {
			t.Errorf("no icon for %s", state)
		}
	}
}

// TestTranslationsKeepTheirVerbs compares the format verbs of each text with
// those of its key, so that a translation cannot garble a number or a name.
func TestTranslationsKeepTheirVerbs(t *testing.T) {
	verb := regexp.MustCompile(`%(\[\d+\])?[a-z]`)
	verbs := func(s string) map[string]int {
		out := map[string]int{}
		for _, v := range verb.FindAllString(s, -1) {
			out[v[len(v)-1:]]++
		}
		return out
	}
	files, err := fs.Glob(Translations, "i18n/*.json")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		b, _ := Translations.ReadFile(name)
		texts := map[string]string{}
		if err := json.Unmarshal(b, &texts); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for key, text := range texts {
			if text == "" {
				t.Errorf("%s: %q is empty", name, key)
			}
			if fmt.Sprint(verbs(key)) != fmt.Sprint(verbs(text)) {
				t.Errorf("%s: %q and %q have different verbs", name, key, text)
			}
		}
	}
}
