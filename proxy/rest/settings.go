package rest

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// settingsAnswer is the answer of GET and PATCH /api/settings: the product's
// settings and the guide's.
type settingsAnswer struct{ control.AllSettings }

func (s settingsAnswer) etag() string { return revisionTag(s.Revision) }

func revisionTag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

func (a *api) getSettings(r *http.Request) (int, any, error) {
	all, err := a.facade.AllSettings(r.Context())
	return settings(all, err)
}

func settings(all control.AllSettings, err error) (int, any, error) {
	all.AllowedOrigins = list(all.AllowedOrigins)
	return http.StatusOK, settingsAnswer{all}, err
}

func (a *api) editSettings(r *http.Request) (int, any, error) {
	var patch control.AllSettingsPatch
	if err := decodeSettings(r, &patch); err != nil {
		return 0, nil, err
	}
	fields := patch
	fields.ExpectedRevision = nil
	if reflect.ValueOf(fields).IsZero() {
		return 0, nil, errNoFields
	}
	if err := ifMatch(r, &patch); err != nil {
		return 0, nil, err
	}
	all, err := a.facade.EditAllSettings(r.Context(), patch)
	return settings(all, err)
}

// ifMatch reads the revision that the client saw last from the header, which
// holds the ETag of an earlier answer (sheet §2.12). Any revision will do for
// a star.
func ifMatch(r *http.Request, patch *control.AllSettingsPatch) error {
	tag := strings.TrimSpace(r.Header.Get("If-Match"))
	if tag == "" || tag == "*" {
		return nil
	}
	inner, ok := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	revision, err := strconv.ParseInt(inner, 10, 64)
	if err != nil || !ok || !closed || revisionTag(revision) != tag {
		return control.Invalid("If-Match", "Expected the ETag of an earlier answer, or *")
	}
	if patch.ExpectedRevision != nil && *patch.ExpectedRevision != revision {
		return control.Invalid("expectedRevision", "Contradicts If-Match")
	}
	patch.ExpectedRevision = &revision
	return nil
}

func (a *api) getResilience(r *http.Request) (int, any, error) {
	s, err := a.facade.Resilience(r.Context())
	return http.StatusOK, s, err
}

// editResilience hands the body over as it is: the settings tree has its own
// strict reader.
func (a *api) editResilience(r *http.Request) (int, any, error) {
	body, err := readBody(r)
	if err != nil {
		return 0, nil, err
	}
	if err := checkTree(body); err != nil {
		return 0, nil, err
	}
	s, err := a.facade.EditResilience(r.Context(), body)
	return http.StatusOK, resilienceAnswer{true, s}, err
}

// lockoutRow is one item of GET /api/resilience/model-cooldowns (sheet §2.6).
type lockoutRow struct {
	Provider     string    `json:"provider"`
	ConnectionID string    `json:"connectionId"`
	Model        string    `json:"model"`
	Reason       string    `json:"reason"`
	RemainingMs  int64     `json:"remainingMs"`
	ExpiresAt    time.Time `json:"expiresAt"`
	FailureCount int       `json:"failureCount"`
}

func (a *api) listLockouts(r *http.Request) (int, any, error) {
	snap, err := a.snapshot(r.Context())
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"items": lockoutsOf(snap, a.now())}, nil
}

// lockoutsOf lists the locked models, the longest first.
func lockoutsOf(snap control.Snapshot, now time.Time) []lockoutRow {
	items := []lockoutRow{}
	for _, c := range snap.Connections {
		for _, l := range c.Lockouts {
			items = append(items, lockoutRow{
				Provider: c.Provider, ConnectionID: c.ID, Model: l.Model, Reason: l.Reason,
				RemainingMs: max(0, l.Until.Sub(now).Milliseconds()), ExpiresAt: l.Until.UTC(), FailureCount: l.FailureCount,
			})
		}
	}
	slices.SortStableFunc(items, func(x, y lockoutRow) int { return cmp.Compare(y.RemainingMs, x.RemainingMs) })
	return items
}

func (a *api) clearLockouts(r *http.Request) (int, any, error) {
	var in unlockBody
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	which := control.LockoutFilter{Provider: in.Provider, ConnectionID: in.Connection, Model: in.Model}
	if !in.All && (in.Provider == "" || in.Model == "") {
		return 0, nil, control.Invalid("body", "provider and model are required")
	}
	if in.All && which != (control.LockoutFilter{}) {
		return 0, nil, control.Invalid("body", "Provide either provider and model, or all")
	}
	n, err := a.facade.ClearLockouts(r.Context(), which)
	if err != nil {
		return 0, nil, err
	}
	if in.All {
		return http.StatusOK, map[string]any{"ok": true, "clearedAll": true, "removedCount": n}, nil
	}
	return http.StatusOK, map[string]any{"ok": true, "removed": n > 0, "removedCount": n}, nil
}
