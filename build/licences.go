package build

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

// It is compressed, since every program carries it and few people read it.
//
//go:embed licences.txt.gz
var licences []byte

// Licences returns the list of everything the program is made of, and the texts
// of all licences. build/package writes it anew from the linked modules.
func Licences() string {
	z, err := gzip.NewReader(bytes.NewReader(licences))
	if err != nil {
		panic("licences: " + err.Error()) // embedded: a mistake in the build
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic("licences: " + err.Error())
	}
	return string(text)
}
