//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// comboDialog edits one combo.
type comboDialog struct {
	u     *ui
	modal *modal
	draft view.ComboDraft

	name       *field
	strategies []string
	strategy   *choice
	help       *text
	places     []view.Place
	place      *choice
	model      *field
	steps      *stepList
	wrong      *text
	save       *button

	ahead *text // where a request would go
	turn  int   // tells a late look ahead that it is stale
}

// comboDialog opens the editor of a combo, or of a new one for nil.
func (u *ui) comboDialog(c *control.Combo) *comboDialog {
	d := &comboDialog{u: u, draft: view.NewComboDraft(c), strategies: control.ComboStrategies()}
	d.build(c == nil)
	u.win.Canvas().Focus(d.name)
	return d
}

func (d *comboDialog) build(fresh bool) {
	d.name = entry("coding", d.draft.Name)
	d.name.OnSubmitted = func(string) { d.store() }
	d.help, d.wrong = newText("", view.RoleMuted).wrapped(), newText("", view.RoleError).wrapped()
	d.wrong.Hide()
	d.ahead = newText("", view.RoleMuted).wrapped()
	d.ahead.Hide()
	d.strategy = newChoice(words(d.strategies, strategyWord), func(string) { d.chosen() })
	d.strategy.show(strategyWord(d.draft.Strategy))
	all := pageOfUI[*combos](d.u).list
	d.places = view.Places(d.u.snap, all, d.draft.ID)
	d.place = newChoice(words(d.places, func(p view.Place) string { return p.Word }), func(string) { d.suggest() })
	d.model = entry(view.T("model, such as claude-sonnet-4-5"), "")
	d.model.OnSubmitted = func(string) { d.add() }
	d.steps = newStepList(d)
	d.save = newPrimary(view.T("Save"), d.store)
	cancel := newButton(view.T("Cancel"), func() { d.modal.cancel() })
	add := newButton(view.T("Add target"), d.add).withIcon("add")
	title := view.T("Edit combo")
	if fresh {
		title = view.T("New combo")
	}
	place := container.New(sized{width: 210}, d.place.boxed())
	targets := container.New(stack{gapSmall}, newText(view.T("Targets"), view.RoleText),
		newCaption(view.T("Drag them by the handle, or use Alt with the arrow keys, to change the order.")).wrapped(),
		d.steps.box, container.New(inset{4, 0, 0, 0}, container.New(line{gap: gap, grow: d.model}, place, d.model, add)))
	body := container.New(stack{12},
		newFormLine(view.T("Name"), view.T("What your agent asks for as a model. Letters, digits, dots, hyphens and underscores."), d.name).box,
		newFormLine(view.T("Strategy"), "", container.New(stack{gapSmall}, container.New(line{}, container.New(sized{width: 260}, d.strategy.boxed())), d.help)).box,
		targets, d.ahead, d.wrong)
	head := container.New(inset{18, gapEdge, 12, gapEdge}, newTitle(title))
	foot := container.New(inset{12, gapEdge, gapGroup, gapEdge}, rightAligned(cancel, d.save))
	scroll := container.NewVScroll(container.New(inset{4, gapEdge, 4, gapEdge}, body))
	d.modal = openModal(d.u.win.Canvas(), bordered(head, foot, nil, nil, scroll), 660, 600, nil)
	d.chosen()
}

func strategyWord(name string) string {
	word, _ := view.Strategy(name)
	return word
}

// chosen shows what the strategy does.
func (d *comboDialog) chosen() {
	if at := d.strategy.SelectedIndex(); at >= 0 {
		d.draft.Strategy = d.strategies[at]
	}
	_, help := view.Strategy(d.draft.Strategy)
	d.help.set(help)
	d.steps.apply()
	d.again()
}

// suggest puts the connection's default model in where none is typed.
func (d *comboDialog) suggest() {
	at := d.place.SelectedIndex()
	if at < 0 || d.model.Text != "" {
		return
	}
	if c, ok := d.u.connectionByID(d.places[at].Connection); ok {
		d.model.SetText(c.DefaultModel)
	}
}

