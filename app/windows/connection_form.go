//go:build (cgo || ci) && !nogui

package windows

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// formLine is one labelled field with a hint, or what is wrong with it, below.
type formLine struct {
	box  *fyne.Container
	note *text
	hint string
}

func newFormLine(label, hint string, field fyne.CanvasObject) *formLine {
	l := &formLine{hint: hint, note: newCaption(hint).wrapped()}
	name := newText(label, view.RoleText)
	l.box = container.New(stack{gapSmall}, name, field, l.note)
	show(l.note, hint != "")
	return l
}

// wrong shows what is wrong, or the hint again for an empty text.
func (l *formLine) wrong(s string) {
	if s == "" {
		l.note.show(l.hint, view.RoleMuted)
	} else {
		l.note.show(s, view.RoleError)
	}
	show(l.note, l.note.content != "")
	l.box.Refresh()
}

// switchLine is a toggle with its name and an explanation.
func switchLine(t *keyToggle, name, note string) fyne.CanvasObject {
	words := container.New(stack{2}, newText(name, view.RoleText).wrapped(), newCaption(note).wrapped())
	return bordered(nil, nil, nil, container.New(inset{0, 2, 0, gapGroup}, container.NewVBox(t)), words)
}

// connectionForm holds the fields of a connection.
type connectionForm struct {
	provider control.Provider
	draft    view.Draft
	stored   bool // a key is stored already
	login    bool // and a login for its proxy

	secretsIn string // of the snapshot

	name, key, base, model, models *field
	credential                     *choice
	dialects                       []*keyToggle // beside provider.Dialects
	cooling                        *keyToggle
	way                            *wayField
	sub                            *claudeBox // nil where there is no such section
	perModel                       *choice
	limits                         map[string]*field // by the keys of view.LimitLines
	lines                          map[string]*formLine
	passNote                       *text
	advanced                       *fyne.Container
	more                           *link
	box                            *fyne.Container
}

// newConnectionForm makes the form of a stored connection, or of a new one
// where c is nil.
func newConnectionForm(u *ui, p control.Provider, d view.Draft, c *control.Connection) *connectionForm {
	f := &connectionForm{provider: p, draft: d, secretsIn: u.snap.SecretsIn, stored: c != nil && c.HasSecret, login: c != nil && c.HasProxyLogin, lines: map[string]*formLine{}, limits: map[string]*field{}}
	if p.Claude {
		f.sub = newClaudeBox(u, true)
		f.sub.show(c, true)
	}
	f.makeFields()
	f.makeBox()
	f.applyCredential()
	return f
}

func (f *connectionForm) makeFields() {
	p, d := f.provider, f.draft
	f.name = entry(p.Name, d.Name)
	secret := view.T("paste it here")
	if f.stored {
		secret = view.T("stored; paste another to replace it")
	}
	f.key = newSecret(secret)
	f.key.SetText(d.Key)
	f.base = entry(defaultURL(p), d.BaseURL)
	f.model = entry("", d.DefaultModel)
	f.models = entry(strings.Join(p.Models, ", "), d.Models)
	var kinds []string
	for _, c := range p.Credentials {
		kinds = append(kinds, view.CredentialName(c))
	}
	f.credential = newChoice(kinds, func(word string) {
		for _, c := range p.Credentials {
			if view.CredentialName(c) == word {
				f.draft.Credential = c
			}
		}
		f.applyCredential()
	})
	f.credential.show(view.CredentialName(d.Credential))
	for _, x := range p.Dialects {
		t := newToggle(nil)
		t.on = slices.Contains(d.Dialects, x)
		f.dialects = append(f.dialects, t)
	}
	f.way = newWayField(d.ProxyURL)
	f.cooling = newToggle(nil)
	f.cooling.on = d.DisableCooling
}

func entry(placeholder, value string) *field {
	e := newField(placeholder)
	e.SetText(value)
	return e
}

func defaultURL(p control.Provider) string {
	for _, d := range p.Dialects {
		if u := p.BaseURLs[d]; u != "" {
			return u
		}
	}
	return "https://host/v1"
}

// line registers a field under the name that errors carry.
func (f *connectionForm) line(name, label, hint string, o fyne.CanvasObject) fyne.CanvasObject {
	l := newFormLine(label, hint, o)
	f.lines[name] = l
	return l.box
}

