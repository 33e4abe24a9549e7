//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// wayField lets the way out of a connection be chosen, and its proxy be named.
type wayField struct {
	way     *choice
	address *field
	box     *fyne.Container
}

func newWayField(proxyURL string) *wayField {
	way, address := view.WayOf(proxyURL)
	f := &wayField{address: entry("http://proxy.example:3128", address)}
	f.way = newChoice(nil, func(string) { f.apply() })
	f.way.offer(view.Ways(), way)
	f.box = container.New(stack{gapSmall}, f.way.boxed(), f.address)
	f.apply()
	return f
}

// stored takes over what the facade shows of the way: without its login.
func (f *wayField) stored(proxyURL string) {
	way, address := view.WayOf(proxyURL)
	f.way.offer(view.Ways(), way)
	f.address.SetText(address)
	f.apply()
}

// apply shows the address where there is one to give.
func (f *wayField) apply() {
	if f.box == nil {
		return // not put together yet
	}
	show(f.address, f.way.chosen(f.way.Selected) == view.WayProxy)
	f.box.Refresh()
}

// value is what was chosen as a proxyUrl.
func (f *wayField) value() string {
	return view.ProxyURL(f.way.chosen(f.way.Selected), f.address.Text)
}
