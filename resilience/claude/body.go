package claude

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"breakwater/resilience/hint"
)

// MaxReply is how many bytes of a side call's answer are worth reading.
const MaxReply = 1 << 20

// The program that the reset belongs to, and the arm that may claim it.
const (
	program  = "juniper_tide"
	armReset = "reset"
)

// Tide is the juniper_tide block of the status answer (Claude sheet §2.2).
type Tide struct {
	Eligible         bool
	IneligibleReason string
	InExperiment     bool
	Arm              string // control or reset, empty for any other
	Available        bool
	NextAvailableAt  time.Time // zero: not said
	WeeklyResetsAt   time.Time // zero: not said
	ResetsPerWeek    int
}

// Offered reports whether a reset may be claimed now.
func (t Tide) Offered() bool { return t.Eligible && t.Arm == armReset && t.Available }

// ParseStatus reads the status answer. Without a juniper_tide block that says
// whether the account is eligible, ok is false.
func ParseStatus(body []byte) (t Tide, ok bool) {
	block, ok := parse(body).object(program)
	if !ok {
		return Tide{}, false
	}
	if t.Eligible, ok = block["eligible"].(bool); !ok {
		return Tide{}, false
	}
	t.IneligibleReason = block.text("ineligible_reason")
	t.InExperiment, t.Available = block["in_experiment"] == true, block["available"] == true
	if arm := block.text("arm"); arm == control || arm == armReset {
		t.Arm = arm
	}
	t.NextAvailableAt, t.WeeklyResetsAt = block.moment("next_available_at"), block.moment("weekly_resets_at")
	t.ResetsPerWeek = block.count("resets_per_week", 1)
	return t, true
}

// ClaimAnswer is what the upstream says to a claim (Claude sheet §2.3).
type ClaimAnswer struct {
	Outcome         Outcome
	NextAvailableAt time.Time // or the end of its cooldown; zero: not said
	WeeklyResetsAt  time.Time // zero: not said
	ResetsLeft      int       // -1: not said
}

// ParseClaim reads the answer to a claim. A result it does not know, or none,
// is OutcomeUnavailable.
func ParseClaim(body []byte) ClaimAnswer {
	o := parse(body)
	a := ClaimAnswer{
		Outcome: claimed(o.text("result")), NextAvailableAt: o.moment("next_available_at"),
		WeeklyResetsAt: o.moment("weekly_resets_at"), ResetsLeft: o.count("resets_left", -1),
	}
	if a.NextAvailableAt.IsZero() {
		a.NextAvailableAt = o.moment("cooldown_until")
	}
	return a
}

// ParseOrganization finds the organisation's UUID in the answer of the
// bootstrap, the profile or the token endpoint; empty when there is none.
func ParseOrganization(body []byte) string {
	o := parse(body)
	if account, ok := o.object("oauth_account"); ok {
		if id := account.text("organization_uuid"); id != "" {
			return id
		}
	}
	organization, _ := o.object("organization")
	return organization.text("uuid")
}

// OrganizationHeader names the response header in which every answer of the
// API carries the organisation's UUID.
const OrganizationHeader = "anthropic-organization-id"

// Organization returns the UUID that a response carries, or "".
func Organization(header map[string][]string) string {
	var value, key string
	for k, list := range header {
		if strings.EqualFold(k, OrganizationHeader) && (key == "" || k < key) {
			value, key = firstValue(list), k
		}
	}
	return value
}

// object is JSON whose fields may be of any type: what does not have the
// expected one counts as absent.
type object map[string]any

// parse reads the top level; what is no object is an empty one.
func parse(body []byte) object {
	var o object
	if json.Unmarshal(body, &o) != nil {
		return nil
	}
	return o
}

func (o object) object(field string) (object, bool) {
	m, ok := o[field].(map[string]any)
	return m, ok
}

func (o object) text(field string) string {
	s, _ := o[field].(string)
	return strings.TrimSpace(s)
}

// count reads a whole number that is not negative.
func (o object) count(field string, missing int) int {
	f, ok := o[field].(float64)
	if !ok || f < 0 || f > math.MaxInt32 || f != math.Trunc(f) {
		return missing
	}
	return int(f)
}

func (o object) number(field string) (float64, bool) {
	f, ok := o[field].(float64)
	return f, ok
}

func (o object) moment(field string) time.Time {
	at, _ := hint.ParseInstant(o.text(field))
	return at
}
