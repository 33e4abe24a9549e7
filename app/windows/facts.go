//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"maps"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// factCard lists what the user knows better about models than the built-in
// table.
type factCard struct {
	u     *ui
	all   control.AllSettings
	known bool
	rows  *liveRows
	box   fyne.CanvasObject
	keep  func(control.AllSettings) // takes over what is in force, and tells it to take
}

func newFactCard(u *ui, keep func(control.AllSettings)) *factCard {
	c := &factCard{u: u, keep: keep}
	c.rows = newLiveRows(columns{gap: 12, edge: 8, list: []column{
		{title: view.T("Model"), width: 150, flex: 3},
		{title: view.T("Price per million tokens"), width: 110, flex: 2},
		{title: view.T("Window"), width: 74, right: true},
		{title: view.T("More"), width: 90, flex: 2, priority: 1},
		{width: 28},
	}}, func() []fyne.CanvasObject {
		return []fyne.CanvasObject{
			newText("", view.RoleText).clipped(), newText("", view.RoleMuted).clipped(), newText("", view.RoleMuted).right(), newText("", view.RoleMuted).clipped(),
			newIconButton("close", view.T("Delete…"), nil),
		}
	})
	add := newButton(view.T("Add model…"), func() { c.edit("") }).withIcon("add")
	note := container.New(inset{0, 8, gap, 8}, newText(view.T("What you know better about models than the built-in table: prices, windows and abilities. Combos that go by price, size or ability use it."), view.RoleMuted).wrapped())
	c.box = flush(view.T("Models"), add, container.New(stack{0}, note, newTableHead(&c.rows.cols, nil).kept(u, "facts", c.rows.settle), c.rows.box))
	return c
}

func (c *factCard) take(a control.AllSettings) {
	c.all, c.known = a, true
	list := view.FactRows(a.ModelFacts)
	c.rows.resize(len(list))
	c.rows.empty(len(list) == 0, view.T("None yet."))
	for i, v := range list {
		r := c.rows.rows[i]
		for at, s := range []string{v.Model, v.Price, v.Window, v.More} {
			r.cells[at].(*text).set(s)
		}
		r.onTap = func() { c.edit(v.Model) }
		r.cells[4].(*keyIcon).onTap = func() { c.ask(v.Model) }
	}
}

// store replaces the corrections whole, unless somebody changed the settings
// meanwhile.
func (c *factCard) store(next map[string]control.ModelFact, done func(), fail func(error)) {
	revision := c.all.Revision
	change := control.AllSettingsPatch{ExpectedRevision: &revision}
	change.ModelFacts = &next
	call(c.u, func(ctx context.Context) (control.AllSettings, error) { return c.u.facade.EditAllSettings(ctx, change) },
		func(a control.AllSettings) {
			c.keep(a)
			if done != nil {
				done()
			}
		}, func(err error) {
			if _, moved := errors.AsType[*control.ConflictError](err); moved { // the next try is over what is there now
				fetch(c.u, c.u.facade.AllSettings, c.keep, nil)
			}
			if fail != nil {
				fail(err)
				return
			}
			c.u.frame.say(problem(err))
		})
}

func (c *factCard) ask(model string) {
	confirm(c.u.win.Canvas(), view.Tf("Forget what you know of %s?", model), view.T("The built-in table holds again for it."), view.T("Delete"), func() {
		next := maps.Clone(c.all.ModelFacts)
		delete(next, model)
		c.store(next, nil, nil)
	})
}

// edit opens the dialog for a model, or for a new one.
func (c *factCard) edit(model string) {
	if !c.known {
		return
	}
	title, d := view.T("Add a model"), view.FactDraft{}
	if model != "" {
		title, d = view.Tf("Edit %s", model), view.DraftOfFact(model, c.all.ModelFacts[model])
	}
	newFactDialog(c, title, model, d)
}

// factDialog edits what is known of one model.
type factDialog struct {
	c       *factCard
	was     string
	modal   *modal
	fields  map[string]*field
	choices map[string]*choice
	thinks  *keyToggle
	lines   map[string]*formLine
	said    *text
	save    *button
}

