package cli

import (
	"reflect"
	"strings"
	"unicode"
)

// jsonNames returns the JSON names of a struct's fields.
func jsonNames[T any]() []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

// kebab turns baseUrl into base-url, organizationUUID into organization-uuid.
func kebab(name string) string {
	var out strings.Builder
	upper := false
	for _, r := range name {
		if unicode.IsUpper(r) && !upper {
			out.WriteByte('-')
		}
		upper = unicode.IsUpper(r)
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
