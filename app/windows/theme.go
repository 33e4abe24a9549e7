//go:build (cgo || ci) && !nogui

package windows

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"

	"breakwater/app/windows/view"
)

// Colour names of our own, beside Fyne's.
const (
	colorRail   fyne.ThemeColorName = "rail"
	colorCard   fyne.ThemeColorName = "card"
	colorMuted  fyne.ThemeColorName = "muted"
	colorSoft   fyne.ThemeColorName = "soft"
	colorScrim  fyne.ThemeColorName = "scrim"
	colorMenuBg fyne.ThemeColorName = "menuGround"
)

// Spacing on a grid of 4 pixels: between related things, between groups, at
// the window's edges.
const (
	gapSmall  float32 = 4
	gap       float32 = 8
	gapGroup  float32 = 16
	gapEdge   float32 = 24
	rowHeight float32 = 30
	radius    float32 = 6
)

// The three text sizes.
const (
	sizeTitle   float32 = 19
	sizeBody    float32 = 13
	sizeCaption float32 = 11.5
)

// look is the theme: Fyne's fonts and icons with our colours and sizes.
type look struct {
	fyne.Theme
	mode string // system, light or dark
}

func newLook(mode string) *look { return &look{Theme: theme.DefaultTheme(), mode: mode} }

func (l *look) palette(v fyne.ThemeVariant) view.Palette {
	switch {
	case l.mode == "dark", l.mode != "light" && v == theme.VariantDark:
		return view.Dark
	default:
		return view.Light
	}
}

// Color returns a colour of the palette of the variant, or of the variant that
// the user fixed.
func (l *look) Color(name fyne.ThemeColorName, v fyne.ThemeVariant) color.Color {
	p := l.palette(v)
	if c, ok := colorOf(p, name); ok {
		return c
	}
	if l.mode == "dark" {
		v = theme.VariantDark
	} else if l.mode == "light" {
		v = theme.VariantLight
	}
	return l.Theme.Color(name, v)
}

func colorOf(p view.Palette, name fyne.ThemeColorName) (color.NRGBA, bool) {
	if c, ok := groundOf(p, name); ok {
		return c, true
	}
	switch name {
	case theme.ColorNameForeground:
		return p.Text, true
	case colorMuted, theme.ColorNamePlaceHolder:
		return p.Muted, true
	case theme.ColorNameDisabled:
		return p.Disabled, true
	case theme.ColorNamePrimary, theme.ColorNameHyperlink:
		return p.Primary, true
	case theme.ColorNameSuccess:
		return p.Success, true
	case theme.ColorNameWarning:
		return p.Warning, true
	case theme.ColorNameError:
		return p.Error, true
	case theme.ColorNameForegroundOnPrimary:
		return p.OnPrimary, true
	case theme.ColorNameForegroundOnError, theme.ColorNameForegroundOnSuccess, theme.ColorNameForegroundOnWarning:
		return p.OnState, true
	}
	return color.NRGBA{}, false
}

func groundOf(p view.Palette, name fyne.ThemeColorName) (color.NRGBA, bool) {
	switch name {
	case theme.ColorNameBackground, theme.ColorNameHeaderBackground:
		return p.Page, true
	case colorRail:
		return p.Rail, true
	case colorCard, theme.ColorNameOverlayBackground:
		return p.Card, true
	case theme.ColorNameInputBackground:
		return p.Input, true
	case theme.ColorNameMenuBackground, colorMenuBg:
		return p.Menu, true
	case theme.ColorNameButton, theme.ColorNameDisabledButton, colorSoft:
		return p.Soft, true
	case theme.ColorNameHover:
		return p.Hover, true
	case theme.ColorNamePressed:
		return p.Pressed, true
	case theme.ColorNameSelection, theme.ColorNameFocus:
		return p.Selected, true
	case theme.ColorNameSeparator:
		return p.Line, true
	case theme.ColorNameInputBorder:
		return p.InputLine, true
	case theme.ColorNameScrollBar:
		return p.Scroll, true
	case theme.ColorNameScrollBarBackground:
		return color.NRGBA{}, true
	case colorScrim:
		return p.Scrim, true
	case theme.ColorNameShadow:
		return p.Shadow, true // menus and scrolled edges only: cards and dialogs draw none
	}
	return color.NRGBA{}, false
}

// Size returns the sizes of the product: tight rows, thin lines, small
// corners.
func (l *look) Size(name fyne.ThemeSizeName) float32 {
	switch name {
	case theme.SizeNameText:
		return sizeBody
	case theme.SizeNameCaptionText:
		return sizeCaption
	case theme.SizeNameHeadingText, theme.SizeNameSubHeadingText:
		return sizeTitle
	case theme.SizeNameInnerPadding:
		return 6
	case theme.SizeNamePadding:
		return gapSmall
	case theme.SizeNameInlineIcon:
		return 16
	case theme.SizeNameSeparatorThickness, theme.SizeNameInputBorder, theme.SizeNameSplitThickness:
		return 1
	case theme.SizeNameScrollBar:
		return 10
	case theme.SizeNameScrollBarSmall:
		return 4
	case theme.SizeNameInputRadius, theme.SizeNameSelectionRadius, theme.SizeNameButtonRadius, theme.SizeNameCardRadius,
		theme.SizeNameDialogRadius, theme.SizeNamePopupRadius, theme.SizeNameMenuRadius:
		return radius
	case theme.SizeNameModalBlurRadius:
		return 0
	}
	return l.Theme.Size(name)
}

// roleColor returns the theme's name for a role's colour.
func roleColor(r view.Role) fyne.ThemeColorName {
	switch r {
	case view.RoleMuted:
		return colorMuted
	case view.RoleDisabled:
		return theme.ColorNameDisabled
	case view.RoleSuccess:
		return theme.ColorNameSuccess
	case view.RoleWarning:
		return theme.ColorNameWarning
	case view.RoleError:
		return theme.ColorNameError
	case view.RolePrimary:
		return theme.ColorNamePrimary
	}
	return theme.ColorNameForeground
}

// paint returns the present value of a named colour.
func paint(name fyne.ThemeColorName) color.Color {
	s := fyne.CurrentApp().Settings()
	return s.Theme().Color(name, s.ThemeVariant())
}
