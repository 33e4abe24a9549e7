package control

import (
	"encoding/json"
	"maps"
	"strings"
	"sync"

	"breakwater/resilience/settings"
)

// SettingDefault returns, as JSON, what a patch has to set for the setting at
// a path such as notify.breakers to be at its default again. It knows the
// settings of AllSettings; values inside of maps and of modelLockout have no
// path here, since null has a meaning there already.
func SettingDefault(path string) (json.RawMessage, bool) {
	raw, ok := settingDefaults()[path]
	return raw, ok
}

var settingDefaults = sync.OnceValue(func() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	fields(out, "", DefaultSettings())
	fields(out, "notify.", DefaultSettings().Notify)
	fields(out, "", ComboSettings{}.whole())
	fields(out, "", Guide{
		ProviderErrorRules: map[string][]settings.ErrorRule{}, ProviderErrorDefaults: map[string]settings.ErrorDefault{},
	})
	delete(out, "origins") // not a setting
	// A value that is stored hides a later version's default, so all are removed.
	out["modelLockout"] = json.RawMessage(`{"` + strings.Join(settings.LockoutKeys, `":null,"`) + `":null}`)
	return out
})

// fields puts the JSON fields of a struct of plain values into out.
func fields(out map[string]json.RawMessage, prefix string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return // the types have nothing that JSON lacks
	}
	var own map[string]json.RawMessage
	if json.Unmarshal(raw, &own) == nil {
		for name, value := range own {
			out[prefix+name] = value
		}
	}
}

// PatchTables returns what is kept of tables with a patch in it: a table
// without columns is forgotten, and a patch without tables forgets all.
func PatchTables(kept, patch map[string][]TableColumn) map[string][]TableColumn {
	next := map[string][]TableColumn{}
	if len(patch) > 0 {
		maps.Copy(next, kept)
		maps.Copy(next, patch)
	}
	maps.DeleteFunc(next, func(_ string, columns []TableColumn) bool { return len(columns) == 0 })
	return next
}
