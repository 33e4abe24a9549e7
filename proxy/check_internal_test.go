package proxy

import (
	"errors"
	"testing"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
)

// A connection whose stored dialects are all unknown is asked nothing: there is no
// dialect to ask it in.
func TestAConnectionWithoutADialectIsNotAsked(t *testing.T) {
	p, _ := catalog.Lookup("custom")
	for _, model := range []string{"", "m"} {
		r := &control.Route{Provider: p, Record: control.ConnectionRecord{
			Provider: p.ID, Credential: "apikey", BaseURL: "http://127.0.0.1:1/v1", Dialects: []string{"gemini"},
			Limits: control.Limits{Extras: control.Extras{ValidationModel: model}},
		}}
		got := Check(nil)(t.Context(), r)
		if got.Valid || got.Error == "" || got.Diagnosis.Type != "unsupported" || got.Diagnosis.Source != "local" {
			t.Errorf("model %q: %+v", model, got.TestResult)
		}
		if list, err := Lister(nil)(t.Context(), r); !errors.Is(err, errSilent) || list != nil {
			t.Errorf("its models: %v, %v", list, err)
		}
	}
}
