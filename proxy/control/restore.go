package control

// RestorePlan is what putting a copy in the place of a database changes for the
// API keys and the connections, which are told by their names. Settings, combos
// and activity become those of the copy without being listed.
type RestorePlan struct {
	// Compared is false when there is no present database, or none that can be
	// read; nothing is known then about what was deleted since the copy.
	Compared bool `json:"compared"`
	// Replaces tells that there is a present database, readable or not.
	Replaces bool `json:"replaces"`
	// KeysSwitchedOff could do more by the copy than they can now, because they
	// were deleted, switched off or narrowed since; they come back switched off.
	KeysSwitchedOff []string `json:"keysSwitchedOff"`
	// KeysActive are in force in a copy that could be compared with nothing.
	KeysActive []string `json:"keysActive"`
	KeysLost   []string `json:"keysLost"` // made since the copy
	// ConnectionsBack were deleted since, and their secrets with them.
	ConnectionsBack    []string `json:"connectionsBack"`
	ConnectionsLost    []string `json:"connectionsLost"`    // added since
	ConnectionsChanged []string `json:"connectionsChanged"` // go back to what they were
}
