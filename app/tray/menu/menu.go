// Package menu is the tray's menu as plain data, made from a snapshot.
package menu

import (
	"fmt"
	"strings"
	"time"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// Kind says what a click does.
type Kind uint8

// What a click can do. The zero Kind does nothing.
const (
	None           Kind = iota
	SetActive           // Connection, On: take the connection in or out of routing
	SetLowPriority      // Connection, On: Claude's low-priority lane
	SetAutoReset        // Connection, On: Claude's automatic limit reset
	ClearCooldown       // Connection
	TestNow             // Connection
	SetCombo            // Combo, On: switch a combo on or off
	SetPaused           // On
	PauseFor            // For
	CopyEndpoint        // Text
	OpenWindow          // Page
	QuitProgram         //
)

// Action is one click's meaning. It says what should become true, so a click
// on a menu that is a moment old does what its label said.
type Action struct {
	Kind       Kind
	Connection string
	Combo      string
	On         bool
	For        time.Duration
	Page       string
	Text       string
}

// Item is one entry of the menu.
type Item struct {
	Key       string // stable identity, unique in the whole menu
	Label     string
	Checkable bool
	Checked   bool
	Disabled  bool
	Separator bool
	Action    Action
	Children  []Item
}

const (
	// nameWidth is how many characters a connection's name may take; the state
	// behind it is never cut.
	nameWidth = 34
	// textWidth bounds lines that have no state at their end.
	textWidth = 60
	// flatLimit is how many connections are listed one beside the other;
	// beyond it they are grouped by provider, so that the menu fits a screen.
	flatLimit = 8
	// groupSize is how many connections of one provider share a submenu.
	groupSize = 15
)

// Build makes the menu for a snapshot. Remaining times are told in minutes, so
// a menu that is open does not change each second; loc is the zone in which
// clock times are told.
func Build(s control.Snapshot, now time.Time, loc *time.Location) []Item {
	b := builder{now: now, loc: loc, paused: s.Paused}
	items := []Item{{
		Key:      "state",
		Label:    i18n.Ellipsis(i18n.Sentence(s, now, loc, i18n.Minutes), textWidth),
		Disabled: true,
	}}
	items = append(items, b.breakers(s)...)
	if s.Storage != nil {
		items = append(items, Item{
			Key:    "storage",
			Label:  i18n.T("Changes cannot be saved") + "…",
			Action: Action{Kind: OpenWindow, Page: "overview"},
		})
	}
	if len(s.Notices) > 0 {
		items = append(items, Item{
			Key:    "notices",
			Label:  i18n.T("Needs attention: %d", len(s.Notices)) + "…",
			Action: Action{Kind: OpenWindow, Page: "overview"},
		})
	}
	items = append(items, separator("above connections"))
	if len(s.Connections) > 0 {
		items = append(items, b.connections(s.Connections)...)
		items = append(items, separator("below connections"))
	}
	if len(s.Combos) > 0 {
		items = append(items, combos(s.Combos))
	}
	return append(items,
		Item{Key: "open", Label: i18n.T("Open Breakwater"), Action: Action{Kind: OpenWindow}},
		Item{
			Key:      "copy",
			Label:    i18n.T("Copy endpoint") + "  " + strings.TrimPrefix(s.Endpoint, "http://"),
			Disabled: s.Endpoint == "",
			Action:   Action{Kind: CopyEndpoint, Text: s.Endpoint},
		},
		pause(s.Paused),
		separator("above quit"),
		Item{Key: "quit", Label: i18n.T("Quit"), Action: Action{Kind: QuitProgram}},
	)
}

// combos switches the combos on and off; what does not fit is in the window.
func combos(all []control.ComboBrief) Item {
	item := Item{Key: "combos", Label: i18n.T("Combos")}
	for _, c := range all[:min(len(all), groupSize)] {
		item.Children = append(item.Children, Item{
			Key: "combo/" + c.ID, Label: i18n.Ellipsis(i18n.Line(c.Name), nameWidth), Checkable: true, Checked: c.Active,
			Action: Action{Kind: SetCombo, Combo: c.ID, On: !c.Active},
		})
	}
	item.Children = append(item.Children, separator("combos/actions"),
		Item{Key: "combos/details", Label: i18n.T("Open details"), Action: Action{Kind: OpenWindow, Page: "combos"}})
	return item
}

// pause is the way into a pause or out of it. The menu's shape may change with
// it: the click that pauses has closed the menu.
func pause(paused bool) Item {
	if paused {
		return Item{Key: "resume", Label: i18n.T("Resume"), Action: Action{Kind: SetPaused}}
	}
	return Item{Key: "pause", Label: i18n.T("Pause"), Children: []Item{
		{Key: "pause/15", Label: i18n.T("For 15 minutes"), Action: Action{Kind: PauseFor, For: 15 * time.Minute}},
		{Key: "pause/60", Label: i18n.T("For 1 hour"), Action: Action{Kind: PauseFor, For: time.Hour}},
		{Key: "pause/on", Label: i18n.T("Until resumed"), Action: Action{Kind: SetPaused, On: true}},
	}}
}

// Starting is the menu before the first snapshot.
func Starting() []Item {
	return []Item{
		{Key: "state", Label: i18n.T("Starting…"), Disabled: true},
		separator("above quit"),
		{Key: "quit", Label: i18n.T("Quit"), Action: Action{Kind: QuitProgram}},
	}
}

// Next returns the moment at which the same snapshot would give another menu
// because time passed, and false when nothing in it waits for anything.
func Next(s control.Snapshot, now time.Time) (time.Time, bool) {
	var first time.Time
	consider := func(until *time.Time) {
		if until == nil {
			return
		}
		if t, ok := i18n.NextChange(now, *until, i18n.Minutes); ok && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, c := range s.Connections {
		consider(c.Until)
		if c.Lane != nil {
			consider(c.Lane.Until)
		}
		if c.LimitReset != nil {
			consider(c.LimitReset.Next)
		}
	}
	for _, b := range hidden(s) {
		consider(b.Until)
	}
	return first, !first.IsZero()
}

// Tooltip is the text beside the icon: the program and its sentence of state.
func Tooltip(s control.Snapshot, now time.Time, loc *time.Location) string {
	name := "Breakwater"
	if s.Demo {
		name = i18n.T("Breakwater demo")
	}
	return name + " · " + i18n.Sentence(s, now, loc, i18n.Minutes)
}

func separator(key string) Item { return Item{Key: key, Separator: true} }

type builder struct {
	now    time.Time
	loc    *time.Location
	paused bool
}

func (b builder) phrase(s control.State, until *time.Time) string {
	if b.paused && s.Available() {
		return i18n.T("paused") // nothing is sent there, however well it is
	}
	return i18n.Phrase(s, until, b.now, b.loc, i18n.Minutes)
}

// breakers returns a line for each open breaker that no connection's line tells.
func (b builder) breakers(s control.Snapshot) []Item {
	var out []Item
	for _, br := range hidden(s) {
		state := control.StateOpen
		if br.State == "HALF_OPEN" {
			state = control.StateProbing
		}
		name := br.ProviderName
		if name == "" {
			name = br.Provider
		}
		out = append(out, Item{
			Key:      "breaker/" + br.Provider,
			Label:    label(state, i18n.Line(name), b.phrase(state, br.Until)),
			Disabled: true,
		})
	}
	return out
}

// hidden returns the breakers that are not closed and that no connection's own
// state shows, for instance because a cooldown comes first.
func hidden(s control.Snapshot) []control.Breaker {
	var out []control.Breaker
	for _, br := range s.Breakers {
		if br.State != "OPEN" && br.State != "HALF_OPEN" {
			continue
		}
		shown := false
		for _, c := range s.Connections {
			if c.GuardedBy(br.Provider) && (c.State == control.StateOpen || c.State == control.StateProbing) {
				shown = true
				break
			}
		}
		if !shown {
			out = append(out, br)
		}
	}
	return out
}

// label is a line about a thing with a state: shape, name, state in words.
func label(s control.State, name, phrase string) string {
	return i18n.Shape(s) + "  " + i18n.Ellipsis(name, nameWidth) + " — " + phrase
}

// Fingerprint is equal for two menus that look the same and do the same.
func Fingerprint(items []Item) string { return print(items, true) }

// Shape is equal for two menus that have the same entries in the same places,
// so that one can be turned into the other in place.
func Shape(items []Item) string { return print(items, false) }

func print(items []Item, full bool) string {
	var b strings.Builder
	var walk func([]Item)
	walk = func(is []Item) {
		for _, i := range is {
			fmt.Fprintf(&b, "%q|%t%t", i.Key, i.Checkable, i.Separator)
			if full {
				fmt.Fprintf(&b, "|%q|%t%t|%+v", i.Label, i.Checked, i.Disabled, i.Action)
			}
			b.WriteByte('(')
			walk(i.Children)
			b.WriteByte(')')
		}
	}
	walk(items)
	return b.String()
}
