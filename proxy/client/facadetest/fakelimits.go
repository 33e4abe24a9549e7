package facadetest

import (
	"encoding/json"

	"breakwater/proxy/control"
	"breakwater/resilience/admission"
)

// limits changes the limits that a patch may clear with null.
func limits(c *control.Connection, p control.ConnectionPatch) error {
	if p.MaxConcurrent.Given {
		c.MaxConcurrent = 0
		if json.Unmarshal([]byte(p.MaxConcurrent.JSON), &c.MaxConcurrent) != nil || c.MaxConcurrent < 0 {
			return control.Invalid("maxConcurrent", "a whole number, or null for no cap")
		}
	}
	if p.RateLimitOverrides.Given {
		var v any
		if err := json.Unmarshal([]byte(p.RateLimitOverrides.JSON), &v); err != nil {
			return err
		}
		o, wrong := admission.ParseOverrides(v)
		if len(wrong) > 0 {
			return control.Invalid("rateLimitOverrides."+wrong[0].Field, "%s", wrong[0].Text)
		}
		c.RateLimitOverrides, c.RateLimitProtection = o, c.RateLimitProtection || v != nil
	}
	if p.ExcludedModels != nil {
		c.ExcludedModels = *p.ExcludedModels
	}
	if p.UserAgent != nil {
		c.UserAgent = *p.UserAgent
	}
	if p.ValidationModel != nil {
		c.ValidationModel = *p.ValidationModel
	}
	if p.PerModelQuota.Given {
		c.PerModelQuota = nil
		if err := json.Unmarshal([]byte(p.PerModelQuota.JSON), &c.PerModelQuota); err != nil {
			return control.Invalid("passthroughModels", "true, false, or null")
		}
	}
	if p.HealthCheckInterval.Given {
		c.HealthCheckInterval = nil
		if err := json.Unmarshal([]byte(p.HealthCheckInterval.JSON), &c.HealthCheckInterval); err != nil {
			return control.Invalid("healthCheckInterval", "a whole number of minutes, or null")
		}
	}
	if p.QuotaWindowThresholds.Given {
		c.QuotaWindowThresholds = nil
		return json.Unmarshal([]byte(p.QuotaWindowThresholds.JSON), &c.QuotaWindowThresholds)
	}
	return nil
}
