//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// connectionDialog adds a connection or edits one.
type connectionDialog struct {
	u      *ui
	modal  *modal
	stored *control.Connection // nil while it is not added yet
	preset func(*view.Draft)

	form   *connectionForm
	title  *text
	picker *providerPicker
	scroll *container.Scroll
	right  *fyne.Container
	blank  fyne.CanvasObject

	verdict    *verdictLine
	save, test *button
	cancel     *button
}

// addDialog opens the dialog for a new connection; without a provider it lets
// choose one first. preset fills fields in before they are shown.
func (u *ui) addDialog(provider string, preset func(*view.Draft)) {
	u.withProviders(func() { u.openAdd(provider, preset) })
}

func (u *ui) openAdd(provider string, preset func(*view.Draft)) {
	d := &connectionDialog{u: u, preset: preset}
	d.build()
	d.title.set(view.T("Add a connection"))
	if p, ok := u.providerByID(provider); ok {
		d.picker.choose(p.ID)
		d.pick(p)
	} else {
		u.win.Canvas().Focus(d.picker.search)
	}
}

// editDialog opens the dialog for a stored connection.
func (u *ui) editDialog(c control.Connection) {
	p, ok := u.providerByID(c.Provider)
	if !ok { // the demo's providers are not in the catalogue
		p = control.Provider{ID: c.Provider, Name: c.ProviderName, AuthType: c.AuthType, Dialects: c.Dialects, Credentials: []string{c.Credential}, Claude: c.Claude}
	}
	d := &connectionDialog{u: u, stored: &c}
	d.build()
	d.title.set(view.Tf("Edit %s", c.Name))
	d.put(newConnectionForm(u, p, view.EditDraft(c), &c))
	u.win.Canvas().Focus(d.form.name)
}

func (d *connectionDialog) build() {
	d.title = newTitle("")
	d.verdict = newVerdictLine()
	d.cancel = newButton(view.T("Cancel"), func() { d.modal.cancel() })
	d.test = newButton(view.T("Test"), func() { d.store(true) })
	d.save = newPrimary(view.T("Add"), func() { d.store(false) })
	if d.stored != nil {
		d.save.set(view.T("Save"))
	} else {
		d.test.set(view.T("Add and test"))
	}
	d.save.enable(false)
	d.test.enable(false)
	d.blank = container.NewCenter(newText(view.T("Choose a provider at the left."), view.RoleMuted))
	d.scroll = container.NewVScroll(container.NewStack())
	d.right = container.NewStack(d.blank)
	space := canvas.NewRectangle(color.Transparent)
	buttons := container.New(line{gap: gap, grow: space}, space, d.cancel, d.test, d.save)
	foot := container.New(inset{12, gapEdge, gapGroup, gapEdge}, container.New(stack{10}, d.verdict.box, buttons))
	head := container.New(inset{18, gapEdge, 12, gapEdge}, d.title)
	var left fyne.CanvasObject
	width := float32(520)
	if d.stored == nil {
		d.picker = newProviderPicker(d.u.providers, d.pick)
		left, width = d.picker.box, 736
	}
	body := bordered(nil, foot, nil, nil, d.right)
	d.modal = openModal(d.u.win.Canvas(), bordered(head, nil, left, nil, body), width, 588, nil)
}

// pick takes a provider for a new connection, keeping what was typed.
func (d *connectionDialog) pick(p control.Provider) {
	if d.stored != nil {
		return
	}
	if d.form != nil && d.form.provider.ID == p.ID {
		d.u.win.Canvas().Focus(d.form.name)
		return
	}
	draft := view.NewDraft(p)
	if d.form != nil {
		was := d.form.read()
		draft.Name = was.Name
	}
	if d.preset != nil {
		d.preset(&draft)
		d.preset = nil
	}
	d.put(newConnectionForm(d.u, p, draft, nil))
	if !d.picker.stepping {
		d.u.win.Canvas().Focus(d.form.name)
	}
}

func (d *connectionDialog) put(f *connectionForm) {
	d.form = f
	for _, x := range []*field{f.name, f.key, f.base, f.model, f.models, f.way.address} {
		x.OnSubmitted = func(string) { d.store(false) }
	}
	d.scroll.Content = container.New(inset{4, gapEdge, 8, gapEdge}, f.box)
	d.scroll.Refresh()
	d.scroll.ScrollToTop()
	d.right.Objects = []fyne.CanvasObject{d.scroll}
	d.right.Refresh()
	d.save.enable(true)
	d.test.enable(true)
}

// store adds or saves; with a test it stays open and shows the verdict.
func (d *connectionDialog) store(test bool) {
	if d.save.disabled {
		return // the last one is still on its way
	}
	draft := d.form.read()
	p := d.form.provider
	d.lock(true)
	call(d.u, func(ctx context.Context) (control.Connection, error) {
		if d.stored == nil {
			return d.u.facade.AddConnection(ctx, draft.Input(p))
		}
		return d.u.facade.EditConnection(ctx, d.stored.ID, draft.Patch(*d.stored, p))
	}, func(c control.Connection) {
		d.lock(false)
		d.form.refuse(nil)
		d.u.put(c)
		if !test {
			d.modal.cancel()
			d.u.goTo(pageConnections + "/" + c.ID)
			return
		}
		d.added(c)
		d.try(c.ID)
	}, d.refused)
}

// added turns the dialog for a new connection into one for the stored one.
func (d *connectionDialog) added(c control.Connection) {
	d.stored = &c
	d.form.draft, d.form.stored = view.EditDraft(c), c.HasSecret
	d.form.key.SetText("")
	d.form.way.stored(c.ProxyURL)
	d.form.key.SetPlaceHolder(view.T("stored; paste another to replace it"))
	d.form.name.SetText(c.Name)
	d.title.set(view.Tf("Edit %s", c.Name))
	d.save.set(view.T("Save"))
	d.test.set(view.T("Test"))
	d.cancel.set(view.T("Close"))
	if d.picker != nil {
		d.picker.freeze()
	}
}

func (d *connectionDialog) try(id string) {
	d.verdict.busy()
	d.test.enable(false)
	call(d.u, func(ctx context.Context) (control.TestResult, error) { return d.u.facade.TestConnection(ctx, id) },
		func(r control.TestResult) { d.test.enable(true); d.verdict.show(view.NewVerdict(r)) },
		func(err error) {
			d.test.enable(true)
			d.verdict.show(view.Verdict{Shape: view.ShapeCross, Role: view.RoleError, Text: problem(err)})
		})
}

func (d *connectionDialog) lock(on bool) {
	d.save.enable(!on)
	d.test.enable(!on)
}

func (d *connectionDialog) refused(err error) {
	d.lock(false)
	var invalid *control.InvalidError
	if !errors.As(err, &invalid) {
		d.verdict.show(view.Verdict{Shape: view.ShapeCross, Role: view.RoleError, Text: problem(err)})
		return
	}
	d.verdict.hide()
	if e := d.form.entryOf(invalid.Fields); e != nil {
		d.u.win.Canvas().Focus(e)
	}
	if rest := d.form.refuse(invalid.Fields); rest != "" {
		d.verdict.show(view.Verdict{Shape: view.ShapeCross, Role: view.RoleError, Text: sentenceCase(rest)})
	}
}
