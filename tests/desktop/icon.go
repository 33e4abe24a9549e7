//go:build linux

package desktop

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const iconFace = "org.kde.StatusNotifierItem"

// Icon is a program's tray icon, as a panel sees it.
type Icon struct {
	p  *Panel
	at address
}

// Entry is one entry of a tray menu.
type Entry struct {
	ID        int32
	Label     string // underscores as the program sends them
	Enabled   bool
	Separator bool
	Checkable bool
	Checked   bool
	Children  []Entry
}

func (i *Icon) property(name string) dbus.Variant {
	i.p.d.t.Helper()
	v, err := i.p.conn.Object(i.at.name, i.at.path).GetProperty(iconFace + "." + name)
	if err != nil {
		i.p.d.t.Fatalf("property %s: %v", name, err)
	}
	return v
}

// Title returns the icon's title.
func (i *Icon) Title() string {
	s, _ := i.property("Title").Value().(string)
	return s
}

// Tooltip returns the text beside the icon.
func (i *Icon) Tooltip() string {
	var tip struct {
		Name        string
		Icons       []pixmap
		Title, Text string
	}
	if err := i.property("ToolTip").Store(&tip); err != nil {
		i.p.d.t.Fatal(err)
	}
	return tip.Title
}

// pixmap is ARGB32 in network order.
type pixmap struct {
	W, H int32
	Data []byte
}

// Picture returns the icon.
func (i *Icon) Picture() image.Image {
	i.p.d.t.Helper()
	var maps []pixmap
	if err := i.property("IconPixmap").Store(&maps); err != nil || len(maps) == 0 {
		i.p.d.t.Fatalf("the icon has no pixmap: %v", err)
	}
	m := maps[0]
	img := image.NewNRGBA(image.Rect(0, 0, int(m.W), int(m.H)))
	for n := range int(m.W * m.H) {
		px := m.Data[4*n:]
		img.SetNRGBA(n%int(m.W), n/int(m.W), color.NRGBA{A: px[0], R: px[1], G: px[2], B: px[3]})
	}
	return img
}

// Activate is a click on the icon itself.
func (i *Icon) Activate() {
	i.p.d.t.Helper()
	err := i.p.conn.Object(i.at.name, i.at.path).Call(iconFace+".Activate", 0, int32(0), int32(0)).Err
	if err != nil {
		i.p.d.t.Fatal(err)
	}
}

func (i *Icon) menu() dbus.BusObject {
	path, _ := i.property("Menu").Value().(dbus.ObjectPath)
	return i.p.conn.Object(i.at.name, path)
}

// layout is a node of the menu on the bus.
type layout struct {
	ID       int32
	Props    map[string]dbus.Variant
	Children []dbus.Variant
}

// Menu reads the whole menu.
func (i *Icon) Menu() []Entry {
	i.p.d.t.Helper()
	var root layout
	menu := i.menu()
	// The first answer after a rebuild has one level only, for the sake of some
	// panels, which ask twice like this.
	for range 2 {
		var revision uint32
		call := menu.Call(menuFace+".GetLayout", 0, int32(0), int32(-1), []string{})
		if err := call.Store(&revision, &root); err != nil {
			i.p.d.t.Fatalf("read the menu: %v", err)
		}
	}
	return entry(root).Children
}

func entry(l layout) Entry {
	text := func(key string) string {
		s, _ := l.Props[key].Value().(string)
		return s
	}
	e := Entry{
		ID: l.ID, Label: text("label"), Enabled: true,
		Separator: text("type") == "separator", Checkable: text("toggle-type") == "checkmark",
	}
	if v, ok := l.Props["enabled"].Value().(bool); ok {
		e.Enabled = v
	}
	if v, ok := l.Props["toggle-state"].Value().(int32); ok {
		e.Checked = v == 1
	}
	for _, c := range l.Children {
		var child layout
		if dbus.Store([]any{c.Value()}, &child) == nil {
			e.Children = append(e.Children, entry(child))
		}
	}
	return e
}

// Find walks down a menu; each step is a part of a label.
func Find(menu []Entry, labels ...string) (Entry, bool) {
	for _, e := range menu {
		if e.Separator || !strings.Contains(e.Label, labels[0]) {
			continue
		}
		if len(labels) == 1 {
			return e, true
		}
		if f, ok := Find(e.Children, labels[1:]...); ok {
			return f, true
		}
	}
	return Entry{}, false
}

// Click clicks the entry that the labels lead to.
func (i *Icon) Click(labels ...string) {
	i.p.d.t.Helper()
	menu := i.Menu()
	e, ok := Find(menu, labels...)
	if !ok {
		i.p.d.t.Fatalf("no entry %q in\n%s", labels, Text(menu))
	}
	now := uint32(time.Now().Unix())
	err := i.menu().Call(menuFace+".Event", 0, e.ID, "clicked", dbus.MakeVariant(int32(0)), now).Err
	if de, ok := errors.AsType[dbus.Error](err); ok && de.Name == "org.freedesktop.DBus.Error.NoReply" {
		return // Quit may end the program before it answers
	}
	if err != nil {
		i.p.d.t.Fatalf("click %q: %v", labels, err)
	}
}

// Until waits until the menu is as ok wants it.
func (i *Icon) Until(what string, ok func([]Entry) bool) {
	i.p.d.t.Helper()
	if !poll(patience, func() bool { return ok(i.Menu()) }) {
		i.p.d.t.Fatalf("the menu never had %s:\n%s", what, Text(i.Menu()))
	}
}

// UntilText waits until the menu's text contains part.
func (i *Icon) UntilText(part string) {
	i.p.d.t.Helper()
	i.Until(fmt.Sprintf("%q", part), func(m []Entry) bool { return strings.Contains(Text(m), part) })
}

// Text prints a menu: check boxes as [x] and [ ], grey entries in brackets.
func Text(menu []Entry) string {
	var b strings.Builder
	var walk func([]Entry, string)
	walk = func(es []Entry, indent string) {
		for _, e := range es {
			b.WriteString(indent)
			switch {
			case e.Separator:
				b.WriteString("---")
			case e.Checkable && e.Checked:
				b.WriteString("[x] " + e.Label)
			case e.Checkable:
				b.WriteString("[ ] " + e.Label)
			case !e.Enabled:
				b.WriteString("(" + e.Label + ")")
			default:
				b.WriteString(e.Label)
			}
			b.WriteByte('\n')
			walk(e.Children, indent+"    ")
		}
	}
	walk(menu, "")
	return b.String()
}
