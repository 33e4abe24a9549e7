//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// ruleSettings are the operator's error rules and defaults (guide §7).
type ruleSettings struct {
	u        *ui
	known    bool
	rules    []view.ErrorRule
	defaults []view.ErrorDefault

	count      *text
	add        *button
	ruleRows   *liveRows
	inactive   *text
	addDefault *button
	defRows    *liveRows
	body       fyne.CanvasObject
}

func newRuleSettings(u *ui) *ruleSettings { return &ruleSettings{u: u} }

func (p *ruleSettings) build() fyne.CanvasObject {
	columnsOf := func(match bool) columns {
		list := []column{{title: view.T("Provider"), width: 116, flex: 2}}
		if match {
			list = append(list, column{title: view.T("Status"), width: 44}, column{title: view.T("Text"), width: 90, flex: 2})
		}
		return columns{gap: 10, edge: 8, list: append(list, column{title: view.T("Leaves out"), width: 78, flex: 1},
			column{title: view.T("Reason"), width: 100, flex: 1, priority: 1}, column{title: view.T("For"), width: 74, right: true}, column{width: 28})}
	}
	cells := func(match bool) func() []fyne.CanvasObject {
		return func() []fyne.CanvasObject {
			out := []fyne.CanvasObject{newPair(newText("", view.RoleText).clipped(), 0)}
			if match {
				out = append(out, newText("", view.RoleText), newText("", view.RoleText).clipped())
			}
			return append(out, newText("", view.RoleMuted).clipped(), newText("", view.RoleMuted).clipped(), newText("", view.RoleText).right().clipped(), newIconButton("more", view.T("More"), nil))
		}
	}
	p.ruleRows, p.defRows = newLiveRows(columnsOf(true), cells(true)), newLiveRows(columnsOf(false), cells(false))
	p.ruleRows.height, p.defRows.height = 38, 34
	p.count, p.inactive = newText("", view.RoleMuted), newCaption(view.T("Inactive: no rule is asked about status 400.")).wrapped()
	p.add = newButton(view.T("Add rule…"), func() { p.edit(-1) }).withIcon("add")
	p.addDefault = newButton(view.T("Add default…"), func() { p.editDefault(-1) }).withIcon("add")
	section := func(name, title, about string, right fyne.CanvasObject, rows *liveRows, below fyne.CanvasObject) fyne.CanvasObject {
		note := container.New(inset{0, 8, gap, 8}, newText(about, view.RoleMuted).wrapped())
		return flush(title, right, container.New(stack{0}, note, newTableHead(&rows.cols, nil).kept(p.u, name, rows.settle), rows.box, below))
	}
	none := newText("", view.RoleMuted)
	none.Hide()
	p.body = scrolled(
		section("rules", view.T("Error rules"), view.T("What you know better than the built-in rules: an answer of a provider, and who is left out for how long. Yours come first; the first that fits holds."),
			container.New(line{gap: 12}, p.count, p.add), p.ruleRows, container.New(inset{gapSmall, 8, gapSmall, 8}, p.inactive)),
		section("defaults", view.T("Defaults by provider"), view.T("For 402, 403, 408, 429 and 5xx answers that no rule fits. A longer hint of the provider holds instead."),
			p.addDefault, p.defRows, none))
	return p.body
}

func (p *ruleSettings) load() { fetch(p.u, p.u.facade.Guide, p.take, nil) }

func (p *ruleSettings) take(g control.Guide) {
	p.rules, p.defaults, p.known = view.ErrorRules(g), view.ErrorDefaults(g), true
	p.apply()
}

func (p *ruleSettings) apply() {
	if p.body == nil {
		return
	}
	p.count.set(view.Tf("%d of %d", len(p.rules), view.MaxRules))
	p.add.enable(p.known && len(p.rules) < view.MaxRules)
	p.addDefault.enable(p.known)
	p.ruleRows.resize(len(p.rules))
	p.ruleRows.empty(p.known && len(p.rules) == 0, view.T("No rules yet. The built-in ones know the usual answers of each provider."))
	inactive := false
	for i, r := range p.rules {
		v := view.NewRuleRow(r, p.u.snap, p.u.providers)
		inactive = inactive || v.Inactive != ""
		fillRule(p.ruleRows.rows[i], v, []string{v.Status, v.Match, v.Scope, v.Reason, v.Cooldown}, func() { p.edit(i) }, func(at fyne.Position) { p.pop(at, p.ruleMenu(i)) })
	}
	show(p.inactive, inactive)
	p.defRows.resize(len(p.defaults))
	p.defRows.empty(p.known && len(p.defaults) == 0, view.T("No defaults. The backoff ladder decides how long a connection rests."))
	for i, d := range p.defaults {
		v := view.NewDefaultRow(d, p.u.snap, p.u.providers)
		fillRule(p.defRows.rows[i], v, []string{v.Scope, v.Reason, v.Cooldown}, func() { p.editDefault(i) }, func(at fyne.Position) { p.pop(at, p.defaultMenu(i)) })
	}
}