func newFactDialog(c *factCard, title, was string, draft view.FactDraft) {
	d := &factDialog{c: c, was: was, fields: map[string]*field{}, choices: map[string]*choice{}, lines: map[string]*formLine{}, said: newText("", view.RoleError).wrapped()}
	typed := func(key, label, hint, value string) fyne.CanvasObject {
		f := entry("", value)
		f.OnSubmitted = func(string) { d.store() }
		if key != "model" {
			f.OnChanged = func(s string) {
				if t := view.Figure(s); t != s {
					f.SetText(t)
				}
			}
		}
		d.fields[key], d.lines[key] = f, newFormLine(label, hint, f)
		return d.lines[key].box
	}
	pick := func(key, label string, options []view.Option, value string) fyne.CanvasObject {
		x := newChoice(nil, nil)
		x.offer(options, value)
		d.choices[key], d.lines[key] = x, newFormLine(label, "", x.boxed())
		return d.lines[key].box
	}
	pair := halves{gap: gapGroup}
	dollars, table := view.T("Dollars a million tokens."), view.T("Empty: as the table says.")
	d.thinks = newToggle(nil)
	d.thinks.on = draft.Reasoning
	body := container.New(stack{12},
		typed("model", view.T("Model"), view.T("As provider/model, or the name alone for every provider."), draft.Model),
		container.New(pair, typed("input", view.T("Price of requests"), dollars, draft.Input), typed("output", view.T("Price of answers"), dollars, draft.Output)),
		container.New(pair, typed("context", view.T("Window in tokens"), table, draft.Context), typed("maxOutput", view.T("Longest answer in tokens"), table, draft.MaxOutput)),
		container.New(pair, pick("tier", view.T("Taken for"), view.Tiers(), draft.Tier), pick("tools", view.T("Uses tools"), view.YesNo(), draft.Tools)),
		container.New(pair, pick("vision", view.T("Sees images"), view.YesNo(), draft.Vision), pick("schema", view.T("Answers in JSON when asked"), view.YesNo(), draft.Schema)),
		switchLine(d.thinks, view.T("Thinks first"), view.T("A reasoning model needs room for its thoughts.")), d.said)
	d.said.Hide()
	d.save = newPrimary(view.T("Save"), d.store)
	head := container.New(inset{18, gapEdge, 12, gapEdge}, newTitle(title))
	foot := container.New(inset{12, gapEdge, gapGroup, gapEdge}, rightAligned(newButton(view.T("Cancel"), func() { d.modal.cancel() }), d.save))
	d.modal = openModal(c.u.win.Canvas(), bordered(head, foot, nil, nil, container.NewVScroll(container.New(inset{4, gapEdge, 4, gapEdge}, body))), 520, 560, nil)
	c.u.win.Canvas().Focus(d.fields["model"])
}

func (d *factDialog) read() view.FactDraft {
	chosen := func(key string) string { return d.choices[key].chosen(d.choices[key].Selected) }
	return view.FactDraft{
		Model: d.fields["model"].Text, Input: d.fields["input"].Text, Output: d.fields["output"].Text, Context: d.fields["context"].Text, MaxOutput: d.fields["maxOutput"].Text,
		Tools: chosen("tools"), Vision: chosen("vision"), Schema: chosen("schema"), Tier: chosen("tier"), Reasoning: d.thinks.on,
	}
}

func (d *factDialog) store() {
	for _, l := range d.lines {
		l.wrong("")
	}
	show(d.said, false)
	next, wrong := view.ReplaceFact(d.c.all.ModelFacts, d.was, d.read())
	for _, e := range wrong {
		d.lines[e.Field].wrong(e.Message)
	}
	if len(wrong) > 0 {
		d.c.u.win.Canvas().Focus(d.fields[wrong[0].Field])
		return
	}
	d.save.enable(false)
	d.c.store(next, func() { d.modal.cancel() }, func(err error) {
		d.save.enable(true)
		d.said.show(problem(err), view.RoleError)
		show(d.said, true)
	})
}
