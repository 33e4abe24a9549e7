//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// providerPicker is the searchable, grouped list of the catalogue.
type providerPicker struct {
	all    []control.Provider
	chosen string
	frozen bool
	// stepping tells that the arrow keys choose and keep the focus.
	stepping bool
	onPick   func(control.Provider)
	search   *field
	list     *fyne.Container
	box      fyne.CanvasObject
}

func newProviderPicker(all []control.Provider, pick func(control.Provider)) *providerPicker {
	p := &providerPicker{all: all, onPick: pick, search: newField(view.T("Search providers"))}
	p.search.OnChanged = func(string) { p.fill() }
	p.search.OnSubmitted = func(string) { p.first() }
	p.search.onKey = p.key
	p.search.Icon = drawing("search", colorMuted)
	p.list = container.New(stack{0})
	scroll := container.NewVScroll(container.New(inset{0, 8, 12, 12}, p.list))
	rule := canvas.NewRectangle(paint(theme.ColorNameSeparator))
	rule.SetMinSize(fyne.NewSize(1, 1))
	p.box = container.New(sized{width: 236}, bordered(container.New(inset{0, 12, 8, gapEdge}, p.search), nil, nil, rule, scroll))
	p.fill()
	return p
}

func (p *providerPicker) fill() {
	p.list.Objects = nil
	groups := view.Group(p.all, p.search.Text)
	for _, g := range groups {
		p.list.Objects = append(p.list.Objects, container.New(inset{8, 0, 2, 12}, newCaption(g.Title)))
		for _, one := range g.Providers {
			r := newRow(&columns{edge: 12, list: []column{{width: 60, flex: 1}}}, 28, newText(one.Name, view.RoleText).clipped())
			r.chosen = one.ID == p.chosen
			r.onTap = func() { p.take(one) }
			p.list.Objects = append(p.list.Objects, r)
		}
	}
	if len(groups) == 0 {
		p.list.Objects = append(p.list.Objects, container.New(inset{8, 12, 0, 12},
			newText(view.T("No provider is called that. Custom takes any base URL."), view.RoleMuted).wrapped()))
	}
	p.list.Refresh()
}

func (p *providerPicker) take(one control.Provider) {
	if p.frozen {
		return
	}
	p.choose(one.ID)
	p.onPick(one)
}

// key goes through the list with the arrow keys.
func (p *providerPicker) key(name fyne.KeyName) bool {
	step := 0
	switch name {
	case fyne.KeyDown:
		step = 1
	case fyne.KeyUp:
		step = -1
	default:
		return false
	}
	var list []control.Provider
	at := -1
	for _, g := range view.Group(p.all, p.search.Text) {
		for _, one := range g.Providers {
			if one.ID == p.chosen {
				at = len(list)
			}
			list = append(list, one)
		}
	}
	if at = max(0, at+step); at < len(list) {
		p.stepping = true
		p.take(list[at])
		p.stepping = false
	}
	return true
}

// first takes the provider chosen with the arrows, or else the first one that
// the search left, and goes on to the form.
func (p *providerPicker) first() {
	groups := view.Group(p.all, p.search.Text)
	for _, g := range groups {
		for _, one := range g.Providers {
			if one.ID == p.chosen {
				p.take(one)
				return
			}
		}
	}
	if len(groups) > 0 {
		p.take(groups[0].Providers[0])
	}
}

func (p *providerPicker) choose(id string) {
	p.chosen = id
	p.fill()
}

// freeze ends choosing once the connection is stored.
func (p *providerPicker) freeze() {
	p.frozen = true
	p.search.Disable()
}
