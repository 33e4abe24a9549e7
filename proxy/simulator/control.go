package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// controlPrefix is where the control interface lies.
const controlPrefix = "/__sim/"

// maxControlBody bounds a control request, in bytes.
const maxControlBody = 64 << 20

// State is what GET /__sim/state tells.
type State struct {
	BaseURL  string         `json:"baseUrl"`
	Faults   []string       `json:"faultKinds"`
	Accounts []AccountState `json:"accounts"`
}

// AccountState is the state of one account.
type AccountState struct {
	Name     string   `json:"name"`
	BaseURL  string   `json:"baseUrl"`
	Key      string   `json:"key"`
	Fault    Fault    `json:"fault"`
	Script   []Step   `json:"script"` // what is left of it
	Counters Counters `json:"counters"`
}

// State returns the server's state.
func (s *Server) State() State {
	st := State{BaseURL: s.BaseURL(), Faults: FaultKinds, Accounts: []AccountState{}}
	for _, a := range s.Accounts() {
		st.Accounts = append(st.Accounts, a.State())
	}
	return st
}

// State returns the account's state.
func (a *Account) State() AccountState {
	return AccountState{
		Name: a.name, BaseURL: a.BaseURL(), Key: a.Key(),
		Fault: a.CurrentFault(), Script: a.Pending(), Counters: a.Counters(),
	}
}

// control serves the control interface. A web page must not reach it: neither
// by its own origin nor by a name that it made point to loopback.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if !loopbackHost(r.Host) || len(r.Header.Values("Origin")) > 0 {
		reply403(w)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxControlBody)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+controlPrefix+"state", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.State())
	})
	mux.HandleFunc("GET "+controlPrefix+"requests", s.controlRequests)
	mux.HandleFunc("POST "+controlPrefix+"reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		writeJSON(w, http.StatusOK, s.State())
	})
	mux.HandleFunc("PUT "+controlPrefix+"accounts/{name}/script", s.controlScript)
	mux.HandleFunc("PUT "+controlPrefix+"accounts/{name}/fault", s.controlFault)
	mux.ServeHTTP(w, r)
}

// controlScript replaces an account's script by the array of steps in the
// body.
func (s *Server) controlScript(w http.ResponseWriter, r *http.Request) {
	var steps []Step
	if err := readJSON(r, &steps); err != nil {
		refuse(w, err)
		return
	}
	for i, st := range steps {
		if err := errors.Join(st.Validate(), s.opts.knows(st.Encoding)); err != nil {
			refuse(w, fmt.Errorf("step %d: %w", i, err))
			return
		}
	}
	a := s.Account(r.PathValue("name")).Script(steps...)
	writeJSON(w, http.StatusOK, a.State())
}

// controlFault sets an account's fault.
func (s *Server) controlFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	err := readJSON(r, &f)
	if err == nil {
		err = f.Validate()
	}
	if err != nil {
		refuse(w, err)
		return
	}
	a := s.Account(r.PathValue("name"))
	if err := a.Fault(f); err != nil {
		refuse(w, err)
		return
	}
	writeJSON(w, http.StatusOK, a.State())
}

// controlRequests lists the recorded requests, of ?account= if it is given,
// with their bodies (base64) if ?body=1 asks for them.
func (s *Server) controlRequests(w http.ResponseWriter, r *http.Request) {
	list := []Request{}
	want := r.URL.Query().Get("account")
	bodies, _ := strconv.ParseBool(r.URL.Query().Get("body"))
	for _, a := range s.Accounts() {
		if want != "" && want != a.name {
			continue
		}
		for _, q := range a.Requests() {
			if !bodies {
				q.Body = nil
			}
			list = append(list, q)
		}
	}
	writeJSON(w, http.StatusOK, list)
}

// readJSON reads the request's body into v and takes no unknown fields, so
// that a misspelt step is not played as something else.
func readJSON(r *http.Request, v any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("the body cannot be read: %w", err)
	}
	if dec.More() {
		return fmt.Errorf("the body goes on after its JSON")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, b = http.StatusInternalServerError, text(obj{"error", err.Error()})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that has left needs no answer
}

func refuse(w http.ResponseWriter, err error) {
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
}

func reply403(w http.ResponseWriter) {
	writeJSON(w, http.StatusForbidden, map[string]string{"error": "control is open to programs on this machine only"})
}

// loopbackHost reports whether a Host header names this machine itself.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}
