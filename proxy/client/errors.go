package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"breakwater/proxy/control"
)

// ErrUnreachable tells that no Breakwater answered.
var ErrUnreachable = errors.New("no Breakwater answers")

// StatusError is a refusal that has no error of its own in package control.
type StatusError struct {
	Status  int    // HTTP status
	Code    string // closed word, may be empty
	Message string // for people
}

// Error gives the message and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s (%d)", e.Message, e.Status)
}

// Unauthorised reports whether err says that the token was missing or wrong.
func Unauthorised(err error) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// answerError turns an error envelope back into the error that it came from.
func answerError(status int, data []byte) error {
	var body struct {
		Error struct {
			Code    string               `json:"code"`
			Message string               `json:"message"`
			Details []control.FieldError `json:"details"`
		} `json:"error"`
		CurrentRevision int64 `json:"currentRevision"`
	}
	if json.Unmarshal(data, &body) != nil || body.Error.Message == "" {
		return &StatusError{Status: status, Message: http.StatusText(status)}
	}
	e := body.Error
	switch {
	case strings.HasPrefix(e.Code, "COMBO_"):
		return &control.ComboError{Code: e.Code, Message: e.Message, Details: e.Details}
	case status == http.StatusBadRequest && len(e.Details) > 0:
		return &control.InvalidError{Fields: e.Details}
	case status == http.StatusNotFound && e.Code == "NOT_FOUND":
		return control.ErrNotFound
	case status == http.StatusBadRequest && e.Code == "LEASE_KEY_POLICY_INVALID":
		return control.ErrLeaseKeyPolicy
	case status == http.StatusConflict && e.Code == "SETTINGS_REVISION_CONFLICT":
		return &control.ConflictError{CurrentRevision: body.CurrentRevision}
	case status == http.StatusConflict && e.Code == "KEY_NAME_TAKEN":
		return control.ErrKeyName
	case status == http.StatusConflict && e.Code == "NO_DESKTOP":
		return control.ErrNoDesktop
	default:
		return &StatusError{Status: status, Code: e.Code, Message: e.Message}
	}
}