// fillRule shows a line of either table.
func fillRule(r *row, v view.RuleRow, cells []string, edit func(), menu func(fyne.Position)) {
	role := view.RoleText
	name := r.cells[0].(*pair)
	name.setBelow("")
	if v.Inactive != "" {
		role = view.RoleDisabled
		name.setBelow(view.T("inactive"))
	}
	name.top.(*text).show(v.Provider, role)
	r.tips[0] = v.Inactive
	for i, s := range cells {
		r.cells[i+1].(*text).set(s)
	}
	r.onTap, r.onMenu = edit, menu
	more := r.cells[len(r.cells)-1].(*keyIcon)
	more.onTap = func() {
		menu(fyne.CurrentApp().Driver().AbsolutePositionForObject(more).AddXY(more.Size().Width, more.Size().Height))
	}
}

// store replaces what is stored and shows what holds then.
func (p *ruleSettings) store(patch control.GuidePatch, done func(), fail func(error)) {
	call(p.u, func(ctx context.Context) (control.Guide, error) { return p.u.facade.EditGuide(ctx, patch) },
		func(g control.Guide) {
			p.take(g)
			if done != nil {
				done()
			}
		}, fail)
}

// edit opens the dialog for a rule, or for a new one.
func (p *ruleSettings) edit(at int) {
	title, d := view.T("Add an error rule"), view.NewRuleDraft(p.firstProvider(), false)
	if at >= 0 {
		title, d = view.T("Edit the error rule"), view.DraftOfRule(p.rules[at])
	}
	p.u.openRule(title, d, func(d view.RuleDraft, done func(), fail func(error)) {
		p.store(view.RulesPatch(view.ReplaceRule(p.rules, at, d.Rule())), done, fail)
	})
}

func (p *ruleSettings) editDefault(at int) {
	title, d := view.T("Add a default"), view.NewRuleDraft(p.firstProvider(), true)
	if at >= 0 {
		title, d = view.T("Edit the default"), view.DraftOfDefault(p.defaults[at])
	}
	p.u.openRule(title, d, func(d view.RuleDraft, done func(), fail func(error)) {
		next, err := view.ReplaceDefault(p.defaults, at, d.Blanket())
		if err != nil {
			fail(err)
			return
		}
		p.store(view.DefaultsPatch(next), done, fail)
	})
}

// firstProvider is the one that a new rule begins with.
func (p *ruleSettings) firstProvider() string {
	if list := view.RuleProviders(p.u.snap, p.u.providers); len(list) > 0 {
		return list[0].ID
	}
	return ""
}

// ruleMenu is what can be done with one rule.
func (p *ruleSettings) ruleMenu(i int) []*fyne.MenuItem {
	move := func(word string, step int) *fyne.MenuItem {
		next := view.MoveRule(p.rules, i, step)
		m := fyne.NewMenuItem(word, func() { p.store(view.RulesPatch(next), nil, nil) })
		m.Disabled = next == nil
		return m
	}
	return []*fyne.MenuItem{
		fyne.NewMenuItem(view.T("Edit…"), func() { p.edit(i) }), fyne.NewMenuItemSeparator(),
		move(view.T("Try earlier"), -1), move(view.T("Try later"), 1), fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(view.T("Delete…"), func() {
			p.ask(view.Tf("Delete this rule for %s?", view.NewRuleRow(p.rules[i], p.u.snap, p.u.providers).Provider),
				view.RulesPatch(slices.Delete(slices.Clone(p.rules), i, i+1)))
		}),
	}
}

// defaultMenu is what can be done with one default.
func (p *ruleSettings) defaultMenu(i int) []*fyne.MenuItem {
	return []*fyne.MenuItem{
		fyne.NewMenuItem(view.T("Edit…"), func() { p.editDefault(i) }), fyne.NewMenuItemSeparator(),
		fyne.NewMenuItem(view.T("Delete…"), func() {
			p.ask(view.Tf("Delete the default of %s?", view.NewDefaultRow(p.defaults[i], p.u.snap, p.u.providers).Provider),
				view.DefaultsPatch(slices.Delete(slices.Clone(p.defaults), i, i+1)))
		}),
	}
}

func (p *ruleSettings) ask(question string, patch control.GuidePatch) {
	confirm(p.u.win.Canvas(), question, view.T("The built-in rules hold again for what it covered. Cooldowns that it set stay until they end."), view.T("Delete"), func() {
		p.store(patch, nil, nil)
	})
}

// pop shows a menu at the left of a point.
func (p *ruleSettings) pop(at fyne.Position, items []*fyne.MenuItem) {
	menu := widget.NewPopUpMenu(fyne.NewMenu("", items...), p.u.win.Canvas())
	if at.X+menu.MinSize().Width > p.u.win.Canvas().Size().Width-gapEdge {
		at.X -= menu.MinSize().Width
	}
	menu.ShowAtPosition(at)
}
