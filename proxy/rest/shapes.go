package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"breakwater/proxy/control"
)

// The answers that handlers write as they go, for the description; a test
// compares them with what is really written.
type (
	failureAnswer struct {
		Error           errorBody `json:"error"`
		CurrentRevision int64     `json:"currentRevision,omitempty"` // with SETTINGS_REVISION_CONFLICT
	}
	okAnswer struct {
		OK bool `json:"ok"`
	}
	messageAnswer struct {
		Message string `json:"message"`
	}
	catalogAnswer struct {
		Providers []control.Provider `json:"providers"`
	}
	modelsAnswer struct {
		Models []control.ConnectionModels `json:"models"`
	}
	connectionsAnswer struct {
		Connections []control.Connection `json:"connections"`
		Total       int                  `json:"total"`
	}
	connectionAnswer struct {
		Connection control.Connection `json:"connection"`
	}
	switchedAnswer struct {
		Message  string   `json:"message"`
		Updated  int      `json:"updated"`
		NotFound []string `json:"notFound"`
	}
	resilienceAnswer struct {
		OK bool `json:"ok"`
		control.Resilience
	}
	leasesAnswer struct {
		Leases []control.HeldLease `json:"leases"`
		Total  int                 `json:"total"`
	}
	lockoutsAnswer struct {
		Items []lockoutRow `json:"items"`
	}
	unlockedAnswer struct {
		OK           bool `json:"ok"`
		Removed      bool `json:"removed,omitempty"`
		ClearedAll   bool `json:"clearedAll,omitempty"`
		RemovedCount int  `json:"removedCount"`
	}
	resetAnswer struct {
		OK         bool   `json:"ok,omitempty"`
		Success    bool   `json:"success,omitempty"`
		ResetCount int    `json:"resetCount"`
		Message    string `json:"message"`
	}
	cooldownsAnswer struct {
		Connections []cooldownRow `json:"connections"`
		GeneratedAt time.Time     `json:"generatedAt"`
	}
	activityAnswer struct {
		Activity []control.Activity `json:"activity"`
	}
	pausedAnswer struct {
		OK     bool `json:"ok"`
		Paused bool `json:"paused"`
	}
	limitAnswer struct {
		Success      bool   `json:"success"`
		ConnectionID string `json:"connectionId"`
		Enabled      bool   `json:"enabled"`
	}
)

// Small bodies; the others are types of the facade.
type (
	idsBody struct {
		IDs []string `json:"ids"`
	}
	switchBody struct {
		IDs    []string `json:"ids"`
		Active *bool    `json:"isActive"`
	}
	testBody struct {
		Model string `json:"validationModelId"`
	}
	unlockBody struct {
		All        bool   `json:"all"`
		Provider   string `json:"provider"`
		Connection string `json:"connection"`
		Model      string `json:"model"`
	}
	pageBody struct {
		Page string `json:"page"`
	}
	pauseBody struct {
		Paused *bool `json:"paused"`
		// Seconds lets the pause end by itself.
		Seconds *int64 `json:"seconds,omitempty"`
	}
)

