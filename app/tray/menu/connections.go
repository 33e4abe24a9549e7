package menu

import (
	"fmt"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// connections returns the lines of all connections: a flat list while it is
// short, else one submenu for each provider that has several.
func (b builder) connections(all []control.Connection) []Item {
	var out []Item
	if len(all) <= flatLimit {
		for _, c := range all {
			out = append(out, b.connection(c))
		}
		return out
	}
	for _, g := range groups(all) {
		if len(g.members) == 1 {
			out = append(out, b.connection(g.members[0]))
			continue
		}
		out = append(out, b.group(g))
	}
	return out
}

// connection is one line of the flat list. What can be done stands below it in
// an order that does not change, so that a change of state is drawn in place.
func (b builder) connection(c control.Connection) Item {
	key := "connection/" + c.ID
	children := []Item{b.toggle(c, i18n.T("Use this connection"))}
	if c.Claude {
		children = append(children, b.claude(c, "")...)
	}
	children = append(children,
		separator(key+"/actions"),
		Item{
			Key: key + "/clear", Label: i18n.T("Clear cooldown"),
			Disabled: !clearable(c),
			Action:   Action{Kind: ClearCooldown, Connection: c.ID},
		},
		Item{Key: key + "/test", Label: i18n.T("Test now"), Action: Action{Kind: TestNow, Connection: c.ID}},
		Item{Key: key + "/details", Label: i18n.T("Open details"), Action: Action{Kind: OpenWindow, Page: "connections/" + c.ID}},
	)
	return Item{Key: key + "/menu", Label: b.line(c), Children: children}
}

// whyWidth is how many characters of a refusal's words a line of the menu holds.
const whyWidth = 48

// clearable reports whether a clear puts the connection back in its place.
func clearable(c control.Connection) bool {
	switch c.State {
	case control.StateCooling, control.StateModelLocked, control.StateWrongAddress, control.StateNeedsAttention:
		return true
	}
	return false
}

func (b builder) line(c control.Connection) string {
	phrase := b.phrase(c.State, c.Until)
	if why := i18n.Why(c); why != "" && c.State != control.StateServing && c.State != control.StateOff {
		phrase += ": " + i18n.Ellipsis(why, whyWidth)
	}
	return label(c.State, i18n.Name(c.ProviderName, c.Name), phrase)
}

func (b builder) toggle(c control.Connection, text string) Item {
	return Item{
		Key:       "connection/" + c.ID,
		Label:     text,
		Checkable: true,
		Checked:   c.Active,
		Action:    Action{Kind: SetActive, Connection: c.ID, On: !c.Active},
	}
}

// claude returns the two switches of a Claude subscription, each with how it
// stands.
func (b builder) claude(c control.Connection, prefix string) []Item {
	key := "connection/" + c.ID
	return []Item{
		{
			Key: key + "/lane", Label: prefix + stands(i18n.T("Low-priority lane"), b.lane(c)),
			Checkable: true, Checked: c.LowPriorityMode,
			Action: Action{Kind: SetLowPriority, Connection: c.ID, On: !c.LowPriorityMode},
		},
		{
			Key: key + "/reset", Label: prefix + stands(i18n.T("Automatic limit reset"), b.reset(c)),
			Checkable: true, Checked: c.AutoLimitReset,
			Action: Action{Kind: SetAutoReset, Connection: c.ID, On: !c.AutoLimitReset},
		},
	}
}

func stands(name, how string) string {
	if how == "" {
		return name
	}
	return name + " — " + how
}

// lane says how the lane stands, nothing while it has nothing to say.
func (b builder) lane(c control.Connection) string {
	l := c.Lane
	if l == nil || l.Until == nil || !l.Until.After(b.now) {
		return ""
	}
	until := i18n.Until(b.now, *l.Until, b.loc)
	switch l.State {
	case "active":
		return i18n.T("in use %s", until)
	case "budget_spent":
		return i18n.T("used up %s", until)
	case "cooling_off":
		return i18n.T("rests %s", until)
	}
	return ""
}

// reset says when the next limit reset may be asked for.
func (b builder) reset(c control.Connection) string {
	r := c.LimitReset
	if r == nil || r.Next == nil || !r.Next.After(b.now) {
		return ""
	}
	return i18n.T("next from %s", i18n.Clock(b.now, *r.Next, b.loc))
}

// group of connections of one provider, in routing order.
type group struct {
	key, name string
	members   []control.Connection
}

// groups divides the connections by provider, in the order in which the
// providers first come, and splits what would be too long for one submenu.
func groups(all []control.Connection) []group {
	byProvider := map[string][]control.Connection{}
	var order []string
	for _, c := range all {
		if byProvider[c.Provider] == nil {
			order = append(order, c.Provider)
		}
		byProvider[c.Provider] = append(byProvider[c.Provider], c)
	}
	var out []group
	for _, p := range order {
		members := byProvider[p]
		name := i18n.Line(members[0].ProviderName)
		if name == "" {
			name = p
		}
		if len(members) <= groupSize {
			out = append(out, group{key: "group/" + p, name: name, members: members})
			continue
		}
		for from := 0; from < len(members); from += groupSize {
			to := min(from+groupSize, len(members))
			out = append(out, group{
				key:     fmt.Sprintf("group/%s/%d", p, from),
				name:    fmt.Sprintf("%s %d–%d", name, from+1, to),
				members: members[from:to],
			})
		}
	}
	return out
}

// group is the line of one provider; it wears the shape of its worst member.
// Submenus inside submenus do not open everywhere, so its members are switches,
// Claude's own behind their connection, and the rest is a click away.
func (b builder) group(g group) Item {
	item := Item{Key: g.key}
	worst, on, serving := control.StateOff, 0, 0
	for _, c := range g.members {
		if c.State != control.StateOff {
			on++
			if c.State.Available() {
				serving++
			}
			if rank(c.State) > rank(worst) {
				worst = c.State
			}
		}
		item.Children = append(item.Children, b.toggle(c, b.line(c)))
		if c.Claude {
			item.Children = append(item.Children,
				b.claude(c, "      "+i18n.Ellipsis(i18n.Line(c.Name), nameWidth)+": ")...)
		}
	}
	item.Children = append(item.Children, separator(g.key+"/actions"),
		Item{Key: g.key + "/details", Label: i18n.T("Open details"), Action: Action{Kind: OpenWindow, Page: "connections/" + g.members[0].ID}})
	state := i18n.T("off")
	switch {
	case on > 0 && b.paused:
		state = i18n.T("paused")
	case on > 0:
		state = i18n.T("%d of %d serving", serving, on)
	}
	item.Label = label(worst, g.name, state)
	return item
}

// rank orders the states by how much the user should know of them.
func rank(s control.State) int {
	switch s {
	case control.StateOff:
		return 0
	case control.StateServing:
		return 1
	case control.StateDegraded, control.StateModelLocked, control.StateProbing:
		return 2
	case control.StateCooling:
		return 3
	case control.StateOpen, control.StateNeedsAttention:
		return 4
	case control.StateWrongAddress, control.StateBanned, control.StateExpired, control.StateCreditsExhausted, control.StateKeyMissing:
		return 5
	}
	return 2
}
