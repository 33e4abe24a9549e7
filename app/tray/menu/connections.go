package menu

import (
	"fmt"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// connections returns the lines of all connections: a flat list while it is
// short, else one submenu per provider.
func (b builder) connections(all []control.Connection) []Item {
	var out []Item
	if len(all) <= flatLimit {
		for _, c := range all {
			out = append(out, b.connection(c))
		}
		return out
	}
	for _, g := range groups(all) {
		out = append(out, b.group(g))
	}
	return out
}

// connection is one line of the flat list. A line with a submenu cannot be
// clicked itself on most desktops, so Claude's line has its switch inside.
func (b builder) connection(c control.Connection) Item {
	if !c.Claude {
		return b.toggle(c, b.line(c))
	}
	key := "connection/" + c.ID
	return Item{
		Key:   key + "/menu",
		Label: b.line(c),
		Children: append([]Item{b.toggle(c, i18n.T("Use this connection"))},
			claude(c, "")...),
	}
}

func (b builder) line(c control.Connection) string {
	return label(c.State, i18n.Name(c.ProviderName, c.Name), b.phrase(c.State, c.Until))
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

// claude returns the two switches of a Claude subscription.
func claude(c control.Connection, prefix string) []Item {
	key := "connection/" + c.ID
	return []Item{
		{
			Key: key + "/lane", Label: prefix + i18n.T("Low-priority lane"),
			Checkable: true, Checked: c.LowPriorityMode,
			Action: Action{Kind: SetLowPriority, Connection: c.ID, On: !c.LowPriorityMode},
		},
		{
			Key: key + "/reset", Label: prefix + i18n.T("Automatic limit reset"),
			Checkable: true, Checked: c.AutoLimitReset,
			Action: Action{Kind: SetAutoReset, Connection: c.ID, On: !c.AutoLimitReset},
		},
	}
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
// Submenus inside submenus do not open everywhere, so Claude's switches stand
// in the list, behind their connection.
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
				claude(c, "      "+i18n.Ellipsis(i18n.Line(c.Name), nameWidth)+": ")...)
		}
	}
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
	case control.StateOpen:
		return 4
	case control.StateBanned, control.StateExpired, control.StateCreditsExhausted:
		return 5
	}
	return 2
}
