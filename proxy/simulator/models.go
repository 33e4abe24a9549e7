package simulator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// modelsSince dates every model, in Unix seconds and as text.
const (
	modelsSince     = 1764547200
	modelsSinceText = "2025-12-01T00:00:00Z"
)

// models answers the models list and single models in the dialect of the
// client.
func (s *Server) models(q *request, a *answer) []byte {
	if q.method != http.MethodGet && q.method != http.MethodHead {
		a.status = http.StatusMethodNotAllowed
		return text(q.errorBody(q.failure(a.status, &Error{Message: "Models can only be read."})))
	}
	v := q.voice()
	if _, id, one := strings.Cut(q.path, "/models/"); one && id != "" {
		if slices.Contains(s.opts.Models, id) {
			return text(v.model(id))
		}
		a.status = http.StatusNotFound
		return text(q.errorBody(q.failure(a.status, nil)))
	}
	return text(v.models(s.opts.Models, q.query))
}

func openAIModels(ids []string, _ string) obj {
	return obj{"object", "list", "data", modelList(ids, openAIModel)}
}

func anthropicModels(ids []string, query string) obj {
	page, more := modelPage(ids, query)
	var first, last any
	if len(page) > 0 {
		first, last = page[0], page[len(page)-1]
	}
	return obj{"data", modelList(page, anthropicModel), "has_more", more, "first_id", first, "last_id", last}
}

func modelList(ids []string, entry func(string) obj) arr {
	list := arr{}
	for _, id := range ids {
		list = append(list, entry(id))
	}
	return list
}

func openAIModel(id string) obj {
	return obj{"id", id, "object", "model", "created", modelsSince, "owned_by", "simulator"}
}

func anthropicModel(id string) obj {
	return obj{"type", "model", "id", id, "display_name", id, "created_at", modelsSinceText}
}

// modelPage cuts the page out of ids that limit and after_id ask for.
func modelPage(ids []string, query string) (page []string, more bool) {
	v, err := url.ParseQuery(query)
	if err != nil {
		return ids, false
	}
	if i := slices.Index(ids, v.Get("after_id")); i >= 0 {
		ids = ids[i+1:]
	}
	limit, err := strconv.Atoi(v.Get("limit"))
	if err != nil || limit < 1 {
		limit = 20
	}
	if len(ids) > limit {
		return ids[:limit], true
	}
	return ids, false
}
