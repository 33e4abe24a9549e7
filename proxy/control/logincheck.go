package control

import (
	"bytes"
	"context"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/breaker"
	"breakwater/resilience/classify"
	"breakwater/resilience/oauth"
	"breakwater/resilience/outcome"
)

// Tested is what a connection test found, with the answer behind it. Header and
// Body are the upstream's own words, for the classifier alone.
type Tested struct {
	TestResult
	Header map[string][]string
	Body   []byte
	// Model is the model that was asked, empty for a question about none.
	Model string
	// Models is the provider's own list, nil where none was read.
	Models []ListedModel
	// BaseURL is the address below which the list was found, where that is not
	// the connection's own; empty otherwise.
	BaseURL string
}

// checkRest is the least real time between two looks at what is due.
const checkRest = time.Second

// watchLogins looks at stored logins in the background, as credentialHealthCheck
// says, until Close. It has no timer running while there is none to look at.
func (s *Service) watchLogins() {
	rota := oauth.NewRota()
	for {
		rota.Set(s.Now(), s.loginsToCheck())
		var due <-chan time.Time
		var timer *time.Timer
		if _, at, ok := rota.Next(s.Now()); ok {
			timer = time.NewTimer(max(time.Until(s.real(at)), checkRest))
			due = timer.C
		}
		select {
		case <-s.stop:
		case <-s.loginsDirty:
		case <-due:
		}
		if timer != nil {
			timer.Stop()
		}
		if s.stopped() {
			return
		}
		if id, at, ok := rota.Next(s.Now()); ok && !at.After(s.Now()) {
			s.checkLogin(s.claude.life, id)
			rota.Looked(s.Now(), id)
		}
	}
}

// loginsToCheck are the connections whose login is worth a look: those that are
// switched on and not lost for good.
func (s *Service) loginsToCheck() (list []oauth.Member) {
	for _, r := range s.Routes() {
		if every := s.checkEvery(r); every > 0 && s.cfg.Tester != nil && s.hopeful(r) {
			list = append(list, oauth.Member{ID: r.Record.ID, Every: every})
		}
	}
	return list
}

// checkEvery is how often the connection's login is looked at; 0 is never. A
// connection's own interval wins (settings sheet §1).
func (s *Service) checkEvery(r *Route) time.Duration {
	if r.login == nil || !r.Record.Active {
		return 0
	}
	minutes := s.InForce().CredentialHealthCheck.IntervalMinutes
	if own := r.Record.HealthCheckInterval; own != nil {
		minutes = *own
	}
	return time.Duration(minutes) * time.Minute
}

// hopeful reports whether more than a person's hand can bring the connection
// back.
func (s *Service) hopeful(r *Route) bool {
	st := s.engine.ConnectionStatus(r.Conn)
	return !State(st.State).Terminal() || !st.Until.IsZero()
}

// checkLogin looks at one login: it is refreshed if it is due, and the provider
// is asked as a connection test asks. Nothing is sent while requests would not
// go there either. The look takes a connection out only when there is no doubt:
// the refresh token is refused, the account is closed or out of money. It brings
// an expired one back; whatever else it finds is left to the requests.
func (s *Service) checkLogin(ctx context.Context, id string) {
	r, ok := s.Route(id)
	if !ok || s.Paused() || s.leasedUntil(id) != nil {
		return
	}
	sight := s.engine.Look(s.Now(), resilience.Candidate{Conn: r.Conn})
	if sight.Reason != "" || sight.Breaker == breaker.HalfOpen {
		return
	}
	res, verdict := s.askLogin(ctx, r)
	if now, _ := s.Route(id); now != r || ctx.Err() != nil {
		return // edited meanwhile: it is another connection
	}
	switch {
	case verdict.Terminal != outcome.NotTerminal:
		a, out := s.engine.Begin(resilience.Target{Conn: r.Conn})
		if out == nil {
			a.Report(verdict)
		}
	case res.Valid && State(s.engine.ConnectionStatus(r.Conn).State) == StateExpired:
		s.proved(r, res.Model)
	default:
		return
	}
	s.cfg.Log.Info("a look at a stored login", "connection", id, "found", res.Diagnosis.Type, "state", string(verdict.Terminal))
	s.markState()
}

// askLogin refreshes the login and tests it. The verdict is not terminal unless
// it is beyond doubt.
func (s *Service) askLogin(ctx context.Context, r *Route) (res Tested, verdict outcome.Outcome) {
	key, err := s.Bearer(ctx, r)
	if err == nil {
		res, _ = s.test(ctx, r)
		if !deniesToken(res) {
			return res, s.certain(r, res)
		}
		if _, err = s.Renew(ctx, r, key); err == nil {
			res, _ = s.test(ctx, r)
			return res, s.certain(r, res)
		}
	}
	res.Valid, res.Diagnosis.Type = false, "token_refresh_failed"
	if !LoginExpired(err) {
		return res, outcome.Outcome{} // the token endpoint is to blame
	}
	in := s.Judge(r, "")
	in.Status, in.Body = 401, []byte(`{"error":{"message":"unauthorized"}}`)
	return res, classify.Response(in)
}

// deniesToken reports whether the answer refuses the access token. A page with
// that word refuses nothing.
func deniesToken(res Tested) bool {
	if res.Diagnosis.Reason == string(outcome.ReasonNotAPI) {
		return false
	}
	return res.StatusCode == 401 ||
		res.StatusCode == 403 && bytes.Contains(bytes.ToLower(res.Body), []byte("token"))
}

// certain is the classifier's verdict on an answer, if it is one on the account
// as a whole. A plain refusal may be of the question alone.
func (s *Service) certain(r *Route, res Tested) outcome.Outcome {
	if res.Valid || res.StatusCode < 400 {
		return outcome.Outcome{}
	}
	in := s.Judge(r, "")
	in.Status, in.Header, in.Body = res.StatusCode, res.Header, res.Body
	if o := classify.Response(in); o.Permanent || o.Terminal == outcome.CreditsExhausted {
		return o
	}
	return outcome.Outcome{}
}
