package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// ConnectionRow is one line of the connections table.
type ConnectionRow struct {
	ID, Name   string
	Active     bool
	Badge      Badge
	Provider   string
	ProviderID string
	Dialects   string
	Priority   string
	LastError  string
	LastUsed   string
	UsedTip    string // exact time of the last use
	ErrorTip   string // exact time of the last error
	Rate       string // answered of all attempts since start, in percent
	RateTip    string
	Quota      Quota // the fullest window
	HasQuota   bool
	First      bool // in routing order
	Last       bool
	Cooling    bool // a cooldown can be cleared
}

// StateTip returns the exact times behind state and last error.
func (r ConnectionRow) StateTip() string {
	switch {
	case r.Badge.Tip != "" && r.ErrorTip != "":
		return Tf("until %s · last error %s", r.Badge.Tip, r.ErrorTip)
	case r.Badge.Tip != "":
		return Tf("until %s", r.Badge.Tip)
	case r.ErrorTip != "":
		return Tf("last error %s", r.ErrorTip)
	}
	return ""
}

// QuotaLine names the fullest window and when it begins anew.
func (r ConnectionRow) QuotaLine() string {
	if r.Quota.Clock == "" {
		return r.Quota.Name
	}
	return r.Quota.Name + " · " + r.Quota.Clock
}

// Column names a column of the connections table that can be sorted by.
type Column string

// The sortable columns. ByOrder is the routing order.
const (
	ByOrder    Column = "order"
	ByName     Column = "name"
	ByState    Column = "state"
	ByProvider Column = "provider"
	ByUsed     Column = "used"
	ByQuota    Column = "quota"
)

// SortConnections returns the connections in the order of a column. They point
// into the list given; a row is made when it is shown.
func SortConnections(list []control.Connection, by Column, reverse bool) []*control.Connection {
	out := make([]*control.Connection, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	if by == ByOrder && !reverse {
		return out
	}
	slices.SortStableFunc(out, func(a, b *control.Connection) int {
		n := compare(a, b, by)
		if reverse {
			return -n
		}
		return n
	})
	return out
}

// RowOf returns the row of one connection of a snapshot.
func RowOf(c *control.Connection, s *control.Snapshot, now time.Time) ConnectionRow {
	r := connectionRow(c, now)
	if s.Paused {
		r.Badge = pausedBadge(*c, r.Badge)
	}
	r.First = c.ID == s.Connections[0].ID
	r.Last = c.ID == s.Connections[len(s.Connections)-1].ID
	return r
}

func compare(a, b *control.Connection, by Column) int {
	switch by {
	case ByName:
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	case ByState:
		return cmp.Compare(rank(a.State), rank(b.State))
	case ByProvider:
		return strings.Compare(strings.ToLower(a.ProviderName), strings.ToLower(b.ProviderName))
	case ByQuota:
		return cmp.Compare(quotaUsed(b), quotaUsed(a))
	case ByUsed:
		return used(b).Compare(used(a))
	}
	return 0
}

// quotaUsed is the share used of the fullest window, below nothing where none is
// known.
func quotaUsed(c *control.Connection) float64 {
	most := -1.0
	if u := c.Usage; u != nil {
		for _, w := range u.Models {
			most = max(most, w.Used)
		}
		for _, w := range []*control.ClaudeWindow{u.FiveHour, u.Weekly} {
			if w != nil {
				most = max(most, w.Used)
			}
		}
	}
	return most
}

func used(c *control.Connection) time.Time {
	if c.LastUsedAt == nil {
		return time.Time{}
	}
	return *c.LastUsedAt
}

// rank orders states by how much they need the user.
func rank(s control.State) int {
	order := []control.State{
		control.StateBanned, control.StateExpired, control.StateCreditsExhausted, control.StateKeyMissing, control.StateWrongAddress, control.StateNeedsAttention, control.StateOpen,
		control.StateCooling, control.StateProbing, control.StateModelLocked, control.StateDegraded,
		control.StateServing, control.StateOff,
	}
	return slices.Index(order, s)
}

func connectionRow(c *control.Connection, now time.Time) ConnectionRow {
	row := ConnectionRow{
		ID: c.ID, Name: c.Name, Active: c.Active, Badge: ConnectionBadge(*c, now),
		Provider: c.ProviderName, ProviderID: c.Provider, Dialects: dialects(c.Dialects), Priority: strconv.Itoa(c.Priority),
		LastError: lastError(*c), LastUsed: T("never"),
		Cooling: Clearable(c, now),
	}
	if c.State == control.StateServing || c.State == control.StateOff {
		row.LastError = "" // it is over; the details still tell of it
	}
	if c.LastErrorAt != nil {
		row.ErrorTip = Exact(*c.LastErrorAt)
		if row.LastError != "" { // whole, however narrow the column is
			row.ErrorTip += ": " + row.LastError
		}
	}
	row.Quota, row.HasQuota = Fullest(Quotas(c.Usage, now))
	if all := c.Served + c.Failed; all > 0 {
		row.Rate, row.RateTip = Percent(float64(c.Served)/float64(all)), Tf("%d answered, %d failed, %d in flight", c.Served, c.Failed, c.InFlight)
	}
	if c.LastUsedAt != nil {
		row.LastUsed, row.UsedTip = Ago(*c.LastUsedAt, now), Exact(*c.LastUsedAt)
	}
	return row
}

// Speed is how long the first words of a connection's last answers took.
type Speed struct{ Word, Tip string }

// Speeds returns how long the first words took, by connection: the middle of
// the last answers that are known, at most 20 for each.
func Speeds(list []control.Activity) map[string]Speed {
	const most = 20
	took := map[string][]int64{}
	for i := range list {
		a := &list[i]
		if a.Result == "answered" && a.FirstOutputMs >= 0 && len(took[a.ConnectionID]) < most {
			took[a.ConnectionID] = append(took[a.ConnectionID], a.FirstOutputMs)
		}
	}
	out := make(map[string]Speed, len(took))
	for id, ms := range took {
		slices.Sort(ms)
		out[id] = Speed{Span(ms[len(ms)/2]), Tf("time to the first words, in the middle of the last %d answers", len(ms))}
	}
	return out
}

func dialects(list []string) string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = Dialect(d)
	}
	return strings.Join(out, ", ")
}

