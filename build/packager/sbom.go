package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The parts of a CycloneDX 1.6 document that ours holds.
type (
	bom struct {
		Format       string          `json:"bomFormat"`
		Spec         string          `json:"specVersion"`
		Serial       string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     bomMetadata     `json:"metadata"`
		Components   []bomComponent  `json:"components"`
		Dependencies []bomDependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string       `json:"timestamp"`
		Component bomComponent `json:"component"`
	}
	bomComponent struct {
		Type     string       `json:"type"`
		Ref      string       `json:"bom-ref"`
		Name     string       `json:"name"`
		Version  string       `json:"version"`
		PURL     string       `json:"purl,omitempty"`
		Hashes   []bomHash    `json:"hashes,omitempty"`
		Licences []bomLicence `json:"licenses,omitempty"`
	}
	bomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	bomLicence struct {
		Expression string `json:"expression"`
	}
	bomDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// sbom lists what a program is made of, by the facts that Go's linker left in
// it, as a CycloneDX document.
func (s *source) sbom(program []byte, modules []module) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("what the program is made of: %w", err)
	}
	sum := sha256.Sum256(program)
	self := bomComponent{
		Type: "application", Ref: "breakwater", Name: "breakwater", Version: s.app.Version,
		Hashes: []bomHash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licences: []bomLicence{{"MIT"}},
	}
	licences := map[string]string{}
	for _, m := range modules {
		licences[m.Path] = m.id()
	}
	parts := []bomComponent{component("std", strings.TrimPrefix(info.GoVersion, "go"), "", licences)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if licences[m.Path] == "" {
			return nil, fmt.Errorf("%s is linked, but its licence is not known", m.Path)
		}
		parts = append(parts, component(m.Path, m.Version, m.Sum, licences))
	}
	slices.SortFunc(parts[1:], func(a, b bomComponent) int { return strings.Compare(a.Ref, b.Ref) })
	refs := make([]string, len(parts))
	for i, p := range parts {
		refs[i] = p.Ref
	}
	out, err := json.MarshalIndent(bom{
		Format: "CycloneDX", Spec: "1.6", Serial: "urn:uuid:" + uuidOf(sum), Version: 1,
		Metadata:     bomMetadata{s.when.Format(time.RFC3339), self},
		Components:   parts,
		Dependencies: []bomDependency{{self.Ref, refs}},
	}, "", "  ")
	return append(out, '\n'), err
}

// component is one module. Its sum is the one of go.sum, in hex.
func component(path, version, sum string, licences map[string]string) bomComponent {
	purl := "pkg:golang/" + path + "@" + version
	c := bomComponent{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
	if id := licences[path]; id != "" {
		c.Licences = []bomLicence{{id}}
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) == sha256.Size {
		c.Hashes = []bomHash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}

// uuidOf makes the document's id from the program's sum: the same program has
// the same document.
func uuidOf(sum [sha256.Size]byte) string {
	sum[6] = sum[6]&0x0f | 0x80 // version 8: made by own rules
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
