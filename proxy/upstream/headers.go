package upstream

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

// dropped are the request headers that never go upstream: hop-by-hop ones,
// those that describe our own connection to the client, every credential, and
// the ones that are addressed to the proxy (rulings 24 and 33).
var dropped = map[string]bool{
	"Connection": true, "Proxy-Connection": true, "Keep-Alive": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Proxy-Authorization": true, "Proxy-Authenticate": true,
	"Host": true, "Content-Length": true, "Content-Encoding": true, "Accept-Encoding": true, "Expect": true,
	"Authorization": true, "X-Api-Key": true, "Api-Key": true, "X-Goog-Api-Key": true, "Cookie": true,
	"Origin": true, "Referer": true, "Forwarded": true, "Via": true, "X-Real-Ip": true,
	"X-Session-Id": true, "X-Codex-Session-Id": true,
}

// droppedPrefixes are families of headers that never go upstream.
var droppedPrefixes = []string{"X-Breakwater-", "X-Omniroute-", "X-Forwarded-", "Sec-Fetch-", "Proxy-"}

func forwards(name string) bool {
	if dropped[name] {
		return false
	}
	for _, p := range droppedPrefixes {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return true
}

// requestHeader builds the headers of a call: the client's own, unchanged but
// for those that must not travel, and the target's credential. The values are
// shared with the client's header and must not be changed in place.
func requestHeader(c Call) http.Header {
	out := make(http.Header, len(c.Header)+4)
	for name, values := range c.Header {
		if forwards(name) {
			if values = c.foreign(values); len(values) > 0 {
				out[name] = values
			}
		}
	}
	for _, listed := range c.Header.Values("Connection") {
		for name := range strings.SplitSeq(listed, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	// An event stream must stay readable on its way (case P35).
	out["Accept-Encoding"] = identity
	if c.Body != nil {
		out["Content-Type"] = contentType
	}
	credential(out, c)
	if v := c.traits().Version; v.Name != "" && out.Get(v.Name) == "" {
		out[v.Name] = v.Values
	}
	if c.UserAgent != "" {
		out["User-Agent"] = []string{c.UserAgent}
	}
	maps.Copy(out, c.Last)
	return out
}

// traits returns the facts of the call's dialect, none for a call beside the
// traffic.
func (c Call) traits() *dialect.Traits {
	if c.Dialect == nil {
		return &dialect.Traits{}
	}
	return c.Dialect.Traits()
}

// foreign returns the values that hold no credential of ours.
func (c Call) foreign(values []string) []string {
	if c.Own == nil || !slices.ContainsFunc(values, c.Own) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), c.Own)
}

// foreignQuery returns the client's query without the parameters that hold a
// credential of ours, as it came where there is none.
func (c Call) foreignQuery() string {
	if c.Query == "" || c.Own == nil {
		return c.Query
	}
	holds := func(pair string) bool {
		plain, err := url.QueryUnescape(pair)
		return c.Own(pair) || err == nil && c.Own(plain)
	}
	return strings.Join(slices.DeleteFunc(strings.Split(c.Query, "&"), holds), "&")
}

var (
	identity    = []string{"identity"}
	contentType = []string{"application/json"}
)

func credential(out http.Header, c Call) {
	switch c.Credential {
	case catalog.PassthroughCredential:
		// The first value is the login that was judged; others are not sent along.
		if v := c.foreign(c.Header.Values("Authorization")); len(v) > 0 {
			out["Authorization"] = v[:1:1]
		}
		return
	case catalog.NoCredential:
		return
	case catalog.TokenCredential, catalog.OAuthCredential:
		login := c.traits().Login
		if listed := strings.Join(out.Values(login.Name), ","); login.Name != "" && !strings.Contains(listed, login.Value()) {
			out[login.Name] = []string{strings.TrimPrefix(listed+","+login.Value(), ",")}
		}
	}
	switch c.Auth {
	case catalog.XAPIKey:
		out["X-Api-Key"] = []string{c.Key}
	case catalog.Bearer:
		out["Authorization"] = []string{"Bearer " + c.Key}
	}
}

// droppedAnswer are the response headers that describe the upstream's
// connection or encoding and not its answer.
var droppedAnswer = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Set-Cookie": true, "Alt-Svc": true,
	"Access-Control-Allow-Origin": true, "Access-Control-Allow-Credentials": true,
	"Strict-Transport-Security": true,
}

// CopyAnswerHeader copies the headers of an upstream's answer that a client
// may see: not those of its connection, nor those it lists as such.
func CopyAnswerHeader(dst, src http.Header) {
	for name, values := range src {
		if !droppedAnswer[name] {
			dst[name] = values
		}
	}
	for _, listed := range src["Connection"] {
		for name := range strings.SplitSeq(listed, ",") {
			dst.Del(strings.TrimSpace(name))
		}
	}
}

// Bearer returns the Bearer token of an Authorization header, empty for none.
func Bearer(h http.Header) string {
	scheme, token, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
