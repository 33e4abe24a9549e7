package view

import (
	"fmt"
	"image/color"
	"math"
	"testing"
)

// luminance and contrast follow WCAG 2.
func luminance(c color.NRGBA) float64 {
	lin := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B)
}

func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// over lays a veil on a ground.
func over(veil, ground color.NRGBA) color.NRGBA {
	solid := veil
	solid.A = 255
	return Blend(ground, solid, float64(veil.A)/255)
}

// simulations are the three common kinds of colour blindness, as matrices on
// linear RGB (Viénot 1999 for the first two, Brettel's near fit for the third).
var simulations = map[string][9]float64{
	"none":         {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"protanopia":   {0.1121, 0.8853, -0.0005, 0.1127, 0.8897, -0.0001, 0.0045, 0, 1.0019},
	"deuteranopia": {0.2920, 0.7054, -0.0003, 0.2934, 0.7089, 0, -0.02098, 0.02559, 1.0019},
	"tritanopia":   {1.01595, 0.1351, -0.1488, -0.01542, 0.8683, 0.1448, 0.1002, 0.8168, 0.1169},
}

func simulate(c color.NRGBA, m [9]float64) color.NRGBA {
	lin := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	back := func(x float64) uint8 { return uint8(math.Round(255 * math.Pow(min(max(x, 0), 1), 1/2.2))) }
	r, g, b := lin(c.R), lin(c.G), lin(c.B)
	return color.NRGBA{
		R: back(m[0]*r + m[1]*g + m[2]*b), G: back(m[3]*r + m[4]*g + m[5]*b), B: back(m[6]*r + m[7]*g + m[8]*b), A: 255,
	}
}

func TestEveryTextIsReadableOnEveryGround(t *testing.T) {
	roles := []Role{RoleText, RoleMuted, RoleDisabled, RoleSuccess, RoleWarning, RoleError, RolePrimary}
	for name, p := range map[string]Palette{"light": Light, "dark": Dark} {
		grounds := map[string]color.NRGBA{
			"page": p.Page, "card": p.Card, "rail": p.Rail, "menu": p.Menu, "input": p.Input,
			"soft on card": over(p.Soft, p.Card), "soft on page": over(p.Soft, p.Page),
			"hover on card": over(p.Hover, p.Card), "selected on card": over(p.Selected, p.Card), "selected on rail": over(p.Selected, p.Rail),
			"hover on selected": over(p.Hover, over(p.Selected, p.Card)),
		}
		for ground, g := range grounds {
			for _, r := range roles {
				for kind, m := range simulations {
					if c := contrast(simulate(p.Of(r), m), simulate(g, m)); c < 4.5 {
						t.Errorf("%s: %s on %s seen with %s: contrast %.2f, want 4.5", name, r, ground, kind, c)
					}
				}
			}
		}
	}
}

func TestTextOnFilledControlsIsReadable(t *testing.T) {
	for name, p := range map[string]Palette{"light": Light, "dark": Dark} {
		for what, c := range map[string]float64{
			"on primary": contrast(p.OnPrimary, p.Primary), "on error": contrast(p.OnState, p.Error),
			"on success": contrast(p.OnState, p.Success), "on warning": contrast(p.OnState, p.Warning),
		} {
			if c < 4.5 {
				t.Errorf("%s: text %s has contrast %.2f", name, what, c)
			}
		}
	}
}

func TestBlendMixesByShare(t *testing.T) {
	black, white := color.NRGBA{A: 255}, color.NRGBA{R: 255, G: 255, B: 255, A: 255}
	for share, want := range map[float64]uint8{0: 0, 0.5: 128, 1: 255} {
		if got := Blend(black, white, share); got.R != want || got.A != 255 {
			t.Error(fmt.Sprint(share, got))
		}
	}
}
