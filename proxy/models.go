package proxy

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	// ContextLength and MaxInputTokens are the window, as aggregators and as
	// Anthropic write it; absent where it is not known.
	ContextLength  int64 `json:"context_length,omitempty"`
	MaxInputTokens int64 `json:"max_input_tokens,omitempty"`
}

// models lists the combos and the models that connections are known to offer
// (case Q21). Names that only the upstreams know work as well.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	list, ok := s.grantedModels(w, r)
	if !ok {
		return
	}
	list, more := page(list, r.URL.Query())
	out := map[string]any{"object": "list", "data": list, "has_more": more, "first_id": nil, "last_id": nil}
	if len(list) > 0 {
		out["first_id"], out["last_id"] = list[0].ID, list[len(list)-1].ID
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, out)
}

// modelByID describes one model of the list; ids may hold slashes.
func (s *Server) modelByID(w http.ResponseWriter, r *http.Request) {
	list, ok := s.grantedModels(w, r)
	if !ok {
		return
	}
	id := r.PathValue("id")
	i := slices.IndexFunc(list, func(m model) bool { return m.ID == id })
	if i < 0 {
		s.plainError(w, r, http.StatusNotFound, "model_not_found",
			"No connection is known to offer the model "+strconv.Quote(id)+". GET /v1/models lists those that are; a model that only its provider knows can be asked for all the same.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, list[i])
}

// grantedModels returns what the bearer may ask for, by id; ok is false when a
// refusal was written.
func (s *Server) grantedModels(w http.ResponseWriter, r *http.Request) (list []model, ok bool) {
	g, err := s.grant(r)
	if err != nil {
		ref := refusal.Key(err)
		s.plainError(w, r, ref.Status, ref.Code, ref.Message)
		return nil, false
	}
	s.svc.RefreshModels()
	list, at := s.comboModels(g)
	combos := len(list)
	for _, route := range s.svc.Routes() {
		if !route.Record.Active || !g.AllowsConnection(route.Record.ID) {
			continue
		}
		for _, m := range s.svc.Offered(route) {
			if !g.AllowsModel(m.Name) {
				continue
			}
			i, seen := at[m.Name]
			switch {
			case !seen:
				at[m.Name] = len(list)
				list = append(list, newModel(m.Name, route.Provider.ID, route.Record.CreatedAt, m.Context))
			case i >= combos && list[i].ContextLength == 0:
				list[i].setContext(m.Context)
			}
		}
	}
	slices.SortFunc(list, func(a, b model) int { return cmp.Compare(a.ID, b.ID) })
	return list, true
}

// page cuts the list as Anthropic's parameters say; without any it is whole, as
// OpenAI's clients expect.
func page(list []model, q url.Values) (out []model, more bool) {
	at := func(key string) int {
		if id := q.Get(key); id != "" {
			return slices.IndexFunc(list, func(m model) bool { return m.ID == id })
		}
		return -1
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	limited := err == nil && limit > 0
	if i := at("before_id"); i >= 0 {
		list = list[:i]
		if limited && len(list) > limit {
			return list[len(list)-limit:], true
		}
		return list, false
	}
	list = list[at("after_id")+1:]
	if limited && len(list) > limit {
		return list[:limit], true
	}
	return list, false
}

func newModel(id, owner string, created time.Time, window int64) model {
	m := model{
		ID: id, Object: "model", OwnedBy: owner, Type: "model", DisplayName: id,
		CreatedAt: created.UTC().Format("2006-01-02T15:04:05Z"), Created: created.Unix(),
	}
	m.setContext(window)
	return m
}

func (m *model) setContext(window int64) { m.ContextLength, m.MaxInputTokens = window, window }

// comboModels lists the combos that are switched on and that the bearer may ask
// for, with the place of each. A combo hides a model of the same name.
func (s *Server) comboModels(g control.Grant) (list []model, at map[string]int) {
	list, at = []model{}, map[string]int{}
	for _, c := range s.svc.ActiveCombos() {
		if g.AllowsModel(c.Name) {
			at[c.Name] = len(list)
			list = append(list, newModel(c.Name, "combo", c.CreatedAt, c.ContextLength))
		}
	}
	return list, at
}