func (d *comboDialog) add() {
	var p view.Place
	if at := d.place.SelectedIndex(); at >= 0 {
		p = d.places[at]
	}
	if wrong := d.draft.Add(p, d.model.Text); wrong != "" {
		d.refuse(wrong)
		return
	}
	d.refuse("")
	d.model.SetText("")
	d.steps.apply()
	d.again()
}

// refuse says what is wrong; an empty text takes it back.
func (d *comboDialog) refuse(s string) {
	d.wrong.set(s)
	show(d.wrong, s != "")
	d.again()
}

// aheadRest is how long the draft must rest before it is looked ahead for.
const aheadRest = 250 * time.Millisecond

// lookAhead tells where a request for the draft would go.
func (d *comboDialog) lookAhead() {
	d.turn++
	turn := d.turn
	d.u.after(aheadRest, func() {
		if turn == d.turn {
			d.ask(turn)
		}
	})
}

func (d *comboDialog) ask(turn int) {
	if len(d.draft.Steps) == 0 {
		d.sayAhead("")
		return
	}
	draft := d.draft.Input()
	draft.Name = d.name.Text
	fetch(d.u, func(ctx context.Context) (control.ComboPreview, error) {
		return d.u.facade.PreviewCombo(ctx, control.PreviewRequest{ID: d.draft.ID, Draft: &draft})
	}, func(p control.ComboPreview) {
		if turn == d.turn {
			d.sayAhead(view.ComboAhead(p, d.u.snap, d.u.now()))
		}
	}, func(error) { d.sayAhead("") }) // Save will say what is wrong
}

func (d *comboDialog) sayAhead(s string) {
	d.ahead.set(s)
	show(d.ahead, s != "")
	if d.modal != nil {
		d.modal.Refresh()
	}
}

// again lays the dialog out anew and looks ahead again.
func (d *comboDialog) again() {
	d.lookAhead()
	if d.modal != nil {
		d.modal.Refresh()
	}
}

func (d *comboDialog) store() {
	d.draft.Name = d.name.Text
	if wrong := d.draft.Check(); wrong != "" {
		d.refuse(wrong)
		return
	}
	if d.save.disabled {
		return
	}
	d.refuse("")
	d.save.enable(false)
	call(d.u, func(ctx context.Context) (control.Combo, error) {
		if d.draft.ID == "" {
			return d.u.facade.AddCombo(ctx, d.draft.Input())
		}
		return d.u.facade.EditCombo(ctx, d.draft.ID, d.draft.Patch())
	}, func(c control.Combo) {
		d.modal.cancel()
		p := pageOfUI[*combos](d.u)
		p.chosen = c.ID
		p.load()
	}, func(err error) {
		d.save.enable(true)
		d.refuse(comboProblem(err))
	})
}

// comboProblem returns a refusal of a combo in words.
func comboProblem(err error) string {
	if refused, ok := errors.AsType[*control.ComboError](err); ok {
		return view.ComboProblem(refused)
	}
	return problem(err)
}

// pageOfUI returns the window's page of a kind; every window has one of each.
func pageOfUI[P page](u *ui) P {
	i := slices.IndexFunc(u.pages, func(p page) bool { _, ok := p.(P); return ok })
	return u.pages[i].(P)
}

// stepList is the editor's list of targets, which can be dragged.
type stepList struct {
	d   *comboDialog
	box *fyne.Container
}

func newStepList(d *comboDialog) *stepList {
	l := &stepList{d: d, box: container.New(stack{2})}
	l.apply()
	return l
}

// apply shows the draft's targets.
func (l *stepList) apply() {
	l.box.Objects = nil
	for i := range l.d.draft.Steps {
		l.box.Add(newStepRow(l, i))
	}
	if len(l.d.draft.Steps) == 0 {
		l.box.Add(newText(view.T("None yet. Choose a connection and a model below."), view.RoleMuted).wrapped())
	}
	l.box.Refresh()
}

// move puts a target to another place and keeps the focus on it.
func (l *stepList) move(from, to int) bool {
	if !l.d.draft.Move(from, to) {
		return false
	}
	l.apply()
	l.d.u.win.Canvas().Focus(l.box.Objects[to].(*stepRow).handle)
	return true
}
