package build

import _ "embed"

//go:embed licences.txt
var licences string

// Licences returns the list of everything the program is made of, and the texts
// of all licences. build/package writes it anew from the linked modules.
func Licences() string { return licences }
