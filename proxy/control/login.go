package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
	"breakwater/resilience/claude"
	"breakwater/resilience/cooldown"
	"breakwater/resilience/oauth"
)

// login is the stored login of a connection, shared by all versions of its
// route. Its secrets must never be printed.
type login struct {
	mu      sync.Mutex
	now     oauth.Login
	flight  chan struct{} // closed when the refresh under way has ended; nil: none
	err     error         // of the last refresh
	fails   int           // refreshes that failed in a row
	blocked time.Time     // no refresh before, core time
}

// newLogin reads a login as it is stored; nil when it is none.
func newLogin(secret string) *login {
	l, ok := oauth.Decode(secret)
	if !ok {
		return nil
	}
	return &login{now: l}
}

func (l *login) present() oauth.Login {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Errors of a refresh. They name nothing of the login.
var (
	errLoginExpired = errors.New("the login has expired: its refresh token is refused")
	errNotRefreshed = errors.New("the login could not be refreshed")
)

// LoginExpired reports that a login is beyond refreshing.
func LoginExpired(err error) bool { return errors.Is(err, errLoginExpired) }

// Bearer returns the access token of a connection with a stored login,
// refreshed if it is due. A refresh that fails is no error while the present
// token still works.
func (s *Service) Bearer(ctx context.Context, r *Route) (string, error) {
	l := r.login.present()
	if !l.Due(s.Now()) {
		return l.Access, nil
	}
	next, err := s.refresh(ctx, r, l)
	if err != nil && l.Usable(s.Now()) {
		return l.Access, nil
	}
	return next.Access, err
}

// Renew returns another access token than the one that the upstream has
// refused: the one that a sibling has got meanwhile, or a new one.
func (s *Service) Renew(ctx context.Context, r *Route, refused string) (string, error) {
	l := r.login.present()
	if l.Access != refused {
		return l.Access, nil
	}
	next, err := s.refresh(ctx, r, l)
	return next.Access, err
}

// refresh replaces a login, unless somebody has done so. Whoever asks meanwhile
// shares the one refresh, which goes on when its first caller leaves.
func (s *Service) refresh(ctx context.Context, r *Route, stale oauth.Login) (oauth.Login, error) {
	l := r.login
	l.mu.Lock()
	if l.now != stale {
		defer l.mu.Unlock()
		return l.now, nil
	}
	if l.flight == nil {
		if s.Now().Before(l.blocked) {
			defer l.mu.Unlock()
			return l.now, l.err
		}
		ticket, ok := s.startRefresh(r)
		if !ok {
			defer l.mu.Unlock()
			return l.now, errNotRefreshed
		}
		l.flight = make(chan struct{})
		go s.refreshNow(r, stale, ticket)
	}
	flight := l.flight
	l.mu.Unlock()
	select {
	case <-flight:
	case <-ctx.Done():
		return stale, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now, l.err
}

// startRefresh counts a refresh in, unless the guard is open or the program
// ends.
func (s *Service) startRefresh(r *Route) (guardTicket, bool) {
	if !s.claude.begin() {
		return guardTicket{}, false
	}
	ticket, ok := s.admitRefresh(r)
	if !ok {
		s.claude.calls.Done()
	}
	return ticket, ok
}

// unblock ends the login's own pause.
func (l *login) unblock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked, l.fails = time.Time{}, 0
}

// refreshNow asks the token endpoint. The new login is stored before anybody
// uses it: the old refresh token is good for nothing any more.
func (s *Service) refreshNow(r *Route, old oauth.Login, ticket guardTicket) {
	defer s.claude.calls.Done()
	defer s.markState() // the failures are shown
	next, wait, err := s.askToken(s.claude.life, r, old)
	if err == nil {
		s.keepLogin(r, next)
	} else {
		s.cfg.Log.Warn("a login was not refreshed", "connection", r.Record.ID, "reason", err.Error())
	}
	s.refreshed(ticket, err)
	l := r.login
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	switch {
	case err == nil:
		l.now, l.fails, l.blocked = next, 0, time.Time{}
	case LoginExpired(err): // the retries of an expired connection have their own pace
		l.fails, l.blocked = 0, s.Now().Add(hopelessPause)
	case wait > 0:
		l.blocked = s.Now().Add(wait)
	default:
		l.fails++
		l.blocked = s.Now().Add(cooldown.RefreshPause(l.fails))
	}
	close(l.flight)
	l.flight = nil
}

// hopelessPause keeps a login that is beyond refreshing from being tried with
// every request while its access token lasts.
const hopelessPause = time.Minute

// keepLogin stores a refreshed login, unless the connection is gone or has been
// given another one meanwhile.
func (s *Service) keepLogin(r *Route, next oauth.Login) {
	give, err := s.secrets.take(context.Background(), r.Record.ID)
	if err != nil {
		return // such a context has no end
	}
	defer give()
	if now, ok := s.Route(r.Record.ID); !ok || now.login != r.login {
		return
	}
	if err := s.cfg.Secrets.SetSecret(SecretName(r.Record.ID), next.Encode()); err != nil {
		s.cfg.Log.Error("a refreshed login could not be stored; it is lost with the end of the program", "connection", r.Record.ID, "error", err)
	}
}

// askToken makes up to three attempts at a refresh. wait is how long the
// endpoint wants to be left alone.
func (s *Service) askToken(ctx context.Context, r *Route, old oauth.Login) (next oauth.Login, wait time.Duration, err error) {
	kind, body := old.Request(r.Record.ClientID, oauth.Form(r.Record.TokenFormat))
	header := map[string][]string{"Content-Type": {kind}, "Accept": {"application/json"}}
	if isClaude(r.Provider) {
		header["Anthropic-Beta"] = []string{dialect.OAuthBeta}
	}
	call := claude.SideCall{Method: "POST", Header: header, Body: body, Timeout: oauth.Timeout}
	for n := 1; ; n++ {
		reply := s.sideCall(ctx, SideCall{SideCall: call, BaseURL: r.tokenURL(), Proxy: r.proxy})
		next, meaning, wait := old.Read(s.Now(), oauth.Answer{Status: reply.Status, Header: reply.Header, Body: reply.Body, Failed: reply.Failed})
		switch meaning {
		case oauth.Refreshed:
			return next, 0, nil
		case oauth.Unrecoverable:
			return old, 0, errLoginExpired
		case oauth.Blocked:
			return old, wait, errNotRefreshed
		case oauth.TryAgain:
		}
		if n == oauth.Attempts || !s.pauseCore(ctx, oauth.Pause(n)) {
			return old, 0, errNotRefreshed
		}
	}
}

// pauseCore waits for d of core time.
func (s *Service) pauseCore(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(time.Until(s.real(s.Now().Add(d))))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tokenURL is where the connection's login is refreshed.
func (r *Route) tokenURL() string {
	if r.Record.TokenURL != "" {
		return r.Record.TokenURL
	}
	return r.Provider.TokenURL
}

// secret returns what is to be stored of the credential, checked.
func (in ConnectionInput) secret() (string, error) {
	key, refresh := strings.TrimSpace(in.APIKey), strings.TrimSpace(in.RefreshToken)
	if in.Credential != string(catalog.OAuthCredential) {
		return key, checkKey(key)
	}
	// A whole login, as a backup holds it, may stand in place of the access token.
	if l, ok := oauth.Decode(key); ok {
		return l.Encode(), nil
	}
	if refresh == "" {
		if key != "" {
			return "", errNoRefreshToken()
		}
		return "", nil
	}
	if checkKey(key) != nil || checkKey(refresh) != nil {
		return "", Invalid("refreshToken", "tokens hold no spaces, line breaks or special characters")
	}
	return oauth.Login{Access: key, Refresh: refresh}.Encode(), nil
}

func errNoRefreshToken() *InvalidError {
	return Invalid("refreshToken", "missing_refresh_token: a login that is to be refreshed needs its refresh token")
}

// newSecret returns the credential to be stored after an edit, and whether it
// is another one.
func newSecret(old *Route, credential string, p ConnectionPatch) (secret string, fresh bool, err error) {
	in := ConnectionInput{Credential: credential}
	set(&in.APIKey, p.APIKey)
	set(&in.RefreshToken, p.RefreshToken)
	if secret, err = in.secret(); err != nil || secret != "" {
		return secret, true, err
	}
	// What was stored as a key is no login, and the reverse.
	if (credential == string(catalog.OAuthCredential)) != (old.login != nil) {
		return "", false, nil
	}
	return old.storedSecret(), false, nil
}

// checkLogin validates what a stored login is refreshed with.
func checkLogin(bad *problems, r ConnectionRecord, p catalog.Provider, hasKey bool) {
	if catalog.CredentialKind(r.Credential) != catalog.OAuthCredential {
		return
	}
	if !hasKey {
		bad.fields = append(bad.fields, errNoRefreshToken().Fields...)
	}
	if f := oauth.Form(r.TokenFormat); f != "" && f != oauth.URLEncoded && f != oauth.JSON {
		bad.add("tokenFormat", "form or json")
	}
	if len(r.ClientID) > maxModel {
		bad.add("clientId", "at most %d characters", maxModel)
	}
	if r.TokenURL == "" {
		if p.TokenURL == "" {
			bad.add("tokenUrl", "the address at which the login is refreshed is needed")
		}
		return
	}
	u, err := url.Parse(r.TokenURL)
	if err != nil || u.Host == "" || u.User != nil || len(r.TokenURL) > maxURL || !secureScheme(u) {
		bad.add("tokenUrl", "must be a URL that begins with https://, or http:// on this machine and in private networks")
	}
}

// secureScheme reports whether a secret may be sent to the address.
func secureScheme(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isPrivateHost(u.Hostname())
}

// storedSecret is the connection's credential as it is kept, for a backup.
func (r *Route) storedSecret() string {
	if r.login != nil {
		return r.login.present().Encode()
	}
	return r.key
}

// usable reports whether the connection has a token to ask with now.
func (s *Service) usable(r *Route) bool {
	return r.login == nil || r.login.present().Usable(s.Now())
}

// organization is the account's, as the token endpoint named it.
func (r *Route) organization() string {
	if r.login == nil {
		return ""
	}
	return r.login.present().Organization
}

var _ fmt.Stringer = (*login)(nil)

// String keeps the secrets out of logs and messages.
func (*login) String() string { return "[login]" }

// GoString does the same.
func (*login) GoString() string { return "[login]" }