func (f *connectionForm) makeBox() {
	p := f.provider
	keyHint := view.KeyHint(f.secretsIn)
	if p.KeyURL != "" {
		keyHint += " " + view.Tf("Get one at %s.", strings.TrimPrefix(p.KeyURL, "https://"))
	}
	f.passNote = newText(view.PassthroughNote(), view.RoleMuted).wrapped()
	var objects []fyne.CanvasObject
	objects = append(objects, f.line("name", view.T("Name"), view.T("How it is called everywhere. Two accounts at one provider need two names."), f.name))
	base := f.line("baseUrl", view.T("Base URL"), view.T("Without the path of the dialect: up to and with /v1."), f.base)
	var advanced []fyne.CanvasObject
	if p.Custom {
		objects = append(objects, base, f.line("dialects", view.T("Speaks"), "", f.dialectLine()))
	} else {
		f.lines["baseUrl"].hint = view.T("Leave empty for the provider's own. A gateway or a mirror goes here.")
		f.lines["baseUrl"].wrong("")
		advanced = append(advanced, base)
	}
	if len(p.Credentials) > 1 {
		objects = append(objects, f.line("credential", view.T("Signs in with"), "", f.credential.boxed()))
	}
	objects = append(objects, f.passNote, f.line("apiKey", view.T("Key"), keyHint, f.key))
	if p.Claude {
		objects = append(objects, f.claude())
	}
	advanced = append(advanced,
		f.line("proxyUrl", view.T("Way out"), view.ProxyHint(f.login), f.way.box),
		f.line("defaultModel", view.T("Default model"), view.T("Sent in place of a model that this provider does not offer, so that it can stand in for another."), f.model),
		f.line("models", view.T("Models"), view.T("Patterns with *, separated by commas. Leave empty for the catalogue's."), f.models),
		switchLine(f.cooling, view.T("Never cool"), view.T("Keep trying it after a failure. The breaker of its provider still applies.")))
	f.advanced = container.New(stack{12}, append(advanced, f.makeLimits()...)...)
	f.more = newLink(view.T("More settings"), func() { f.unfold(!f.advanced.Visible()) })
	f.box = container.New(stack{12}, append(objects, container.New(line{}, f.more), f.advanced)...)
	f.unfold(f.draft.BaseURL != "" && !p.Custom || f.draft.DefaultModel != "" || f.draft.Models != "" || f.draft.DisableCooling || f.draft.ProxyURL != "" || f.draft.HasLimits())
}

// dialectLine is a switch for each dialect of the provider.
func (f *connectionForm) dialectLine() fyne.CanvasObject {
	box := container.New(line{gap: gap})
	for i, x := range f.provider.Dialects {
		box.Add(f.dialects[i])
		box.Add(container.New(inset{0, 12, 0, 0}, newText(view.Dialect(x), view.RoleText)))
	}
	return box
}

func (f *connectionForm) claude() fyne.CanvasObject {
	f.sub.lane.toggle.on, f.sub.reset.toggle.on = f.draft.LowPriority, f.draft.AutoReset
	return container.New(stack{10}, newText(view.T("Claude subscription"), view.RoleText).bold(), f.sub.box)
}

func (f *connectionForm) unfold(on bool) {
	show(f.advanced, on)
	f.more.label.set(view.T("More settings"))
	if on {
		f.more.label.set(view.T("Fewer settings"))
	}
	f.box.Refresh()
}

func (f *connectionForm) applyCredential() {
	show(f.passNote, f.draft.Credential == "passthrough")
	show(f.lines["apiKey"].box, view.NeedsKey(f.draft.Credential))
	f.box.Refresh()
}

// read takes what was typed into the draft.
func (f *connectionForm) read() view.Draft {
	d := f.draft
	d.Name, d.Key, d.BaseURL, d.DefaultModel, d.Models = f.name.Text, f.key.Text, f.base.Text, f.model.Text, f.models.Text
	d.DisableCooling, d.ProxyURL = f.cooling.on, f.way.value()
	if f.sub != nil {
		d.LowPriority, d.AutoReset = f.sub.lane.toggle.on, f.sub.reset.toggle.on
	}
	d.PerModel = f.perModel.chosen(f.perModel.Selected)
	d.Limits = map[string]string{}
	maps.Copy(d.Limits, f.draft.Limits) // what has no line here stays
	for key, x := range f.limits {
		d.Limits[key] = x.Text
	}
	d.Dialects = nil
	for i, x := range f.provider.Dialects {
		if f.dialects[i].on {
			d.Dialects = append(d.Dialects, x)
		}
	}
	return d
}

// refuse shows each error at its field and returns what has no field here.
func (f *connectionForm) refuse(fields []control.FieldError) string {
	for _, l := range f.lines {
		l.wrong("")
	}
	var rest []string
	for _, e := range fields {
		l := f.lineOf(e.Field)
		if l == nil {
			rest = append(rest, e.Field+": "+e.Message)
			continue
		}
		l.wrong(sentenceCase(e.Message))
		switch e.Field {
		case "name", "apiKey", "credential", "dialects":
		default:
			f.unfold(f.advanced.Visible() || e.Field != "baseUrl" || !f.provider.Custom)
		}
	}
	return strings.Join(rest, "; ")
}

// entryOf returns the entry of the first field that was refused, or nil.
func (f *connectionForm) entryOf(fields []control.FieldError) *field {
	for _, e := range fields {
		switch e.Field {
		case "name":
			return f.name
		case "apiKey":
			return f.key
		case "baseUrl":
			return f.base
		case "defaultModel":
			return f.model
		case "models":
			return f.models
		case "proxyUrl":
			return f.way.address
		}
		for _, l := range view.LimitLines() {
			if e.Field == l.Field || strings.HasPrefix(e.Field, l.Field+".") {
				return f.limits[l.Key]
			}
		}
	}
	return nil
}

// sentenceCase makes a sentence, in the user's language, of what a field's
// message says.
func sentenceCase(s string) string {
	if s == "" {
		return s
	}
	s = view.Refusal(s)
	first, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
