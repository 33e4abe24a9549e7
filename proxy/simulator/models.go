package simulator

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/dialect"
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
	entry := openAIModel
	if q.dialect == dialect.Anthropic {
		entry = anthropicModel
	}
	if _, id, one := strings.Cut(q.path, "/models/"); one && id != "" {
		if slices.Contains(s.opts.Models, id) {
			return text(entry(id))
		}
		a.status = http.StatusNotFound
		return text(q.errorBody(q.failure(a.status, nil)))
	}
	if q.dialect != dialect.Anthropic {
		return text(obj{"object", "list", "data", modelList(s.opts.Models, entry)})
	}
	page, more := modelPage(s.opts.Models, q.query)
	var first, last any
	if len(page) > 0 {
		first, last = page[0], page[len(page)-1]
	}
	return text(obj{"data", modelList(page, entry), "has_more", more, "first_id", first, "last_id", last})
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
