package rest

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"time"

	"breakwater/proxy/control"
)

// allSettings is GET /api/settings: the product's own and the guide's.
type allSettings struct {
	control.Settings
	control.Guide
}

// settingsPatch is the body of PATCH /api/settings.
type settingsPatch struct {
	control.SettingsPatch
	control.GuidePatch
}

func (a *api) getSettings(r *http.Request) (int, any, error) {
	own, err := a.facade.Settings(r.Context())
	if err != nil {
		return 0, nil, err
	}
	guide, err := a.facade.Guide(r.Context())
	own.AllowedOrigins = list(own.AllowedOrigins)
	return http.StatusOK, allSettings{own, guide}, err
}

func (a *api) editSettings(r *http.Request) (int, any, error) {
	var patch settingsPatch
	if err := decode(r, &patch); err != nil {
		return 0, nil, err
	}
	own, guide := !reflect.ValueOf(patch.SettingsPatch).IsZero(), !reflect.ValueOf(patch.GuidePatch).IsZero()
	if !own && !guide {
		return 0, nil, errNoFields
	}
	if guide {
		if _, err := a.facade.EditGuide(r.Context(), patch.GuidePatch); err != nil {
			return 0, nil, err
		}
	}
	if own {
		if _, err := a.facade.EditSettings(r.Context(), patch.SettingsPatch); err != nil {
			return 0, nil, err
		}
	}
	return a.getSettings(r)
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
	s, err := a.facade.EditResilience(r.Context(), body)
	return http.StatusOK, struct {
		OK bool `json:"ok"`
		control.Resilience
	}{true, s}, err
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
	now, items := a.now(), []lockoutRow{}
	for _, c := range snap.Connections {
		for _, l := range c.Lockouts {
			items = append(items, lockoutRow{
				Provider: c.Provider, ConnectionID: c.ID, Model: l.Model, Reason: l.Reason,
				RemainingMs: max(0, l.Until.Sub(now).Milliseconds()), ExpiresAt: l.Until.UTC(), FailureCount: l.FailureCount,
			})
		}
	}
	slices.SortStableFunc(items, func(x, y lockoutRow) int { return cmp.Compare(y.RemainingMs, x.RemainingMs) })
	return http.StatusOK, map[string]any{"items": items}, nil
}

func (a *api) clearLockouts(r *http.Request) (int, any, error) {
	var in struct {
		All        bool   `json:"all"`
		Provider   string `json:"provider"`
		Connection string `json:"connection"`
		Model      string `json:"model"`
	}
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
