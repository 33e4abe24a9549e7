package view

import "image/color"

// Palette is the set of colours of one variant of the theme.
type Palette struct {
	Page, Rail, Card, Input, Menu, Header color.NRGBA // grounds
	Text, Muted, Disabled                 color.NRGBA // texts
	Primary, Success, Warning, Error      color.NRGBA // states and accent
	OnPrimary, OnState                    color.NRGBA // texts on the above
	Line, InputLine, Scroll               color.NRGBA // lines
	Scrim, Shadow                         color.NRGBA // veils below dialogs and menus
	Hover, Pressed, Selected, Soft        color.NRGBA // veils over a ground
}

func rgb(v uint32) color.NRGBA {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
}

func veil(v uint32, alpha uint8) color.NRGBA {
	c := rgb(v)
	c.A = alpha
	return c
}

// Light is the light variant.
var Light = Palette{
	Page: rgb(0xF6F8FA), Rail: rgb(0xE9EEF2), Card: rgb(0xFFFFFF), Input: rgb(0xFFFFFF), Menu: rgb(0xF4F7F9), Header: rgb(0xF6F8FA),
	Text: rgb(0x16212B), Muted: rgb(0x4A5866), Disabled: rgb(0x515D69),
	Primary: rgb(0x0A5F95), Success: rgb(0x14693A), Warning: rgb(0x7D5000), Error: rgb(0xA8231C),
	OnPrimary: rgb(0xFFFFFF), OnState: rgb(0xFFFFFF),
	Line: rgb(0xDCE2E8), InputLine: rgb(0xB9C4CE), Scroll: veil(0x16212B, 0x50), Scrim: veil(0x16212B, 0x48), Shadow: veil(0x16212B, 0x26),
	Hover: veil(0x0A5F95, 0x0D), Pressed: veil(0x0A5F95, 0x22), Selected: veil(0x0A5F95, 0x1C), Soft: veil(0x0A5F95, 0x14),
}

// Dark is the dark variant.
var Dark = Palette{
	Page: rgb(0x131A21), Rail: rgb(0x0D1318), Card: rgb(0x1A232C), Input: rgb(0x131A21), Menu: rgb(0x232E39), Header: rgb(0x131A21),
	Text: rgb(0xE6ECF1), Muted: rgb(0xA6B4C1), Disabled: rgb(0x9DABB8),
	Primary: rgb(0x63B6E8), Success: rgb(0x63C98F), Warning: rgb(0xE3B355), Error: rgb(0xFFA197),
	OnPrimary: rgb(0x06202F), OnState: rgb(0x10161C),
	Line: rgb(0x2A3641), InputLine: rgb(0x455462), Scroll: veil(0xE6ECF1, 0x50), Scrim: veil(0x05080B, 0x99), Shadow: veil(0x05080B, 0x70),
	Hover: veil(0x63B6E8, 0x12), Pressed: veil(0x63B6E8, 0x2C), Selected: veil(0x63B6E8, 0x20), Soft: veil(0x63B6E8, 0x1C),
}

// Of returns the colour of a role.
func (p Palette) Of(r Role) color.NRGBA {
	switch r {
	case RoleMuted:
		return p.Muted
	case RoleDisabled:
		return p.Disabled
	case RoleSuccess:
		return p.Success
	case RoleWarning:
		return p.Warning
	case RoleError:
		return p.Error
	case RolePrimary:
		return p.Primary
	}
	return p.Text
}

// Blend mixes a share of over into a colour.
func Blend(c, over color.Color, share float64) color.NRGBA {
	a, b := color.NRGBAModel.Convert(c).(color.NRGBA), color.NRGBAModel.Convert(over).(color.NRGBA)
	mix := func(x, y uint8) uint8 { return uint8(float64(x)*(1-share) + float64(y)*share + 0.5) }
	return color.NRGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: a.A}
}
