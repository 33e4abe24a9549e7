package facadetest

import (
	"errors"
	"slices"
	"testing"

	"breakwater/proxy/control"
)

// ownLimits checks that the limits of a connection are changed one by one, that
// null takes them away, and that figures of its own bring it under the queue.
func ownLimits(t *testing.T, f control.Facade) {
	ctx := t.Context()
	a := add(t, f, "A")
	c, err := f.EditConnection(ctx, a.ID, control.ConnectionPatch{
		MaxConcurrent: control.JSONOf(4), RateLimitOverrides: control.JSONOf(map[string]any{"rpm": 60, "modelConcurrency": map[string]int{"m": 1}}),
		QuotaWindowThresholds: control.JSONOf(map[string]int{"weekly": 10}), Tags: &[]string{"eu"}, Group: new("Team"),
		RotationOverrides: &control.RotationOverrides{RotateOn429: new(false)}, HealthCheckInterval: control.JSONOf(30),
	})
	if err != nil || c.MaxConcurrent != 4 || c.RateLimitOverrides.RPM == nil || *c.RateLimitOverrides.RPM != 60 || c.RateLimitOverrides.ModelConcurrency["m"] != 1 ||
		c.QuotaWindowThresholds["weekly"] != 10 || !slices.Equal(c.Tags, []string{"eu"}) || c.Group != "Team" || c.HealthCheckInterval == nil || *c.HealthCheckInterval != 30 || c.RotationOverrides.RotateOn429 == nil || !c.RateLimitProtection {
		t.Errorf("edited %+v, %v", c.Limits, err)
	}
	c, err = f.EditConnection(ctx, a.ID, control.ConnectionPatch{
		MaxConcurrent: control.JSONOf(nil), RateLimitOverrides: control.JSONOf(nil), QuotaWindowThresholds: control.JSONOf(nil),
		HealthCheckInterval: control.JSONOf(nil),
	})
	if err != nil || c.MaxConcurrent != 0 || c.RateLimitOverrides.RPM != nil || len(c.QuotaWindowThresholds) != 0 || c.HealthCheckInterval != nil || c.Group != "Team" {
		t.Errorf("after null %+v, %v", c.Limits, err)
	}
	c, err = f.EditConnection(ctx, a.ID, control.ConnectionPatch{
		ExcludedModels: &[]string{"gpt-*"}, UserAgent: new("Own/1"), ValidationModel: new("small"), PerModelQuota: control.JSONOf(true),
	})
	if err != nil || !slices.Equal(c.ExcludedModels, []string{"gpt-*"}) || c.UserAgent != "Own/1" || c.ValidationModel != "small" || c.PerModelQuota == nil || !*c.PerModelQuota {
		t.Errorf("extras %+v, %v", c.Extras, err)
	}
	if c, err = f.EditConnection(ctx, a.ID, control.ConnectionPatch{PerModelQuota: control.JSONOf(nil), UserAgent: new("")}); err != nil || c.PerModelQuota != nil || c.UserAgent != "" || c.ValidationModel != "small" {
		t.Errorf("extras after null %+v, %v", c.Extras, err)
	}
	for field, p := range map[string]control.ConnectionPatch{
		"maxConcurrent":            {MaxConcurrent: control.JSONOf("many")},
		"passthroughModels":        {PerModelQuota: control.JSONOf("maybe")},
		"healthCheckInterval":      {HealthCheckInterval: control.JSONOf("often")},
		"rateLimitOverrides.speed": {RateLimitOverrides: control.JSONOf(map[string]any{"speed": 1})},
	} {
		_, err := f.EditConnection(ctx, a.ID, p)
		if inv, ok := errors.AsType[*control.InvalidError](err); !ok || inv.Fields[0].Field != field {
			t.Errorf("%v, want a refusal of %s", err, field)
		}
	}
}
