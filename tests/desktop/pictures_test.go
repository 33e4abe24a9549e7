//go:build linux

package desktop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// picturesVar names a folder; with it the tests below draw tray, menu and
// notification on a real panel for people to look at. They judge nothing
// themselves beyond that the programs come up.
const picturesVar = "BREAKWATER_PICTURES"

// panelConfig is one panel at the top with a tray and a clock.
const panelConfig = `<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="dark-mode" type="bool" value="%t"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="%d"/>
      <property name="icon-size" type="uint" value="%d"/>
      <property name="plugin-ids" type="array">
        <value type="int" value="1"/>
        <value type="int" value="2"/>
        <value type="int" value="3"/>
      </property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator">
      <property name="expand" type="bool" value="true"/>
      <property name="style" type="uint" value="0"/>
    </property>
    <property name="plugin-2" type="string" value="systray">
      <property name="icon-size" type="int" value="%d"/>
      <property name="square-icons" type="bool" value="true"/>
    </property>
    <property name="plugin-3" type="string" value="clock"/>
  </property>
</channel>
`

// realDesktop starts a window manager, a panel and a notification server.
func realDesktop(t *testing.T, dark bool, size int) *Desktop {
	t.Helper()
	return furnished(t, New(t, true), dark, size)
}

// furnished puts window manager, panel and notification server on a desktop.
func furnished(t *testing.T, d *Desktop, dark bool, size int) *Desktop {
	t.Helper()
	d.Need("xfce4-panel", "openbox", "dunst", "xdotool", "import")
	dir := filepath.Join(d.Home, ".config", "xfce4", "xfconf", "xfce-perchannel-xml")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(panelConfig, dark, size+6, size, size)
	if err := os.WriteFile(filepath.Join(dir, "xfce4-panel.xml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	theme := "GTK_THEME=Adwaita"
	background := "#e8e6e3"
	if dark {
		theme, background = "GTK_THEME=Adwaita:dark", "#26292c"
	}
	d.extra = []string{theme}
	d.Background("openbox")
	if out, err := d.Tool("xsetroot", "-solid", background); err != nil {
		t.Logf("the background stays black: %v %s", err, out)
	}
	d.Background("dunst")
	d.Background("xfce4-panel", "--disable-wm-check")
	d.Eventually("a panel with a tray", func() bool {
		out, err := d.Tool("dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
			"org.freedesktop.DBus.NameHasOwner", "string:"+watcherName)
		return err == nil && strings.Contains(out, "true")
	})
	return d
}

func TestPictures(t *testing.T) {
	folder := os.Getenv(picturesVar)
	if folder == "" {
		t.Skip(picturesVar + " names no folder")
	}
	for _, dark := range []bool{false, true} {
		for _, size := range []int{16, 22, 24} {
			name := map[bool]string{false: "light", true: "dark"}[dark]
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				d := realDesktop(t, dark, size)
				r := startTray(d)
				shot := func(what string) {
					d.pause()
					d.Picture("root", filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, size, what)))
				}
				for health, s := range healths() {
					r.tell(order{Snapshot: s})
					shot("icon-" + string(health))
				}
				if size != 22 {
					return
				}
				r.tell(order{Snapshot: healths()[control.HealthTrouble]})
				shot("before")
				d.clickTray(t, "3")
				shot("menu")
				if out, err := d.Tool("xdotool", "key", "Down", "Down", "Right"); err != nil {
					t.Fatal(out, err)
				}
				shot("submenu")
				if out, err := d.Tool("xdotool", "key", "Escape", "key", "Escape"); err != nil {
					t.Fatal(out, err)
				}
				r.tell(order{Alert: &control.Alert{Kind: control.AlertBreakerOpen, Provider: "mistral", ProviderName: "Mistral", Until: in(4 * time.Minute)}})
				r.tell(order{Alert: &control.Alert{
					Kind: control.AlertTerminal, Provider: "gemini", ProviderName: "Gemini",
					ConnectionID: "g", ConnectionName: "team", State: control.StateExpired,
				}})
				shot("notification")
			})
		}
	}
}

