package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"breakwater/resilience/combo"
)

// Combo is a combo as it is shown (settings sheet §2.14). Its name is what
// clients send as the model.
type Combo struct {
	combo.Combo
	// Warning tells that the name is a model's, too, which the combo hides.
	Warning *ComboWarning `json:"warning,omitempty"`
	// Warnings tell what a change did not take as it was given; they stand in
	// its answer only.
	Warnings  []ComboCorrection `json:"warnings,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	UpdatedAt time.Time         `json:"updatedAt"`
}

// ComboStep is one entry of a combo.
type ComboStep = combo.Step

// ComboCorrection is a value of a combo that is used otherwise than it was
// given: an unknown strategy, a weight out of range.
type ComboCorrection = combo.Correction

// ComboStrategies lists the strategies a user may choose, in the guide's order.
func ComboStrategies() []string {
	var out []string
	for _, n := range combo.Public() {
		out = append(out, string(n))
	}
	return out
}

// ComboWarning is a remark about a combo that was stored all the same.
type ComboWarning struct {
	Code    string `json:"code"` // COMBO_NAME_SHADOWS_MODEL
	Message string `json:"message"`
}

// ComboBrief is a combo as lists show it.
type ComboBrief struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Strategy string `json:"strategy"`
	Active   bool   `json:"isActive"`
	// Targets is how many places its requests may go to at present, nested
	// combos and wildcards put in.
	Targets int `json:"targets"`
}

// ComboInput describes a new combo; all but the name may be left out.
type ComboInput struct {
	Name             string         `json:"name"`
	Description      string         `json:"description,omitempty"`
	Steps            []ComboStep    `json:"models"`
	Strategy         string         `json:"strategy,omitempty"` // empty or unknown: priority
	Config           map[string]any `json:"config,omitempty"`   // unknown keys are dropped
	Active           *bool          `json:"isActive,omitempty"` // nil: switched on
	AllowedProviders []string       `json:"allowedProviders,omitempty"`
	AllowedFamilies  []string       `json:"allowedModelFamilies,omitempty"`
	SystemMessage    string         `json:"system_message,omitempty"`
	ToolFilter       string         `json:"tool_filter_regex,omitempty"`
	CacheProtection  bool           `json:"context_cache_protection,omitempty"`
	ContextLength    int64          `json:"context_length,omitempty"`
}

// ComboPatch changes a combo; nil fields stay as they are. Lists and the
// configuration are replaced whole.
type ComboPatch struct {
	Name             *string         `json:"name,omitempty"`
	Description      *string         `json:"description,omitempty"`
	Steps            *[]ComboStep    `json:"models,omitempty"`
	Strategy         *string         `json:"strategy,omitempty"`
	Config           *map[string]any `json:"config,omitempty"`
	Active           *bool           `json:"isActive,omitempty"`
	AllowedProviders *[]string       `json:"allowedProviders,omitempty"`
	AllowedFamilies  *[]string       `json:"allowedModelFamilies,omitempty"`
	SystemMessage    *string         `json:"system_message,omitempty"`
	ToolFilter       *string         `json:"tool_filter_regex,omitempty"`
	CacheProtection  *bool           `json:"context_cache_protection,omitempty"`
	ContextLength    *int64          `json:"context_length,omitempty"` // 0: not stated
}

// ComboError is a change to a combo that was refused; nothing was changed.
type ComboError struct {
	Code    string       // COMBO_001 to COMBO_008, INTERNAL_001
	Message string       // for people
	Details []FieldError // the fields that do not fit, of COMBO_002
}

// Error gives the code and the message.
func (e *ComboError) Error() string { return e.Code + ": " + e.Message }

// Is makes an unknown combo an ErrNotFound.
func (e *ComboError) Is(target error) bool {
	return target == ErrNotFound && e.Code == string(combo.NotFound)
}

// Status is the HTTP status that goes with the code.
func (e *ComboError) Status() int {
	return (&combo.Error{Code: combo.Code(e.Code)}).Status()
}

// Category is the kind of refusal in a word.
func (e *ComboError) Category() string {
	switch combo.Code(e.Code) {
	case combo.NotFound:
		return "not_found"
	case combo.NameTaken, combo.Managed:
		return "conflict"
	case combo.Internal:
		return "internal"
	default:
		return "validation"
	}
}

// ComboRecord is a combo as it is stored.
type ComboRecord struct {
	combo.Combo
	Order     int // in lists, from 1
	CreatedAt time.Time
	UpdatedAt time.Time
}

// LastGood is the place that last served a combo of the strategy lkgp.
type LastGood struct {
	ComboID, Combo string // its id and name
	Provider       string // empty: forget the place
	ConnectionID   string
}

// ComboStore keeps the combos. Writes have reached the disk when the call
// returns, but for SaveLastGood, which queues its write.
type ComboStore interface {
	// Combos returns the combos in the user's order.
	Combos(ctx context.Context) ([]ComboRecord, error)
	// SaveCombos inserts or replaces combos, all or none.
	SaveCombos(ctx context.Context, list []ComboRecord) error
	DeleteCombo(ctx context.Context, id string) error

	LastGoods(ctx context.Context) ([]LastGood, error)
	SaveLastGood(g LastGood)
}

// comboRefused turns a refusal of package combo into the facade's error.
func comboRefused(err error) error {
	e, ok := errors.AsType[*combo.Error](err)
	if !ok {
		return err
	}
	out := &ComboError{Code: string(e.Code), Message: e.Message}
	for _, i := range e.Issues {
		out.Details = append(out.Details, FieldError{Field: i.Field, Message: i.Reason})
	}
	return out
}

func noCombo(id string) error {
	return &ComboError{Code: string(combo.NotFound), Message: fmt.Sprintf("there is no combo %q", id)}
}
