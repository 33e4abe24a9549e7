//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"
	"maps"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// layerEditor is the card of a layer below the combos' own settings: that of
// all, or that of a provider.
type layerEditor struct {
	u        *ui
	card     *knobCard
	at       string                    // where the layer lives, as errors name it
	provider string                    // empty: of all
	keep     func(control.AllSettings) // takes over what is in force after a save
}

func newLayerEditor(u *ui, c view.KnobCard, at string) *layerEditor {
	e := &layerEditor{u: u, at: at, keep: func(control.AllSettings) {}}
	e.card = newKnobCard(u, c, e.send)
	return e
}

func (e *layerEditor) layer(a control.AllSettings) map[string]any {
	if e.provider == "" {
		return a.ComboDefaults
	}
	return a.ProviderOverrides[e.provider]
}

// take shows what is in force.
func (e *layerEditor) take(a control.AllSettings) { e.card.take(view.LayerValues(e.layer(a))) }

// send stores a change. The layers are replaced whole, so they are taken from
// the newest settings, and the change is refused when these move meanwhile.
func (e *layerEditor) send(patch json.RawMessage, fail func(error)) {
	call(e.u, func(ctx context.Context) (control.AllSettings, error) {
		now, err := e.u.facade.AllSettings(ctx)
		if err != nil {
			return now, err
		}
		change := control.AllSettingsPatch{ExpectedRevision: &now.Revision}
		next := view.LayerPatch(e.layer(now), patch)
		if e.provider == "" {
			change.ComboDefaults = &next
		} else {
			all := maps.Clone(now.ProviderOverrides)
			if all == nil {
				all = map[string]map[string]any{}
			}
			if all[e.provider] = next; len(next) == 0 {
				delete(all, e.provider)
			}
			change.ProviderOverrides = &all
		}
		return e.u.facade.EditAllSettings(ctx, change)
	}, func(a control.AllSettings) {
		e.card.saved(view.LayerValues(e.layer(a)), patch)
		e.keep(a)
	}, func(err error) { fail(view.LayerError(err, e.at)) })
}
