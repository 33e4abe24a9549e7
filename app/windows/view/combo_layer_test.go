package view

import (
	"errors"
	"reflect"
	"testing"

	"breakwater/proxy/control"
)

func TestComboDefaultsAreShownAndChanged(t *testing.T) {
	card := ComboDefaultsCard()
	layer := map[string]any{"maxRetries": float64(3), "retryDelayMs": float64(1500), "hedging": true, "judgeModel": "openai/gpt-5", "trackMetrics": false}
	v := LayerValues(layer)
	for path, want := range map[string]string{
		"own.maxRetries": "3", "own.retryDelayMs": "1.5", "own.hedging": "true", "own.maxGlobalAttempts": "", "own.failoverBeforeRetry": "",
		"own.rest": `{"judgeModel":"openai/gpt-5","trackMetrics":false}`,
	} {
		for _, k := range card.Knobs() {
			if k.Path == path && (v.Shown(k) != want || v.Stored(k) != (want != "")) {
				t.Errorf("%s shows %q, stored %v", path, v.Shown(k), v.Stored(k))
			}
		}
	}
	for _, c := range []struct {
		shown map[string]string
		want  map[string]any
	}{
		{map[string]string{"own.maxRetries": "", "own.hedging": "", "own.retryDelayMs": "2"}, map[string]any{"retryDelayMs": float64(2000), "judgeModel": "openai/gpt-5", "trackMetrics": false}},
		{
			map[string]string{"own.rest": `{"trackMetrics":true}`, "own.failoverBeforeRetry": "false"},
			map[string]any{"maxRetries": float64(3), "retryDelayMs": float64(1500), "hedging": true, "failoverBeforeRetry": false, "trackMetrics": true},
		},
		{map[string]string{"own.rest": ""}, map[string]any{"maxRetries": float64(3), "retryDelayMs": float64(1500), "hedging": true}},
	} {
		patch, errs := card.Patch(v, c.shown)
		if got := LayerPatch(layer, patch); len(errs) > 0 || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v gives %v, %v", c.shown, got, errs)
		}
	}
	if patch, _ := card.Patch(LayerValues(nil), map[string]string{"own.maxRetries": "1"}); len(LayerPatch(nil, patch)) != 1 {
		t.Error("a first value is lost")
	}
	for _, bad := range []map[string]string{{"own.maxRetries": "11"}, {"own.rest": "judgeModel"}, {"own.rest": `{"maxRetries":1}`}, {"own.maxGlobalAttempts": "0"}} {
		if _, errs := card.Patch(v, bad); len(errs) != 1 {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestRefusedComboDefaultsHaveTheirLine(t *testing.T) {
	err := LayerError(&control.InvalidError{Fields: []control.FieldError{
		{Field: "providerOverrides.glm.maxRetries", Message: "must be less"}, {Field: "providerOverrides.glm.auto", Message: "must be an object"},
	}}, "providerOverrides.glm")
	var invalid *control.InvalidError
	if !errors.As(err, &invalid) || invalid.Fields[0].Field != "own.maxRetries" || invalid.Fields[1].Field != "own.rest" || invalid.Fields[1].Message != "auto must be an object" {
		t.Error(err)
	}
	if other := errors.New("lost"); !errors.Is(LayerError(other, "x"), other) {
		t.Error("another error is changed")
	}
}
