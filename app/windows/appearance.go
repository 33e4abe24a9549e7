//go:build (cgo || ci) && !nogui

package windows

import (
	"os"
	"strconv"

	"fyne.io/fyne/v2"
)

// envScale is where Fyne looks for the scale that the user wants.
const envScale = "FYNE_SCALE"

// startScale is the scale that the window was started with; what the settings
// ask for is on top of it.
var startScale = func() float64 {
	if s, err := strconv.ParseFloat(os.Getenv(envScale), 64); err == nil && s > 0 {
		return s
	}
	return 1
}()

// useScale sets the size of everything, in percent. It shows with the next
// change of the theme.
func useScale(percent int) {
	if percent == 0 {
		return // settings of an older Breakwater
	}
	_ = os.Setenv(envScale, strconv.FormatFloat(startScale*float64(percent)/100, 'f', 2, 64)) // a constant name
}

// calm is the app with all motion of the widgets switched off.
type calm struct{ fyne.App }

// Settings returns the app's settings without animations.
func (c calm) Settings() fyne.Settings { return still{c.App.Settings()} }

type still struct{ fyne.Settings }

// ShowAnimations says no.
func (still) ShowAnimations() bool { return false }

// useMotion switches the motion of widgets, such as the blinking of a cursor,
// off or on again.
func useMotion(a fyne.App, reduced bool) {
	if reduced {
		a = calm{a}
	}
	fyne.SetCurrentApp(a)
}
