package rest

import (
	"testing"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// changed puts the settings at revision 2.
func changed(f *facadetest.Fake) {
	for _, theme := range []string{"dark", "light"} {
		if _, err := f.EditSettings(noContext, control.SettingsPatch{Theme: &theme}); err != nil {
			panic(err)
		}
	}
}

// PATCH /api/settings refuses a change made in ignorance of another (sheet
// §2.12).
func TestSettingsRevision(t *testing.T) {
	match := func(tag string) map[string]string { return map[string]string{"If-Match": tag} }
	conflict := []string{`"code":"SETTINGS_REVISION_CONFLICT"`, `"currentRevision":2`}
	for _, s := range []scenario{
		{name: "read", method: "GET", status: 200, want: []string{`"revision":2`}, head: map[string]string{"ETag": `"2"`}},
		{name: "without a revision", body: `{"theme":"dark"}`, status: 200, want: []string{`"revision":3`, `"theme":"dark"`}, head: map[string]string{"ETag": `"3"`}},
		{name: "If-Match", body: `{"theme":"dark"}`, header: match(`"2"`), status: 200, want: []string{`"revision":3`}},
		{name: "If-Match anything", body: `{"theme":"dark"}`, header: match("*"), status: 200, want: []string{`"revision":3`}},
		{name: "If-Match an older one", body: `{"theme":"dark"}`, header: match(`"1"`), status: 409, want: conflict, head: map[string]string{"ETag": `"2"`}, calls: []string{"EditAllSettings"}},
		{name: "expectedRevision", body: `{"theme":"dark","expectedRevision":2}`, status: 200, want: []string{`"revision":3`}, not: []string{"expectedRevision"}},
		{name: "an older expectedRevision", body: `{"theme":"dark","expectedRevision":1}`, status: 409, want: conflict, calls: []string{"EditAllSettings"}},
		{name: "both alike", body: `{"theme":"dark","expectedRevision":2}`, header: match(`"2"`), status: 200},
		{name: "a contradiction", body: `{"theme":"dark","expectedRevision":1}`, header: match(`"2"`), status: 400, want: []string{`"field":"expectedRevision"`}},
		{name: "no ETag of ours", body: `{"theme":"dark"}`, header: match("2"), status: 400, want: []string{`"field":"If-Match"`}},
		{name: "a weak ETag", body: `{"theme":"dark"}`, header: match(`W/"2"`), status: 400, want: []string{`"field":"If-Match"`}},
		{name: "an ETag in another spelling", body: `{"theme":"dark"}`, header: match(`"02"`), status: 400},
		{name: "a revision alone", body: `{"expectedRevision":2}`, status: 400, want: []string{"No valid fields to update"}},
		{name: "a revision that is no number", body: `{"theme":"dark","expectedRevision":"2"}`, status: 400, want: []string{"Expected integer, got string"}},
		{name: "nothing of a refused change remains", body: `{"theme":"dark","providerErrorRules":{"openai":[{"scope":"galaxy"}]}}`, status: 400, want: []string{"providerErrorRules"}, calls: []string{"EditAllSettings"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			b := newBench(t)
			changed(b.fake)
			if s.method == "" {
				s.method = "PATCH"
			}
			s.path = "/api/settings"
			b.run(t, s)
			if s.status != 200 {
				b.run(t, scenario{method: "GET", path: "/api/settings", status: 200, want: []string{`"theme":"light"`, `"revision":2`}})
			}
		})
	}
}
