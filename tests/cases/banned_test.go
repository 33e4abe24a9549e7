package cases

import (
	"testing"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// A banned account leaves routing in any case; with autoDisableBannedAccounts
// its connection is switched off besides, and stays so.
func TestBannedAccountsAreSwitchedOffOnRequest(t *testing.T) {
	for name, on := range map[string]bool{"by default it stays on": false, "switched off": true} {
		t.Run(name, func(t *testing.T) {
			k := scenario.Start(t)
			alpha, _ := k.Pair()
			if on {
				if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{AutoDisableBanned: &on}); err != nil {
					t.Fatal(err)
				}
			}
			alpha.Script(simulator.Status(403).WithError(simulator.Error{Type: "permission_error", Message: "your account has been suspended"}))
			if a := k.Post("/v1/messages", scenario.Messages); a.From() != "beta" {
				t.Errorf("the answer is %d %s", a.Status, a.Body)
			}
			if on {
				k.Until("alpha is switched off", func() bool { return !k.Connection("alpha").Active })
			}
			c := k.Connection("alpha")
			if c.Active == on || c.TestStatus != string(control.StateBanned) {
				t.Errorf("alpha is active %v, %s", c.Active, c.TestStatus)
			}
			if beta := k.Connection("beta"); !beta.Active {
				t.Error("beta was switched off too")
			}
		})
	}
}
