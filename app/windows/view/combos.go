package view

import (
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// ComboRow is one line of the combos table.
type ComboRow struct {
	ID, Name string
	Active   bool
	Strategy string
	Targets  string
}

// ComboRows returns the rows in the user's order.
func ComboRows(list []control.Combo) []ComboRow {
	out := make([]ComboRow, len(list))
	for i := range list {
		c := &list[i]
		word, _ := Strategy(string(c.Strategy))
		out[i] = ComboRow{ID: c.ID, Name: c.Name, Active: c.Enabled(), Strategy: word, Targets: strconv.Itoa(len(c.Steps))}
	}
	return out
}

// CombosLine is the header line of the combos page.
func CombosLine(n int) string {
	if n == 0 {
		return T("You have none yet.")
	}
	return T("Each is a model name of your own that stands for several targets.")
}

// StepWords returns what one step of a combo stands for: the model, and where
// it is asked.
func StepWords(s control.ComboStep, snap control.Snapshot, providers []control.Provider) (model, where string) {
	if s.Combo != "" {
		return s.Combo, T("another combo")
	}
	model = strings.TrimPrefix(s.Model, s.Provider+"/")
	if strings.Contains(model, "*") {
		model = Tf("every model that fits %s", model)
	}
	if s.Connection != "" {
		for _, c := range snap.Connections {
			if c.ID == s.Connection {
				return model, c.Name
			}
		}
		return model, T("a connection that is gone")
	}
	return model, Tf("any connection of %s", providerWord(s.Provider, snap, providers))
}

func providerWord(id string, snap control.Snapshot, providers []control.Provider) string {
	for _, c := range snap.Connections {
		if c.Provider == id {
			return c.ProviderName
		}
	}
	for _, p := range providers {
		if p.ID == id {
			return p.Name
		}
	}
	return id
}

// Place is where a target of a combo may be asked: at one connection, at any of
// a provider's, or at another combo.
type Place struct {
	Word       string
	Provider   string
	Connection string
	Combo      string
}

// Places returns what a new target can be chosen from: the connections, the
// providers with more than one, and the other combos.
func Places(snap control.Snapshot, combos []control.Combo, own string) []Place {
	var out []Place
	count, name := map[string]int{}, map[string]string{}
	var order []string
	for _, c := range snap.Connections {
		out = append(out, Place{Word: c.Name, Provider: c.Provider, Connection: c.ID})
		if count[c.Provider] == 0 {
			order = append(order, c.Provider)
		}
		count[c.Provider]++
		name[c.Provider] = c.ProviderName
	}
	for _, p := range order {
		if count[p] > 1 {
			out = append(out, Place{Word: Tf("any connection of %s", name[p]), Provider: p})
		}
	}
	for i := range combos {
		if combos[i].ID != own {
			out = append(out, Place{Word: Tf("combo %s", combos[i].Name), Combo: combos[i].Name})
		}
	}
	return out
}

// ComboDraft is a combo as its editor holds it.
type ComboDraft struct {
	ID, Name, Strategy string
	Steps              []control.ComboStep
}

// NewComboDraft returns the draft of a combo, or of a new one for nil.
func NewComboDraft(c *control.Combo) ComboDraft {
	if c == nil {
		return ComboDraft{Strategy: "priority"}
	}
	return ComboDraft{ID: c.ID, Name: c.Name, Strategy: string(c.Strategy), Steps: slices.Clone(c.Steps)}
}

// Add appends a target, or says what is wrong with it.
func (d *ComboDraft) Add(p Place, model string) string {
	model = strings.TrimSpace(model)
	switch {
	case p.Word == "":
		return T("Choose where it is asked.")
	case p.Combo != "":
		d.Steps = append(d.Steps, control.ComboStep{Kind: "combo-ref", Combo: p.Combo, Weight: 1})
		return ""
	case model == "":
		return T("Name a model.")
	}
	s := control.ComboStep{Model: model, Provider: p.Provider, Connection: p.Connection, Weight: 1}
	if !strings.HasPrefix(model, p.Provider+"/") {
		s.Model = p.Provider + "/" + model
	}
	d.Steps = append(d.Steps, s)
	return ""
}

// Move puts the step at one place to another and reports whether it could.
func (d *ComboDraft) Move(from, to int) bool {
	if from == to || from < 0 || to < 0 || from >= len(d.Steps) || to >= len(d.Steps) {
		return false
	}
	s := d.Steps[from]
	d.Steps = slices.Insert(slices.Delete(d.Steps, from, from+1), to, s)
	return true
}

// Remove takes a step out.
func (d *ComboDraft) Remove(at int) { d.Steps = slices.Delete(d.Steps, at, at+1) }

// Weighted reports whether the strategy looks at the steps' weights.
func (d *ComboDraft) Weighted() bool { return d.Strategy == "weighted" }

// SetWeight sets a step's weight from what was typed: 0 to 100.
func (d *ComboDraft) SetWeight(at int, typed string) bool {
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(typed), ",", "."), 64)
	if err != nil || f < 0 || f > 100 {
		return false
	}
	d.Steps[at].Weight = f
	return true
}

// Check returns what the draft lacks, in words; empty when it can be sent.
func (d *ComboDraft) Check() string {
	switch {
	case strings.TrimSpace(d.Name) == "":
		return T("Give it a name: your agent asks for it as a model.")
	case len(d.Steps) == 0:
		return T("Add at least one target.")
	}
	return ""
}

// Input is the draft as a new combo.
func (d *ComboDraft) Input() control.ComboInput {
	return control.ComboInput{Name: strings.TrimSpace(d.Name), Strategy: d.Strategy, Steps: d.Steps}
}

// Patch is the draft as a change of an existing combo.
func (d *ComboDraft) Patch() control.ComboPatch {
	name := strings.TrimSpace(d.Name)
	return control.ComboPatch{Name: &name, Strategy: &d.Strategy, Steps: &d.Steps}
}

// ComboProblem returns a refusal of a combo in words.
func ComboProblem(e *control.ComboError) string {
	if len(e.Details) > 0 {
		return e.Details[0].Field + ": " + e.Details[0].Message + "."
	}
	return e.Message
}

// Weight returns a weight as a person types it.
func Weight(w float64) string { return strconv.FormatFloat(w, 'f', -1, 64) }