// pause lets the screen settle before a picture is taken.
func (d *Desktop) pause() { <-time.After(1500 * time.Millisecond) }

// clickTray clicks the icon on the panel: the one small window of the panel's
// tray plugin that sits at the top of the screen.
func (d *Desktop) clickTray(t *testing.T, button string) {
	t.Helper()
	out, err := d.Tool("xdotool", "search", "--onlyvisible", "--class", "wrapper-2.0")
	if err != nil {
		t.Fatalf("no tray window: %v %s", err, out)
	}
	for id := range strings.FieldsSeq(out) {
		geometry, err := d.Tool("xdotool", "getwindowgeometry", "--shell", id)
		if err != nil || !strings.Contains(geometry, "Y=0\n") {
			continue
		}
		if out, err := d.Tool("xdotool", "mousemove", "--window", id, "12", "12", "sleep", "0.3", "click", button); err != nil {
			t.Fatal(out, err)
		}
		return
	}
	t.Fatal("the tray is not at the top of the screen")
}

// healths is one snapshot for each state of the icon.
func healths() map[control.Health]*control.Snapshot {
	well, degraded, trouble, down := three(), three(), three(), three()
	degraded.Health, degraded.Connections[0].State = control.HealthDegraded, control.StateDegraded
	down.Health, down.Paused = control.HealthDown, true
	trouble.Health = control.HealthTrouble
	trouble.Breakers = []control.Breaker{{Provider: "mistral", ProviderName: "Mistral", State: "OPEN", Until: in(4 * time.Minute)}}
	trouble.Connections = append(trouble.Connections,
		control.Connection{ID: "m", Provider: "mistral", ProviderName: "Mistral", Name: "eu", Active: true, State: control.StateOpen, Until: in(4 * time.Minute)},
		control.Connection{ID: "g", Provider: "gemini", ProviderName: "Gemini", Name: "team", Active: true, State: control.StateExpired},
		control.Connection{ID: "k", Provider: "kimi", ProviderName: "Kimi", Name: "spare"},
	)
	trouble.Connections[5].State = control.StateOff
	trouble.Connections[0].State, trouble.Connections[0].Until = control.StateCooling, in(9*time.Minute)
	nothing := three()
	nothing.Health = control.HealthUnavailable
	for i := range nothing.Connections {
		nothing.Connections[i].State, nothing.Connections[i].Until = control.StateCooling, in(9*time.Minute)
	}
	return map[control.Health]*control.Snapshot{
		control.HealthIdle:        {Endpoint: well.Endpoint, Health: control.HealthIdle},
		control.HealthUnavailable: nothing,
		control.HealthWell:        well, control.HealthDegraded: degraded, control.HealthTrouble: trouble, control.HealthDown: down,
	}
}

func TestPicturesOfTheProgram(t *testing.T) {
	folder := os.Getenv(picturesVar)
	if folder == "" {
		t.Skip(picturesVar + " names no folder")
	}
	d := realDesktop(t, true, 22)
	p := startProgram(t, d)
	c := p.connection(t, first)
	if _, err := p.api.EditConnection(t.Context(), c.ID, control.ConnectionPatch{DisableCooling: new(true)}); err != nil {
		t.Fatal(err)
	}
	d.pause()
	d.clickTray(t, "1")
	d.Window("Breakwater")
	p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: c.ID, Kind: "server_error"}}})
	for n := 0; n < 30 && p.connection(t, first).State != control.StateOpen; n++ {
		p.ask(t)
		p.demo(t, control.DemoPatch{AdvanceMs: 6000})
	}
	d.pause()
	d.pause()
	d.Picture("root", filepath.Join(folder, "program-notification.png"))
	d.clickTray(t, "3")
	d.pause()
	d.Picture("root", filepath.Join(folder, "program-menu.png"))
}
