//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// ruleDialog edits one error rule, or one provider's default.
type ruleDialog struct {
	u     *ui
	modal *modal
	draft view.RuleDraft
	// send stores the draft; it calls one of the two.
	send func(view.RuleDraft, func(), func(error))

	options  []view.Option
	provider *choice
	id       *field // of a provider that is not listed
	status   *choice
	code     *field // a status that is not listed
	match    *field
	scope    *segments
	reason   *choice
	reasons  []string
	rest     *choice
	minutes  *field
	lines    map[string]*formLine
	told     *text
	save     *button
	body     *fyne.Container
}

// openRule shows the dialog for a draft.
func (u *ui) openRule(title string, d view.RuleDraft, send func(view.RuleDraft, func(), func(error))) {
	r := &ruleDialog{u: u, draft: d, send: send, lines: map[string]*formLine{}, options: view.RuleProviders(u.snap, u.providers)}
	r.build(title)
	r.fill()
	u.win.Canvas().Focus(r.provider)
}

func another() string { return view.T("Another…") }

func (r *ruleDialog) build(title string) {
	changed := func(string) { r.changed() }
	typed := func() *field {
		f := newField("")
		f.OnChanged, f.OnSubmitted = changed, func(string) { r.store() }
		return f
	}
	r.provider, r.status, r.reason, r.rest = newChoice(nil, changed), newChoice(nil, changed), newChoice(nil, changed), newChoice(nil, changed)
	r.id, r.code, r.match, r.minutes = typed(), typed(), typed(), typed()
	r.id.SetPlaceHolder(view.T("its id, such as openrouter"))
	r.code.SetPlaceHolder(view.T("100 to 599"))
	r.match.SetPlaceHolder(view.T("any text"))
	r.minutes.SetPlaceHolder(view.T("minutes"))
	var scopes []string
	for _, s := range view.Scopes() {
		scopes = append(scopes, view.ScopeName(s))
	}
	r.scope = newSegments(scopes, 0, func(int) { r.changed() })
	r.told = newText("", view.RoleMuted).wrapped()
	r.save = newPrimary(view.T("Save"), r.store)
	cancel := newButton(view.T("Cancel"), func() { r.modal.cancel() })
	pair := halves{gap: gapGroup, turn: 320}
	r.body = container.New(stack{12}, r.line("provider", view.T("Provider"), "", container.New(stack{gapSmall}, r.provider.boxed(), r.id)))
	if !r.draft.Default {
		r.body.Add(container.New(pair, r.line("status", view.T("Status"), "", container.New(stack{gapSmall}, r.status.boxed(), r.code)),
			r.line("match", view.T("Text in the answer"), view.T("Upper and lower case alike."), r.match)))
	}
	r.body.Add(r.line("scope", view.T("Leaves out"), view.ScopeHint("connection"), container.New(line{}, r.scope)))
	r.body.Add(container.New(pair, r.line("reason", view.T("Reason"), "", r.reason.boxed()),
		r.line("cooldownMs", view.T("For"), "", container.New(stack{gapSmall}, r.rest.boxed(), r.minutes))))
	r.body.Add(r.told)
	head := container.New(inset{18, gapEdge, 12, gapEdge}, newTitle(title))
	foot := container.New(inset{12, gapEdge, gapGroup, gapEdge}, rightAligned(cancel, r.save))
	scroll := container.NewVScroll(container.New(inset{4, gapEdge, 4, gapEdge}, r.body))
	height := float32(506)
	if r.draft.Default {
		height = 424
	}
	r.modal = openModal(r.u.win.Canvas(), bordered(head, foot, nil, nil, scroll), 500, height, nil)
}

func (r *ruleDialog) line(field, label, hint string, o fyne.CanvasObject) fyne.CanvasObject {
	l := newFormLine(label, hint, o)
	r.lines[field] = l
	return l.box
}

