package proxy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
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
}

// models lists the model names that connections are configured with. Names
// that only the upstreams know work as well.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	g, err := s.grant(r)
	if err != nil {
		ref := keyRefusal(err)
		s.plainError(w, r, ref.Status, ref.Code, ref.Message)
		return
	}
	seen := map[string]bool{}
	list := []model{}
	for _, route := range s.svc.Routes() {
		if !route.Record.Active || !g.AllowsConnection(route.Record.ID) {
			continue
		}
		for _, id := range append(slices.Clone(route.Record.Models), route.Record.DefaultModel) {
			if id == "" || strings.ContainsAny(id, "*?[") || seen[id] || !g.AllowsModel(id) {
				continue
			}
			seen[id] = true
			list = append(list, model{
				ID: id, Object: "model", OwnedBy: route.Provider.ID, Type: "model", DisplayName: id,
				CreatedAt: route.Record.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"), Created: route.Record.CreatedAt.Unix(),
			})
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
