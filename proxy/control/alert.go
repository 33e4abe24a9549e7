package control

import "time"

// AlertKind is what an alert is about.
type AlertKind string

// The alerts that become desktop notifications.
const (
	AlertBreakerOpen   AlertKind = "breaker_open"   // Provider, Until
	AlertBreakerClosed AlertKind = "breaker_closed" // Provider
	AlertTerminal      AlertKind = "terminal"       // Connection, State
	AlertNothingLeft   AlertKind = "nothing_left"   // Dialect, Until: no connection can serve

	// Of a Claude subscription at its limit.
	AlertLaneEntered      AlertKind = "lane_entered"      // Connection, Until
	AlertLaneEnded        AlertKind = "lane_ended"        // Connection, Reason
	AlertResetClaimed     AlertKind = "reset_claimed"     // Connection, Reason, Until of the next
	AlertResetUnavailable AlertKind = "reset_unavailable" // the same

	AlertQuotaLow AlertKind = "quota_low" // Connection, Window, PercentLeft, Until of its reset
)

// Alert is something the user should hear of although no window is open. It
// holds names and figures only, never upstream text.
type Alert struct {
	Kind           AlertKind `json:"kind"`
	At             time.Time `json:"at"`
	Provider       string    `json:"provider,omitempty"`
	ProviderName   string    `json:"providerName,omitempty"`
	ConnectionID   string    `json:"connectionId,omitempty"`
	ConnectionName string    `json:"connectionName,omitempty"`
	State          State     `json:"state,omitempty"`
	Reason         string    `json:"reason,omitempty"` // why a lane ended, how a reset went
	Dialect        string    `json:"dialect,omitempty"`
	// Combo is the one whose targets all rest, empty where no combo was asked.
	Combo string `json:"combo,omitempty"`
	// Window is a quota window, "session", "weekly", "monthly", with the model
	// family it is for behind a colon.
	Window      string     `json:"window,omitempty"`
	PercentLeft *int       `json:"percentLeft,omitempty"`
	Until       *time.Time `json:"until,omitempty"`
}
