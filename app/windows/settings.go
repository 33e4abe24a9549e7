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
)

var settingSections = []string{sectionGeneral, sectionClients, sectionResilience, sectionRules}

// settings is the page of the settings, a section at a time.
type settings struct {
	u          *ui
	section    string
	parts      *segments
	general    *generalSettings
	clients    *clientSettings
	resilience *resilienceSettings
	rules      *ruleSettings
	boxes      map[string]fyne.CanvasObject
}

func newSettings(u *ui) *settings {
	return &settings{u: u, section: sectionGeneral, general: newGeneralSettings(u), clients: newClientSettings(u), resilience: newResilienceSettings(u), rules: newRuleSettings(u)}
}

func (p *settings) key() string   { return pageSettings }
func (p *settings) title() string { return view.T("Settings") }
func (p *settings) icon() string  { return "settings" }

func (p *settings) action() fyne.CanvasObject {
	p.parts = newSegments([]string{view.T("General"), view.T("Agents"), view.T("Resilience"), view.T("Error rules")}, slices.Index(settingSections, p.section), func(at int) {
		p.open(settingSections[at])
	})
	p.reload()
	return p.parts
}

// open shows a section.
func (p *settings) open(section string) {
	at := slices.Index(settingSections, section)
	if at < 0 || section == p.section {
		return
	}
	p.section = section
	p.parts.set(at)
	p.reload()
	p.u.redraw()
}

// reload asks for what is in force: others may have changed it.
func (p *settings) reload() {
	switch p.section {
	case sectionGeneral:
		p.general.keys.load()
	case sectionClients:
		p.clients.load()
	case sectionResilience:
		p.resilience.load()
	case sectionRules:
		p.rules.load()
	}
}

func (p *settings) head() heading {
	line := view.T("Changes take effect at once.")
	if p.section == sectionResilience {
		line = view.T("What holds for failures. It takes effect when you save it, without a restart.")
	}
	return heading{title: p.title(), line: line}
}

func (p *settings) build() fyne.CanvasObject {
	p.boxes = map[string]fyne.CanvasObject{sectionGeneral: p.general.build(), sectionClients: p.clients.build(), sectionResilience: p.resilience.build(), sectionRules: p.rules.build()}
	all := container.NewStack()
	for _, s := range settingSections {
		all.Add(p.boxes[s])
	}
	return all
}

func (p *settings) apply() {
	for s, o := range p.boxes {
		show(o, s == p.section)
	}
	switch p.section {
	case sectionClients:
		p.clients.apply()
	case sectionResilience:
		p.resilience.apply()
	case sectionRules:
		p.rules.apply()
	default:
		p.general.apply()
	}
}
