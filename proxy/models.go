package proxy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
)

// model is one entry of GET /v1/models; the fields of both dialects are given,
// each client reads its own.
type model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`       // OpenAI
	OwnedBy     string `json:"owned_by"`     // OpenAI
	Created     int64  `json:"created"`      // OpenAI
	Type        string `json:"type"`         // Anthropic
	DisplayName string `json:"display_name"` // Anthropic
	CreatedAt   string `json:"created_at"`   // Anthropic
	// ContextLength is the window that a combo advertises.
	ContextLength int64 `json:"context_length,omitempty"`
}

// models lists the combos and the model names that connections are configured
// with. Names that only the upstreams know work as well.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	g, err := s.grant(r)
	if err != nil {
		ref := refusal.Key(err)
		s.plainError(w, r, ref.Status, ref.Code, ref.Message)
		return
	}
	list, seen := s.comboModels(g)
	for _, route := range s.svc.Routes() {
		if !route.Record.Active || !g.AllowsConnection(route.Record.ID) {
			continue
		}
		for _, id := range append(slices.Clone(route.Record.Models), route.Record.DefaultModel) {
			if id == "" || strings.ContainsAny(id, "*?[") || seen[id] || route.Excludes(id) || !g.AllowsModel(id) {
				continue
			}
			seen[id] = true
			list = append(list, newModel(id, route.Provider.ID, route.Record.CreatedAt))
		}
	}
	slices.SortFunc(list, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	out := map[string]any{"object": "list", "data": list, "has_more": false, "first_id": nil, "last_id": nil}
	if len(list) > 0 {
		out["first_id"], out["last_id"] = list[0].ID, list[len(list)-1].ID
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, out)
}

func newModel(id, owner string, created time.Time) model {
	return model{
		ID: id, Object: "model", OwnedBy: owner, Type: "model", DisplayName: id,
		CreatedAt: created.UTC().Format("2006-01-02T15:04:05Z"), Created: created.Unix(),
	}
}

// comboModels lists the combos that are switched on and that the bearer may ask
// for. A combo hides a model of the same name.
func (s *Server) comboModels(g control.Grant) (list []model, seen map[string]bool) {
	list, seen = []model{}, map[string]bool{}
	for _, c := range s.svc.ActiveCombos() {
		if g.AllowsModel(c.Name) {
			m := newModel(c.Name, "combo", c.CreatedAt)
			m.ContextLength = c.ContextLength
			list, seen[c.Name] = append(list, m), true
		}
	}
	return list, seen
}