// shapes says what each route takes and gives.
var shapes = map[string]shape{
	"GET /api/state":        {out: []any{control.Snapshot{}}},
	"GET /api/events":       {media: "text/event-stream"},
	"GET /api/catalog":      {out: []any{catalogAnswer{}}},
	"GET /api/models":       {out: []any{modelsAnswer{}}},
	"GET /api/openapi.json": {out: []any{map[string]any{}}},

	"GET /api/providers":            {query: []param{limitParam, offsetParam}, out: []any{connectionsAnswer{}}},
	"POST /api/providers":           {in: providerInput{}, status: http.StatusCreated, out: []any{connectionAnswer{}}},
	"PATCH /api/providers":          {in: switchBody{}, out: []any{switchedAnswer{}}},
	"POST /api/providers/reorder":   {in: idsBody{}, out: []any{okAnswer{}}},
	"GET /api/providers/{id}":       {out: []any{connectionAnswer{}}},
	"PUT /api/providers/{id}":       {in: providerPatch{}, out: []any{connectionAnswer{}}},
	"PATCH /api/providers/{id}":     {in: providerPatch{}, out: []any{connectionAnswer{}}},
	"DELETE /api/providers/{id}":    {out: []any{messageAnswer{}}},
	"POST /api/providers/{id}/test": {in: testBody{}, out: []any{control.TestResult{}}},

	"POST /api/providers/{id}/leave-lane":  {out: []any{okAnswer{}}},
	"POST /api/providers/{id}/check-reset": {out: []any{okAnswer{}}},
	"GET /api/providers/{id}/usage":        {out: []any{control.ClaudeUsage{}}},

	"GET /api/resilience":                    {out: []any{control.Resilience{}}},
	"PATCH /api/resilience":                  {in: json.RawMessage{}, out: []any{resilienceAnswer{}}},
	"GET /api/resilience/model-cooldowns":    {out: []any{lockoutsAnswer{}}},
	"DELETE /api/resilience/model-cooldowns": {in: unlockBody{}, out: []any{unlockedAnswer{}}},
	"POST /api/resilience/reset":             {query: []param{{"provider", "string", "only the breakers of this provider"}}, out: []any{resetAnswer{}}},
	"GET /api/resilience/cooldowns":          {query: []param{{"provider", "string", "only connections of this provider"}}, out: []any{cooldownsAnswer{}}},
	"POST /api/resilience/cooldowns":         {in: clearRequest{}, out: []any{clearResult{}}},

	"GET /api/monitoring/health":     {out: []any{minimalHealth{}, fullHealth{}}},
	"OPTIONS /api/monitoring/health": {status: http.StatusNoContent},
	"DELETE /api/monitoring/health":  {query: []param{{"provider", "string", "only the breakers of this provider"}}, out: []any{resetAnswer{}}},

	"GET /api/activity": {query: []param{
		{"before", "integer", "only rows with a smaller id"},
		limitParam,
		{"connectionId", "string", "only requests that tried this connection"},
		{"failedOnly", "boolean", "only requests that failed over, failed or were refused"},
	}, out: []any{activityAnswer{}}},
	"GET /api/usage": {query: []param{
		{"since", "string", "from this time on"}, {"until", "string", "before this time"},
	}, out: []any{usageAnswer{}}},
	"GET /api/rate-limits":  {out: []any{limitsAnswer{}}},
	"POST /api/rate-limits": {in: limitSwitch{}, out: []any{limitAnswer{}}},
	"GET /api/rate-limit":   {status: http.StatusPermanentRedirect},
	"POST /api/rate-limit":  {status: http.StatusPermanentRedirect},

	"GET /metrics": {media: "text/plain"},

	"GET /api/settings":   {out: []any{control.AllSettings{}}},
	"PATCH /api/settings": {in: control.AllSettingsPatch{}, out: []any{control.AllSettings{}}},

	"GET /api/combos":          {query: []param{limitParam, offsetParam}, out: []any{combosAnswer{}}},
	"POST /api/combos":         {in: control.ComboInput{}, status: http.StatusCreated, out: []any{control.Combo{}}},
	"POST /api/combos/reorder": {in: idsBody{}, out: []any{okAnswer{}}},
	"POST /api/combos/preview": {in: control.PreviewRequest{}, out: []any{control.ComboPreview{}}},
	"POST /api/drill":          {in: control.DrillRequest{}, out: []any{control.DrillReport{}}},
	"GET /api/combos/{id}":     {out: []any{control.Combo{}}},
	"PUT /api/combos/{id}":     {in: control.ComboPatch{}, out: []any{control.Combo{}}},
	"PATCH /api/combos/{id}":   {in: control.ComboPatch{}, out: []any{control.Combo{}}},
	"DELETE /api/combos/{id}":  {out: []any{deletedAnswer{}}},

	"GET /api/keys":         {query: []param{limitParam, offsetParam}, out: []any{keyPage{}}},
	"POST /api/keys":        {in: control.KeyInput{}, status: http.StatusCreated, out: []any{control.APIKey{}}},
	"PATCH /api/keys/{id}":  {in: control.KeyPatch{}, out: []any{control.APIKey{}}},
	"DELETE /api/keys/{id}": {out: []any{messageAnswer{}}},

	"POST /api/v1/session-leases":    {in: leaseBody{}, out: []any{control.SessionLease{}}},
	"OPTIONS /api/v1/session-leases": {status: http.StatusNoContent},

	"GET /api/session-leases":         {query: []param{limitParam, offsetParam}, out: []any{leasesAnswer{}}},
	"DELETE /api/session-leases/{id}": {out: []any{okAnswer{}}},

	"GET /api/export":  {out: []any{control.Backup{}}},
	"POST /api/export": {in: exportBody{}, out: []any{control.Backup{}}},
	"POST /api/import": {in: control.ImportRequest{}, out: []any{control.ImportReport{}}},

	"POST /api/app/show":  {in: pageBody{}, out: []any{okAnswer{}}},
	"POST /api/app/pause": {in: pauseBody{}, out: []any{pausedAnswer{}}},
	"POST /api/app/quit":  {out: []any{okAnswer{}}},

	"GET /api/demo":   {out: []any{control.Demo{}}},
	"PATCH /api/demo": {in: control.DemoPatch{}, out: []any{control.Demo{}}},
}