// Move returns the ids of the connections with one moved by step places, at
// most to either end, or nil when it is there already.
func Move(s control.Snapshot, id string, step int) []string {
	ids := make([]string, len(s.Connections))
	at := -1
	for i, c := range s.Connections {
		ids[i] = c.ID
		if c.ID == id {
			at = i
		}
	}
	to := min(max(at+step, 0), len(ids)-1)
	if at < 0 || to == at {
		return nil
	}
	return slices.Insert(slices.Delete(ids, at, at+1), to, id)
}

// Fact is one labelled value of a detail pane.
type Fact struct {
	Label, Value string
	Mono         bool
	Wide         bool // needs a line of its own
	Tip          string
}

// Facts returns what the detail pane of a connection shows.
func Facts(c control.Connection, now time.Time) []Fact {
	out := []Fact{
		{Label: T("Base URL"), Value: c.BaseURL, Mono: true, Wide: true},
		{Label: T("Credential"), Value: credential(c)},
		{Label: T("Since start"), Value: Tf("%d answered, %d failed, %d in flight", c.Served, c.Failed, c.InFlight)},
	}
	if c.DefaultModel != "" {
		out = append(out, Fact{Label: T("Default model"), Value: c.DefaultModel, Mono: true})
	}
	if e := lastError(c); e != "" {
		f := Fact{Label: T("Last error"), Value: e}
		if c.LastErrorAt != nil {
			f.Value, f.Tip = e+", "+Ago(*c.LastErrorAt, now), Exact(*c.LastErrorAt)
		}
		out = append(out, f)
	}
	if c.RawHint != "" {
		out = append(out, Fact{Label: T("Provider's hint"), Value: c.RawHint, Mono: true})
	}
	if c.BackoffLevel > 0 {
		out = append(out, Fact{Label: T("Backoff step"), Value: strconv.Itoa(c.BackoffLevel)})
	}
	if r := c.LoginRefresh; r != nil {
		f := Fact{Label: T("Login refresh"), Value: Tf("failed %d times in a row", r.Failures)}
		if r.Until != nil {
			f.Value, f.Tip = Tf("fails; next try %s", Until(*r.Until, now)), Exact(*r.Until)
		}
		out = append(out, f)
	}
	if c.DisableCooling {
		out = append(out, Fact{Label: T("Cooldown"), Value: T("never, by your switch")})
	}
	return out
}

func credential(c control.Connection) string {
	switch {
	case c.Credential == "passthrough":
		return T("the client's sign-in, passed through")
	case c.Credential == "none":
		return T("none needed")
	case c.HasSecret && c.Credential == "token":
		return T("token, stored")
	case c.HasSecret:
		return T("key, stored")
	default:
		return T("missing")
	}
}
