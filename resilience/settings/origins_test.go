package settings

import "testing"

// Ruling 52: a value tells where it comes from, a stored null none.
func TestLockoutOrigins(t *testing.T) {
	for stored, want := range map[string]map[string]Origin{
		"":                             {"modelLockout.enabled": FromDefault, "modelLockout.errorCodes": FromDefault},
		"{broken":                      {"modelLockout.enabled": FromDefault},
		`{"enabled":false}`:            {"modelLockout.enabled": FromStore, "modelLockout.maxBackoffSteps": FromDefault},
		`{"maxBackoffSteps":null}`:     {"modelLockout.maxBackoffSteps": FromDefault},
		`{"errorCodes":[429],"x":"y"}`: {"modelLockout.errorCodes": FromStore},
	} {
		got := LockoutOrigins([]byte(stored))
		if len(got) != len(LockoutKeys) {
			t.Errorf("%s: %v", stored, got)
		}
		for path, origin := range want {
			if got[path] != origin {
				t.Errorf("%s: %s comes from %s, want %s", stored, path, got[path], origin)
			}
		}
	}
}
