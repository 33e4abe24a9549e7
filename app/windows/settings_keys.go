//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// keySettings lists the API keys of programs on this machine.
type keySettings struct {
	u     *ui
	keys  []control.APIKey
	known bool
	rows  *liveRows
	name  *field
	fresh *copyLine // a new key, whole, until the page is left
	note  *text
	box   fyne.CanvasObject
}

func newKeySettings(u *ui) *keySettings { return &keySettings{u: u} }

func (p *keySettings) build() fyne.CanvasObject {
	p.rows = newLiveRows(columns{gap: 12, edge: 0, list: []column{{width: 30}, {width: 110, flex: 2}, {width: 130, flex: 2}, {width: 100, flex: 1, priority: 1}, {width: 26}}},
		func() []fyne.CanvasObject {
			return []fyne.CanvasObject{newRowToggle(), newText("", view.RoleText).clipped(), newMono("").clipped(), newText("", view.RoleMuted).clipped(), newRowIcon("close", view.T("Delete…"))}
		})
	p.name = newField(view.T("what it is for, such as editor"))
	p.name.OnSubmitted = func(string) { p.add() }
	add := newButton(view.T("New key"), p.add).withIcon("add")
	p.fresh = newCopyLine(p.u, view.T("Copy the key"))
	p.note = newText(view.T("Copy it now: it is never shown whole again."), view.RoleMuted).wrapped()
	show(p.fresh.box, false)
	show(p.note, false)
	p.box = card(view.T("API keys"), nil, container.New(stack{gap},
		newText(view.T("Programs send one as their API key when you require keys above. A key that is switched off is refused at once."), view.RoleMuted).wrapped(),
		p.rows.box, container.New(line{gap: gap, grow: p.name}, p.name, add), p.fresh.box, p.note))
	return p.box
}

func (p *keySettings) load() {
	fetch(p.u, p.u.facade.Keys, func(keys []control.APIKey) {
		p.keys, p.known = keys, true
		p.apply()
	}, nil)
}

func (p *keySettings) apply() {
	if p.rows == nil || !p.known {
		return
	}
	p.rows.resize(len(p.keys))
	p.rows.empty(len(p.keys) == 0, view.T("None yet."))
	for i, k := range p.keys {
		cells := p.rows.rows[i].cells
		t := cells[0].(*toggle)
		t.set(k.Active)
		t.onChange = func(on bool) { p.change(k.ID, on) }
		cells[1].(*text).set(k.Name)
		cells[2].(*text).set(k.Key)
		cells[3].(*text).set(view.KeyNote(k, p.u.now()))
		cells[4].(*iconButton).onTap = func() { p.remove(k) }
	}
	p.box.Refresh()
}

func (p *keySettings) add() {
	name := strings.TrimSpace(p.name.Text)
	if name == "" {
		p.u.win.Canvas().Focus(p.name)
		return
	}
	call(p.u, func(ctx context.Context) (control.APIKey, error) {
		return p.u.facade.AddKey(ctx, control.KeyInput{Name: name})
	}, func(k control.APIKey) {
		p.name.SetText("")
		p.fresh.set(k.Key)
		show(p.fresh.box, true)
		show(p.note, true)
		p.load()
	}, nil)
}

func (p *keySettings) change(id string, on bool) {
	call(p.u, func(ctx context.Context) (control.APIKey, error) {
		return p.u.facade.EditKey(ctx, id, control.KeyPatch{Active: &on})
	}, func(control.APIKey) { p.load() }, func(err error) {
		p.u.frame.say(problem(err))
		p.load()
	})
}

func (p *keySettings) remove(k control.APIKey) {
	confirm(p.u.win.Canvas(), view.Tf("Delete the key %s?", k.Name), view.T("Programs that send it are refused from now on."), view.T("Delete"), func() {
		p.u.act(func(ctx context.Context) error { return p.u.facade.DeleteKey(ctx, k.ID) }, p.load)
	})
}
