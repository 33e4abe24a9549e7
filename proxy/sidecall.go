package proxy

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/resilience/claude"
)

// SideCaller returns the func that makes calls to Anthropic's API beside the
// traffic, under our own name. Redirects are answers like any other: the
// bearer never follows one.
func SideCaller(up *upstream.Client, version string) func(context.Context, control.SideCall) claude.Reply {
	return func(ctx context.Context, c control.SideCall) claude.Reply {
		header := http.Header{}
		maps.Copy(header, c.Header)
		header.Set("User-Agent", "Breakwater/"+version)
		path, query, _ := strings.Cut(c.Path, "?")
		call := upstream.Call{
			Method: c.Method, BaseURL: c.BaseURL, Path: path, Query: query, Header: header,
			Auth: catalog.Bearer, Credential: catalog.KeyCredential, Key: c.Bearer, Proxy: c.Proxy,
		}
		if c.Bearer == "" {
			call.Credential = catalog.NoCredential
		}
		if kind := header.Get("Content-Type"); kind != "" {
			call.Last = http.Header{"Content-Type": {kind}}
		}
		if c.Body != "" {
			call.Body = []byte(c.Body)
		}
		res, err := up.Do(ctx, call)
		if err != nil {
			return claude.Reply{Failed: true}
		}
		defer func() { _ = res.Body.Close() }() // read as far as it matters
		var body []byte
		if res.StatusCode >= http.StatusMultipleChoices {
			body = upstream.ErrorBody(res)
		} else if body, err = io.ReadAll(io.LimitReader(res.Body, claude.MaxReply)); err != nil {
			return claude.Reply{Failed: true}
		}
		return claude.Reply{Status: res.StatusCode, Header: res.Header, Body: body}
	}
}
