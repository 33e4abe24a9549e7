package control

import (
	"fmt"
	"strings"
)

// FieldError is one thing that is wrong with an input: the field, and what it
// may be.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// InvalidError tells which fields of an input were refused; nothing was
// changed.
type InvalidError struct{ Fields []FieldError }

// Error lists the fields and what is wrong with each.
func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Field + ": " + f.Message
	}
	return "invalid input: " + strings.Join(parts, "; ")
}

// Invalid returns an InvalidError about one field.
func Invalid(field, format string, args ...any) *InvalidError {
	return &InvalidError{Fields: []FieldError{{Field: field, Message: fmt.Sprintf(format, args...)}}}
}

type sentinel string

func (s sentinel) Error() string { return string(s) }

// Errors that callers may compare with errors.Is.
const (
	ErrNotFound  = sentinel("not found")
	ErrNoDesktop = sentinel("no desktop is attached to this Breakwater")
)
