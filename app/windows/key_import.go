//go:build (cgo || ci) && !nogui

package windows

import (
	"context"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/setup"
	"breakwater/app/windows/view"
)

// keyImport is the dialog that makes connections of keys that lie on this
// machine. It looks for them when it is opened, which only the user does.
type keyImport struct {
	u      *ui
	modal  *modal
	offers []view.KeyOffer
	on     []*keyToggle
	list   *fyne.Container
	note   *text
	ok     *button
}

// importDialog looks for keys and offers them.
func (u *ui) importDialog() {
	u.withProviders(func() {
		d := &keyImport{u: u, list: container.New(stack{12}), note: newText(view.T("Looking…"), view.RoleMuted).wrapped()}
		d.build()
		finder := u.options.Clients
		finder.Getenv = u.getenv
		names := view.KeyNames(u.providers)
		call(u, func(context.Context) ([]setup.Key, error) { return finder.Keys(names), nil }, d.found, nil)
	})
}

func (d *keyImport) build() {
	d.ok = newPrimary(view.T("Import"), d.take)
	d.ok.enable(false)
	title := newText(view.T("Import keys"), view.RoleText).bold()
	title.size = 15
	intro := newText(view.T("Looked for once, now, in the environment of Breakwater, in the settings of Claude Code, Codex, opencode, aider, Continue and llm, and in the .env file of your home folder. Those files stay as they are."), view.RoleMuted).wrapped()
	head := container.New(inset{20, gapEdge, 12, gapEdge}, container.New(stack{gap}, title, intro, d.note))
	foot := container.New(inset{12, gapEdge, gapGroup, gapEdge}, rightAligned(newButton(view.T("Cancel"), func() { d.modal.cancel() }), d.ok))
	d.modal = openModal(d.u.win.Canvas(), bordered(head, foot, nil, nil, container.NewVScroll(container.New(inset{4, gapEdge, 8, gapEdge}, d.list))), 560, 460, nil)
}

func (d *keyImport) found(keys []setup.Key) {
	d.offers = view.KeyOffers(keys, d.u.providers, d.u.snap)
	d.note.set(view.T("Choose what becomes a connection."))
	if len(d.offers) == 0 {
		d.note.set(view.T("No key was found. Add a connection and paste one."))
	}
	for _, o := range d.offers {
		t := newToggle(func(bool) { d.awake() })
		t.on = o.On
		d.on = append(d.on, t)
		note := o.Where
		if o.Note != "" {
			note += "\n" + o.Note
		}
		d.list.Add(switchLine(t, o.Name, note))
	}
	d.list.Refresh()
	d.awake()
}

// awake lets the import begin when something is chosen.
func (d *keyImport) awake() {
	any := false
	for _, t := range d.on {
		any = any || t.on
	}
	d.ok.enable(any)
}

// take adds what is chosen, one after the other.
func (d *keyImport) take() {
	var chosen []view.KeyOffer
	for i, o := range d.offers {
		if d.on[i].on {
			chosen = append(chosen, o)
		}
	}
	d.ok.enable(false)
	type outcome struct{ added, failed []string }
	call(d.u, func(ctx context.Context) (out outcome, err error) {
		for _, o := range chosen {
			if _, err := d.u.facade.AddConnection(ctx, o.Input()); err != nil {
				out.failed = append(out.failed, o.Name)
			} else {
				out.added = append(out.added, o.Name)
			}
		}
		return out, ctx.Err()
	}, func(out outcome) {
		d.modal.cancel()
		tell := d.u.frame.tell
		if len(out.failed) > 0 {
			tell = d.u.frame.say
		}
		tell(view.KeysImported(out.added, out.failed))
	}, nil)
}
