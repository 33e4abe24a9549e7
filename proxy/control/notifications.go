package control

import (
	"math"
	"strings"
	"time"

	"breakwater/resilience/quota"
)

// NotificationSettings say which alerts become desktop notifications, and at
// what hours none does. They hold while Settings.Notifications is on.
type NotificationSettings struct {
	Breakers    bool `json:"breakers"`    // a breaker opened, or serves again
	Terminal    bool `json:"terminal"`    // a connection is banned, expired or out of credit
	NothingLeft bool `json:"nothingLeft"` // every target rests
	Lane        bool `json:"lane"`        // the low-priority lane began or ended
	LimitReset  bool `json:"limitReset"`  // a limit reset was used, or there is none
	Quota       bool `json:"quota"`       // a quota window fell below the warning
	// QuietFrom and QuietUntil are local times such as 22:00 and 07:30 between
	// which nothing is shown; what still holds is told at the end. Both empty:
	// never quiet.
	QuietFrom  string `json:"quietFrom"`
	QuietUntil string `json:"quietUntil"`
}

// NotificationPatch changes notification settings; nil fields stay as they are.
type NotificationPatch struct {
	Breakers    *bool   `json:"breakers,omitempty"`
	Terminal    *bool   `json:"terminal,omitempty"`
	NothingLeft *bool   `json:"nothingLeft,omitempty"`
	Lane        *bool   `json:"lane,omitempty"`
	LimitReset  *bool   `json:"limitReset,omitempty"`
	Quota       *bool   `json:"quota,omitempty"`
	QuietFrom   *string `json:"quietFrom,omitempty"`
	QuietUntil  *string `json:"quietUntil,omitempty"`
}

// Apply puts what the patch holds into the settings; a nil patch holds nothing.
func (p *NotificationPatch) Apply(to *NotificationSettings) {
	if p == nil {
		return
	}
	set(&to.Breakers, p.Breakers)
	set(&to.Terminal, p.Terminal)
	set(&to.NothingLeft, p.NothingLeft)
	set(&to.Lane, p.Lane)
	set(&to.LimitReset, p.LimitReset)
	set(&to.Quota, p.Quota)
	set(&to.QuietFrom, p.QuietFrom)
	set(&to.QuietUntil, p.QuietUntil)
}

// patch returns the settings as a patch that sets all of them.
func (n NotificationSettings) patch() *NotificationPatch {
	return &NotificationPatch{
		Breakers: &n.Breakers, Terminal: &n.Terminal, NothingLeft: &n.NothingLeft, Lane: &n.Lane,
		LimitReset: &n.LimitReset, Quota: &n.Quota, QuietFrom: &n.QuietFrom, QuietUntil: &n.QuietUntil,
	}
}

// clockLayout is how a time of day is written.
const clockLayout = "15:04"

func checkNotifications(bad *problems, n NotificationSettings) {
	if n.QuietFrom == "" && n.QuietUntil == "" {
		return
	}
	for field, v := range map[string]string{"notify.quietFrom": n.QuietFrom, "notify.quietUntil": n.QuietUntil} {
		if _, err := time.Parse(clockLayout, v); err != nil || len(v) != len(clockLayout) {
			bad.add(field, "a time of day such as 22:00; both empty for no quiet hours")
		}
	}
	if n.QuietFrom == n.QuietUntil {
		bad.add("notify.quietUntil", "another time than the beginning")
	}
}

// families are the model families that an alert may name: a window's scope is
// the provider's own wording otherwise.
var families = []string{"opus", "sonnet", "haiku"}

// windowName is a window's kind with the model family that it is for.
func windowName(w *quota.Window) string {
	for _, f := range families {
		if strings.Contains(strings.ToLower(w.Scope), f) {
			return string(w.Kind) + ":" + f
		}
	}
	return string(w.Kind)
}

// tellLow warns of every quota window that has just fallen to the warning
// (quotaPreflight.warnThresholdPercent), whether the preflight is on or not.
func (s *Service) tellLow(r *Route, before, after *quota.Snapshot) {
	if after == nil {
		return
	}
	now, bound := s.Now(), float64(s.InForce().QuotaPreflight.WarnThresholdPercent)
	for i := range after.Windows {
		w := &after.Windows[i]
		left, ok := w.Remaining(now)
		if !ok || left > bound || wasLow(before, w.Name(), now, bound) {
			continue
		}
		s.Warn(Alert{
			Kind: AlertQuotaLow, Provider: r.Provider.ID, ProviderName: r.Provider.Name,
			ConnectionID: r.Record.ID, ConnectionName: r.Record.Name,
			Window: windowName(w), PercentLeft: new(int(math.Round(left))), Until: s.Real(w.ResetAt),
		})
	}
}

// wasLow reports whether a window was at the warning before already.
func wasLow(before *quota.Snapshot, window string, now time.Time, bound float64) bool {
	if before == nil {
		return false
	}
	for i := range before.Windows {
		if w := &before.Windows[i]; w.Name() == window {
			left, ok := w.Remaining(now)
			return ok && left <= bound
		}
	}
	return false
}