// fill shows the draft.
func (r *ruleDialog) fill() {
	d := r.draft
	offerWords(r.provider, words(r.options, func(o view.Option) string { return o.Word }), slices.IndexFunc(r.options, func(o view.Option) bool { return o.ID == d.Provider }))
	if r.provider.Selected == another() {
		r.id.SetText(d.Provider)
	}
	code, _ := strconv.Atoi(d.Status)
	offerWords(r.status, words(view.Statuses(), view.StatusName), slices.Index(view.Statuses(), code))
	if r.status.Selected == another() {
		r.code.SetText(d.Status)
	}
	r.match.SetText(d.Match)
	r.scope.set(max(0, slices.Index(view.Scopes(), d.Scope)))
	r.reasons = view.Reasons()
	if d.Default {
		r.reasons = append([]string{""}, r.reasons...)
	}
	r.reason.Options = words(r.reasons, reasonOption)
	r.reason.show(reasonOption(d.Reason))
	presets := r.presets()
	at := slices.IndexFunc(presets, func(ms int64) bool { return view.Minutes(ms) == d.Minutes })
	offerWords(r.rest, words(presets, view.Cooldown), at)
	if at < 0 {
		r.minutes.SetText(d.Minutes)
	}
	r.changed()
}

// presets are the cooldowns to choose from: a default needs one of its own.
func (r *ruleDialog) presets() []int64 {
	if r.draft.Default {
		return view.CooldownPresets()[1:]
	}
	return view.CooldownPresets()
}

func reasonOption(reason string) string {
	if reason == "" {
		return view.T("by the status")
	}
	return view.ReasonName(reason)
}

func words[V any](list []V, word func(V) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = word(v)
	}
	return out
}

// offerWords lists words and one more for what is not listed, which is chosen when
// at is none of them.
func offerWords(c *choice, list []string, at int) {
	c.Options = append(list, another())
	if at < 0 {
		at = len(list)
	}
	c.show(c.Options[at])
}

// read takes what is chosen and typed into the draft.
func (r *ruleDialog) read() view.RuleDraft {
	d := r.draft
	d.Provider, d.Match = r.id.Text, r.match.Text
	if at := r.provider.SelectedIndex(); at >= 0 && at < len(r.options) {
		d.Provider = r.options[at].ID
	}
	if !d.Default {
		d.Status = r.code.Text
		if at := r.status.SelectedIndex(); at >= 0 && at < len(view.Statuses()) {
			d.Status = ""
			if s := view.Statuses()[at]; s != 0 {
				d.Status = strconv.Itoa(s)
			}
		} else if d.Status == "" {
			d.Status = "?" // another one was chosen and none was typed
		}
	}
	d.Scope = view.Scopes()[r.scope.at]
	d.Reason = r.reasons[max(0, r.reason.SelectedIndex())]
	d.Minutes = r.minutes.Text
	if at := r.rest.SelectedIndex(); at >= 0 && at < len(r.presets()) {
		d.Minutes = view.Minutes(r.presets()[at])
	} else if d.Minutes == "" {
		d.Minutes = "?"
	}
	return d
}

// changed shows the fields that the choices ask for and what the rule will do.
func (r *ruleDialog) changed() {
	if r.modal == nil || r.reasons == nil {
		return
	}
	show(r.id, r.provider.Selected == another())
	show(r.code, r.status.Selected == another())
	show(r.minutes, r.rest.Selected == another())
	d := r.read()
	r.lines["scope"].hint = view.ScopeHint(d.Scope)
	r.lines["scope"].wrong("")
	name := d.Provider
	if at := r.provider.SelectedIndex(); at >= 0 && at < len(r.options) {
		name = r.options[at].Name
	}
	r.told.set(d.Told(name))
	r.body.Refresh()
}

// store sends the draft when nothing is wrong with it.
func (r *ruleDialog) store() {
	d := r.read()
	if errs := d.Check(); len(errs) > 0 {
		r.refuse(errs)
		return
	}
	if r.save.disabled {
		return // the last one is still on its way
	}
	r.refuse(nil)
	r.save.enable(false)
	r.send(d, func() { r.modal.cancel() }, func(err error) {
		r.save.enable(true)
		if invalid, ok := errors.AsType[*control.InvalidError](err); ok {
			r.refuse(invalid.Fields)
			return
		}
		r.told.show(problem(err), view.RoleError)
		r.body.Refresh()
	})
}

// refuse shows each error at its field; one that has none is shown below.
func (r *ruleDialog) refuse(errs []control.FieldError) {
	for _, l := range r.lines {
		l.wrong("")
	}
	r.told.role = view.RoleMuted
	r.told.Refresh()
	for _, e := range errs {
		field := e.Field[strings.LastIndex(e.Field, ".")+1:]
		if l := r.lines[field]; l != nil {
			l.wrong(sentenceCase(e.Message))
			continue
		}
		r.told.show(sentenceCase(e.Message), view.RoleError)
	}
	r.body.Refresh()
}
