package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// Quota is one quota window as a bar.
type Quota struct {
	Name   string
	Figure string // percent used
	Resets string // when it begins anew, empty when nobody said
	Clock  string // the same as a time alone
	Tip    string // exact time, and when the figure was read
	Share  float32
	Role   Role
}

// nearlyFull is the share from which a bar is drawn in the colour of a warning.
const nearlyFull = 0.8

// Percent returns a share of 0 to 1 as whole percent: full only when it is, and
// nothing only when it is.
func Percent(share float64) string {
	n := math.Round(share * 100)
	if n >= 100 && share < 1 {
		n = 99
	}
	if n < 1 && share > 0 {
		n = 1
	}
	return fmt.Sprintf("%.0f %%", n)
}

// Quotas returns the quota windows of a Claude subscription in their order:
// five hours, the week, then those of single models.
func Quotas(u *control.ClaudeUsage, now time.Time) []Quota {
	if u == nil {
		return nil
	}
	var out []Quota
	if u.FiveHour != nil {
		out = append(out, quotaOf(T("Five hours"), *u.FiveHour, now))
	}
	if u.Weekly != nil {
		out = append(out, quotaOf(T("Week"), *u.Weekly, now))
	}
	for _, w := range u.Models {
		name := w.Model
		if name == "" {
			name = w.Name
		}
		out = append(out, quotaOf(Tf("Week, %s", capital(name)), w, now))
	}
	return out
}

func quotaOf(name string, w control.ClaudeWindow, now time.Time) Quota {
	used := min(max(w.Used, 0), 1)
	if w.Resets != nil && !w.Resets.After(now) {
		used, w.Full, w.Resets = 0, false, nil // it has begun anew since it was read
	}
	q := Quota{Name: name, Figure: Percent(used), Share: float32(used), Role: RolePrimary}
	switch {
	case w.Full || used >= 1:
		q.Role = RoleError
	case used >= nearlyFull:
		q.Role = RoleWarning
	}
	if w.Resets != nil {
		q.Clock = Clock(*w.Resets, now)
		q.Resets = Tf("anew %s", q.Clock)
		q.Tip = Tf("begins anew %s", Exact(*w.Resets))
	}
	if !w.At.IsZero() {
		q.Tip = strings.TrimPrefix(q.Tip+" · "+Tf("read %s", Ago(w.At, now)), " · ")
	}
	return q
}

// Fullest returns the window with the least left, which is what stops requests
// first; false when none is known.
func Fullest(list []Quota) (Quota, bool) {
	var best Quota
	for i, q := range list {
		if i == 0 || q.Share > best.Share {
			best = q
		}
	}
	return best, len(list) > 0
}

// ExtraUsage tells what the account may spend beyond its plan, or nothing.
func ExtraUsage(u *control.ClaudeUsage) string {
	switch {
	case u == nil || u.Extra == nil:
		return ""
	case !u.Extra.Enabled:
		return T("Paid extra usage is off at Anthropic.")
	case u.Extra.MonthlyLimit > 0:
		return Tf("Paid extra usage is on: %s of this month's limit used.", Percent(u.Extra.Used))
	}
	return T("Paid extra usage is on at Anthropic.")
}

// QuotaOwner is a Claude connection with its windows, for the overview.
type QuotaOwner struct {
	ID, Name string
	Windows  []Quota
}

// quotaOwners is how many subscriptions the overview shows the windows of.
const quotaOwners = 4

// QuotaOwners returns the Claude connections whose windows are known, in
// routing order: all while they are few, else those with the least left.
func QuotaOwners(s control.Snapshot, now time.Time) []QuotaOwner {
	var list []*control.Connection
	for i := range s.Connections {
		if c := &s.Connections[i]; c.Active && quotaUsed(c) >= 0 {
			list = append(list, c)
		}
	}
	if len(list) > quotaOwners {
		slices.SortStableFunc(list, func(a, b *control.Connection) int { return cmp.Compare(quotaUsed(b), quotaUsed(a)) })
		list = list[:quotaOwners]
	}
	var out []QuotaOwner
	for _, c := range list {
		out = append(out, QuotaOwner{c.ID, c.Name, Quotas(c.Usage, now)})
	}
	return out
}
