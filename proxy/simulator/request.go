package simulator

import (
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
)

// Route is what a request asks for.
type Route string

// The routes of a provider.
const (
	RouteInference   Route = "inference" // messages, chat completions, responses
	RouteCountTokens Route = "count_tokens"
	RouteModels      Route = "models"
	RouteOther       Route = "other"
	RouteAny         Route = "any" // in When: all of them
)

// request is a request as far as an answer depends on it.
type request struct {
	seq     int64
	now     time.Time
	account string
	method  string
	path    string // without the account prefix
	query   string
	header  http.Header
	body    []byte
	broken  string // why the request is refused with 400

	route        Route
	dialect      dialect.Dialect
	model        string
	stream       bool
	includeUsage bool
	tools        []offered
	hasResult    bool   // a tool result is in the body
	prompt       string // the last thing the user wrote
}

// offered is a tool that the request offers.
type offered struct {
	name   string
	schema gjson.Result
}

// parseRequest reads what the request asks for.
func parseRequest(r *http.Request, path string, body []byte) *request {
	q := &request{method: r.Method, path: path, query: r.URL.RawQuery, header: r.Header, body: body}
	q.route, q.dialect = routeOf(path, r)
	if q.route != RouteInference && q.route != RouteCountTokens {
		return q
	}
	if r.Method != http.MethodPost {
		q.route = RouteOther
		return q
	}
	if !gjson.ValidBytes(body) || !gjson.ParseBytes(body).IsObject() {
		q.broken = "the request body is not a JSON object"
		return q
	}
	root := gjson.ParseBytes(body)
	q.model = root.Get("model").Str
	q.stream = root.Get("stream").Bool()
	q.includeUsage = root.Get("stream_options.include_usage").Bool()
	if q.model == "" {
		q.broken = "model: field required"
	}
	q.tools = offeredTools(root.Get("tools"))
	q.readTurns(root)
	return q
}

// unmarked is what requests get that no path and no header tells apart: most
// vendors list their models in its form.
var unmarked = dialect.Chat

// routeOf tells the route by the end of the path, so that any base path will
// do.
func routeOf(path string, r *http.Request) (Route, dialect.Dialect) {
	path = strings.TrimSuffix(path, "/")
	speaks := unmarked
	for _, d := range dialect.All {
		t := d.Traits()
		for _, served := range t.Routes {
			switch {
			case !strings.HasSuffix(path, served.Path):
			case served.Probe:
				return RouteCountTokens, d
			default:
				return RouteInference, d
			}
		}
		// All vendors list models at the same path; the version header tells their
		// clients apart.
		if t.Version.Name != "" && r.Header.Get(t.Version.Name) != "" {
			speaks = d
		}
	}
	if strings.HasSuffix(path, "/models") || strings.Contains(path, "/models/") {
		return RouteModels, speaks
	}
	return RouteOther, speaks
}

// offeredTools collects the function tools of any dialect. Tools that the
// provider would run by itself are left out.
func offeredTools(list gjson.Result) []offered {
	var out []offered
	list.ForEach(func(_, t gjson.Result) bool {
		switch typ := t.Get("type").Str; {
		case t.Get("function").Exists():
			out = append(out, offered{t.Get("function.name").Str, t.Get("function.parameters")})
		case t.Get("input_schema").Exists():
			out = append(out, offered{t.Get("name").Str, t.Get("input_schema")})
		case typ == "function":
			out = append(out, offered{t.Get("name").Str, t.Get("parameters")})
		}
		return true
	})
	return out
}

// readTurns looks through the conversation for tool results and for the last
// thing the user wrote.
func (q *request) readTurns(root gjson.Result) {
	turns := root.Get(q.dialect.Traits().Turns)
	if turns.Type == gjson.String {
		q.prompt = turns.Str
		return
	}
	turns.ForEach(func(_, m gjson.Result) bool {
		role, typ := m.Get("role").Str, m.Get("type").Str
		if role == "tool" || strings.HasSuffix(typ, "_call_output") {
			q.hasResult = true
			return true
		}
		if role != "user" {
			return true
		}
		content := m.Get("content")
		if content.Type == gjson.String {
			q.heard(content.Str)
			return true
		}
		content.ForEach(func(_, part gjson.Result) bool {
			switch part.Get("type").Str {
			case "tool_result":
				q.hasResult = true
			case "text", "input_text":
				q.heard(part.Get("text").Str)
			}
			return true
		})
		return true
	})
}

// heard notes words of the user. Agents wrap what they add themselves in
// tags, which is not the user's prompt.
func (q *request) heard(text string) {
	if t := strings.TrimSpace(text); t != "" && !strings.HasPrefix(t, "<") {
		q.prompt = t
	}
}

// askWords make KindAsked call a tool.
var askWords = []string{"tool", "run", "bash", "shell", "command", "execute", "list", "file", "echo"}

// asksForTool reports whether the user's last words ask for a tool call.
func (q *request) asksForTool() bool {
	words := strings.FieldsFunc(strings.ToLower(q.prompt), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, w := range words {
		for _, ask := range askWords {
			if strings.TrimSuffix(w, "s") == ask {
				return true
			}
		}
	}
	return false
}
