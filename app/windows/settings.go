//go:build (cgo || ci) && !nogui

package windows

import (
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// The sections of the settings, as deep links name them.
const (
	sectionGeneral    = "general"
	sectionClients    = "clients"
	sectionResilience = "resilience"
	sectionRules      = "rules"
	sectionLeases     = "leases"
	sectionNetwork    = "network"
)

// section is one part of the settings.
type section interface {
	build() fyne.CanvasObject
	// load asks for what is in force: others may have changed it.
	load()
	apply()
}

// part is a section with its name in links and its title.
type part struct {
	key, title string
	section
}

// settings is the page of the settings, a section at a time.
type settings struct {
	u          *ui
	section    string
	choice     *segments
	parts      []part
	general    *generalSettings
	clients    *clientSettings
	resilience *resilienceSettings
	rules      *ruleSettings
	leases     *leaseSettings
	boxes      map[string]fyne.CanvasObject
	all        *fyne.Container
}

func newSettings(u *ui) *settings {
	p := &settings{
		u: u, section: sectionGeneral, general: newGeneralSettings(u), clients: newClientSettings(u), resilience: newResilienceSettings(u),
		rules: newRuleSettings(u), leases: newLeaseSettings(u),
	}
	p.parts = []part{
		{sectionGeneral, view.T("General"), p.general},
		{sectionClients, view.T("Agents"), p.clients},
		{sectionResilience, view.T("Resilience"), p.resilience},
		{sectionRules, view.T("Error rules"), p.rules},
		{sectionLeases, view.T("Leases"), p.leases},
		{sectionNetwork, view.T("Network"), newNetworkSettings(u)},
	}
	return p
}

func (p *settings) key() string   { return pageSettings }
func (p *settings) title() string { return view.T("Settings") }
func (p *settings) icon() string  { return "settings" }

func (p *settings) place() string { return p.section }

// at is the place of the section shown.
func (p *settings) at() int {
	return slices.IndexFunc(p.parts, func(x part) bool { return x.key == p.section })
}

func (p *settings) action() fyne.CanvasObject {
	var titles []string
	for _, x := range p.parts {
		titles = append(titles, x.title)
	}
	p.choice = newSegments(titles, p.at(), func(at int) { p.open(p.parts[at].key) })
	p.parts[p.at()].load()
	return p.choice
}

// open shows a section.
func (p *settings) open(key string) {
	at := slices.IndexFunc(p.parts, func(x part) bool { return x.key == key })
	if at < 0 || key == p.section {
		return
	}
	p.section = key
	p.choice.set(at)
	p.ensure()
	p.parts[at].load()
	p.u.redraw()
}

func (p *settings) head() heading {
	line := view.T("Changes take effect at once.")
	switch p.section {
	case sectionResilience:
		line = view.T("What holds for failures. It takes effect when you save it, without a restart.")
	case sectionLeases:
		line = view.LeasesLine(p.leases.held)
	}
	return heading{title: p.title(), line: line}
}

// build makes the section shown; the others are made when they are.
func (p *settings) build() fyne.CanvasObject {
	p.boxes, p.all = map[string]fyne.CanvasObject{}, container.NewStack()
	p.ensure()
	return p.all
}

// ensure makes the section shown, once.
func (p *settings) ensure() {
	if p.boxes[p.section] == nil {
		p.boxes[p.section] = p.parts[p.at()].build()
		p.all.Add(p.boxes[p.section])
	}
}

func (p *settings) apply() {
	for key, o := range p.boxes {
		show(o, key == p.section)
	}
	p.parts[p.at()].apply()
}
