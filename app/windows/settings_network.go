//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// networkSettings tell where Breakwater listens and how its requests leave this
// machine.
type networkSettings struct {
	u        *ui
	endpoint *copyLine
	listens  *text
	port     *copyLine
	tunnel   *copyLine
	outlets  *liveRows
	more     *text
	probe    *savedField
	claude   *savedField
	roots    *savedField
	again    *button
}

func newNetworkSettings(u *ui) *networkSettings { return &networkSettings{u: u} }

func (p *networkSettings) build() fyne.CanvasObject {
	p.endpoint, p.listens = newCopyLine(p.u, view.T("Copy the address")), newText("", view.RoleText)
	p.port, p.tunnel = newCopyLine(p.u, view.T("Copy the command")), newCopyLine(p.u, view.T("Copy the command"))
	p.outlets = newLiveRows(columns{gap: 12, edge: 0, list: []column{{width: 120, flex: 2}, {width: 120, flex: 3}, {width: 130, flex: 2}, {width: 110, flex: 1, right: true}}}, func() []fyne.CanvasObject {
		return []fyne.CanvasObject{newText("", view.RoleText).clipped(), newMono("").clipped(), newText("", view.RoleText).clipped(), newText("", view.RoleMuted).right().clipped()}
	})
	p.more = newCaption("").wrapped()
	save := func(patch func(string) control.SettingsPatch, at **savedField) func(string) {
		return func(s string) { editSettings(p.u, patch(strings.TrimSpace(s)), *at) }
	}
	p.probe = newSavedField(save(func(s string) control.SettingsPatch { return control.SettingsPatch{EgressProbeURL: &s} }, &p.probe))
	p.claude = newSavedField(save(func(s string) control.SettingsPatch { return control.SettingsPatch{ClaudeBaseURL: &s} }, &p.claude))
	p.roots = newSavedField(save(func(s string) control.SettingsPatch { return control.SettingsPatch{CAFile: &s} }, &p.roots))
	p.again = newButton(view.T("Read it again"), func() { editSettings(p.u, control.SettingsPatch{CAFile: &p.roots.stored}, p.roots) })
	p.roots.entry.SetPlaceHolder(view.T("none"))
	p.probe.entry.SetPlaceHolder(view.T("nobody is asked"))
	p.claude.entry.SetPlaceHolder("https://api.anthropic.com")
	return scrolled(
		card(view.T("Where it listens"), nil, container.New(stack{12},
			settingLine(view.T("Endpoint"), view.T("For programs on this machine only."), p.endpoint.box),
			settingLine(view.T("Addresses"), view.T("No other address is listened on, so no firewall rule is needed."), p.listens),
			settingLine(view.T("Another port"), view.T("The port is chosen when Breakwater starts."), p.port.box),
			settingLine(view.T("From another machine"), view.T("Through SSH, started on the machine that has no Breakwater."), p.tunnel.box))),
		card(view.T("How requests leave"), nil, container.New(stack{12},
			newText(view.T("Connections leave through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name when Breakwater starts, or directly without them. Each may have a way of its own: Connections, Edit, More settings. What stays on this machine goes through no proxy."), view.RoleMuted).wrapped(),
			p.outlets.box, p.more,
			settingLine(view.T("Ask for the own address at"), view.T("Some providers count by outgoing address. This page is asked for it at most every five minutes."), p.probe.box),
			settingLine(view.T("Claude's side calls go to"), view.T("For the limit reset and the quota windows of subscriptions."), p.claude.box))),
		card(view.T("Certificates"), nil, container.New(stack{12},
			newText(view.T("Providers are checked against the certificates that the system trusts; on Linux, SSL_CERT_FILE may name another list when Breakwater starts."), view.RoleMuted).wrapped(),
			settingLine(view.T("Authorities of your own"), view.T("The whole path of a PEM file. Its certificates are trusted, too."), container.New(stack{gapSmall}, p.roots.box, container.New(line{}, p.again))))),
	)
}

func (p *networkSettings) load() {}

// fewOutlets is how many connections are listed one by one.
const fewOutlets = 20

func (p *networkSettings) apply() {
	u := p.u
	p.endpoint.set(u.snap.Endpoint)
	addresses, port := view.Listening(u.snap.Endpoint)
	p.listens.set(strings.Join(addresses, "   "))
	p.port.set("breakwater --port 7412")
	p.tunnel.set(view.TunnelCommand(port))
	list := view.Outlets(u.snap, u.activity, u.now())
	rest := max(0, len(list)-fewOutlets)
	list = list[:len(list)-rest]
	p.outlets.resize(len(list))
	p.outlets.empty(len(list) == 0, view.T("None yet."))
	for i, o := range list {
		r := p.outlets.rows[i]
		r.cells[0].(*text).set(o.Name)
		r.cells[1].(*text).set(o.Host)
		r.cells[2].(*text).set(o.Way)
		r.cells[3].(*text).set(o.Address)
		r.tips[3] = o.Tip
	}
	show(p.more, rest > 0)
	p.more.set(view.N(rest, "%d more connection", "%d more connections", rest))
	p.probe.show(u.settings.EgressProbeURL)
	p.claude.show(u.settings.ClaudeBaseURL)
	p.roots.show(u.settings.CAFile)
	show(p.again, u.settings.CAFile != "")
}
