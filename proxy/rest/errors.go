package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// apiError is an answer that is not a success: status, code and words that may
// be shown to anybody.
type apiError struct {
	status     int
	code       string
	message    string
	kind       string
	retryAfter int // seconds, 0 sends no header
	challenge  bool
}

func (e *apiError) Error() string { return e.message }

// The refusals of this layer (sheet §2.1 and §2.2).
var (
	errNoCredential = &apiError{status: http.StatusUnauthorized, code: "AUTH_001", message: "Authentication required", challenge: true}
	errBadToken     = &apiError{status: http.StatusForbidden, code: "INVALID_MANAGEMENT_TOKEN", message: "Invalid management token"}
	errTooMany      = &apiError{status: http.StatusTooManyRequests, code: "AUTH_RATE_LIMITED", message: "Too many failed attempts", retryAfter: refillSeconds}
	errNoRoute      = &apiError{status: http.StatusNotFound, code: "NOT_FOUND", message: "There is no such route; GET /api/openapi.json lists them"}
	errMethod       = &apiError{status: http.StatusMethodNotAllowed, code: "METHOD_NOT_ALLOWED", message: "Method not allowed"}
	errContentType  = &apiError{status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE", message: "Content-Type must be application/json"}
	errCharset      = &apiError{status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_MEDIA_TYPE", message: "The charset must be utf-8"}
	errSlowBody     = &apiError{status: http.StatusRequestTimeout, code: "REQUEST_TIMEOUT", message: "The request body did not arrive in time"}
	errEncoding     = &apiError{status: http.StatusUnsupportedMediaType, code: "UNSUPPORTED_ENCODING", message: "Send the body as it is, without a Content-Encoding"}
	errTooLarge     = &apiError{status: http.StatusRequestEntityTooLarge, code: "PAYLOAD_TOO_LARGE", message: "The request body is larger than 1 MiB"}
	errTimeout      = &apiError{status: http.StatusGatewayTimeout, code: "TIMEOUT", message: "The operation took too long"}
	errNoEvents     = &apiError{status: http.StatusServiceUnavailable, code: "EVENTS_UNAVAILABLE", message: "The event stream is not available"}
	errNoMetrics    = &apiError{status: http.StatusServiceUnavailable, code: "METRICS_UNAVAILABLE", message: "The figures are not available"}
	errInternal     = &apiError{status: http.StatusInternalServerError, code: "INTERNAL", message: "Internal error"}
	errDiskFull     = &apiError{status: http.StatusInsufficientStorage, code: "DISK_FULL", message: "The disk is full, so nothing was changed. Make some room and try again"}
	errReadOnly     = &apiError{status: http.StatusServiceUnavailable, code: "READ_ONLY", message: "The data folder cannot be written, so nothing was changed. Check its permissions and the disk"}
	errDatabaseBusy = &apiError{status: http.StatusServiceUnavailable, code: "DATABASE_BUSY", message: "Another program has locked the database, so nothing was changed. Close that program and try again"}
	errDatabaseGone = &apiError{status: http.StatusServiceUnavailable, code: "DATABASE_GONE", message: "The database was moved, deleted or replaced while Breakwater ran, so the change cannot be kept. Put it back, or quit Breakwater and start it again"}
	errNotFound     = &apiError{status: http.StatusNotFound, code: "NOT_FOUND", message: "Not found"}
	errKeyNotFound  = &apiError{status: http.StatusNotFound, code: "NOT_FOUND", message: "Key not found"}
	errKeyScope     = &apiError{status: http.StatusForbidden, code: "KEY_SCOPE", message: "This key lacks the scope manage"}
	errKeyRefused   = &apiError{status: http.StatusForbidden, code: "KEY_REFUSED", message: "This key is switched off or has expired"}
	errLeaseKey     = &apiError{status: http.StatusBadRequest, code: "LEASE_KEY_POLICY_INVALID", message: "A key with the scope lease:exclusive needs allowedConnections", kind: "lease_error"}
	errKeyName      = &apiError{status: http.StatusConflict, code: "KEY_NAME_TAKEN", message: control.ErrKeyName.Error()}
	errNoDesktop    = &apiError{status: http.StatusConflict, code: "NO_DESKTOP", message: control.ErrNoDesktop.Error()}
)

type errorBody struct {
	Code          string               `json:"code,omitempty"`
	Message       string               `json:"message"`
	Type          string               `json:"type,omitempty"`
	Details       []control.FieldError `json:"details,omitempty"`
	CorrelationID string               `json:"correlation_id,omitempty"`
	// Of the routes of combos.
	Category  string `json:"category,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// conflictBody refuses a change of settings that the client saw in an older
// state (sheet §2.12).
type conflictBody struct {
	Error           errorBody `json:"error"`
	CurrentRevision int64     `json:"currentRevision"`
}

func (c conflictBody) etag() string { return revisionTag(c.CurrentRevision) }

// fail answers with the envelope of the error. What an unknown error says
// stays in the log; the answer carries only the id of the log line.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	// A body that came to no end has ended the context as well, but its sender
	// may still read.
	if r.Context().Err() != nil && !errors.Is(err, errSlowBody) {
		panic(http.ErrAbortHandler) // nobody is left, and no empty 200 is to be read by one who half is
	}
	if inv, ok := errors.AsType[*control.InvalidError](err); ok {
		a.write(w, r, http.StatusBadRequest, map[string]errorBody{
			"error": {Message: "Invalid request", Details: list(inv.Fields)},
		})
		return
	}
	if c, ok := errors.AsType[*control.ConflictError](err); ok {
		a.write(w, r, http.StatusConflict, conflictBody{
			Error:           errorBody{Code: "SETTINGS_REVISION_CONFLICT", Message: "The settings have changed meanwhile"},
			CurrentRevision: c.CurrentRevision,
		})
		return
	}
	id := correlation()
	if c, ok := errors.AsType[*control.ComboError](err); ok {
		w.Header().Set("X-Request-Id", id)
		a.write(w, r, c.Status(), map[string]errorBody{"error": {
			Code: c.Code, Message: c.Message, Details: c.Details, Category: c.Category(), RequestID: id,
		}})
		return
	}
	e := known(err)
	code, category := e.code, ""
	if e == errInternal && strings.HasPrefix(r.URL.Path, "/api/combos") {
		code, category = "INTERNAL_001", "internal" // settings sheet §2.14
	}
	if e == errInternal || slices.Contains([]*apiError{errDiskFull, errReadOnly, errDatabaseBusy, errDatabaseGone}, e) {
		a.log.ErrorContext(r.Context(), "management request failed",
			"method", r.Method, "path", r.URL.Path, "correlation", id, "error", err)
	}
	h := w.Header()
	h.Set("X-Request-Id", id)
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	if e.challenge {
		h.Set("WWW-Authenticate", `Bearer realm="breakwater"`)
	}
	a.write(w, r, e.status, map[string]errorBody{"error": {Code: code, Message: e.message, Type: e.kind, CorrelationID: id, Category: category}})
}

func known(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	switch {
	case errors.Is(err, control.ErrNotFound):
		return errNotFound
	case errors.Is(err, control.ErrLeaseKeyPolicy):
		return errLeaseKey
	case errors.Is(err, control.ErrKeyName):
		return errKeyName
	case errors.Is(err, control.ErrNoDesktop):
		return errNoDesktop
	case errors.Is(err, control.ErrDiskFull):
		return errDiskFull
	case errors.Is(err, control.ErrReadOnly):
		return errReadOnly
	case errors.Is(err, control.ErrDatabaseBusy):
		return errDatabaseBusy
	case errors.Is(err, control.ErrDatabaseGone):
		return errDatabaseGone
	case errors.Is(err, context.DeadlineExceeded):
		return errTimeout
	default:
		return errInternal
	}
}
