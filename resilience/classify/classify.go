// Package classify turns what an upstream answered, or failed to answer, into
// an outcome: whose fault it was, how far it reaches and how long it lasts.
package classify

import (
	"strings"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/hint/errbody"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// Auth is how a connection proves itself; it decides what a 401 or 403 means.
type Auth string

// The ways. The zero value follows the profile: OAuth for the oauth profile, a
// key for the others.
const (
	AuthByProfile   Auth = ""
	AuthKey         Auth = "apikey"
	AuthOAuth       Auth = "oauth"
	AuthCookie      Auth = "cookie"
	AuthNone        Auth = "none"
	AuthPassthrough Auth = "passthrough" // the client's own credential (ruling 34)
)

// Input is one failed attempt and what must be known of its connection.
type Input struct {
	// Status, Header and Body are the upstream's answer; Body may be cut, 32 KiB
	// of it count. Header keys are compared ignoring case.
	Status int
	Header map[string][]string
	Body   []byte
	// Now is the present. Daily quotas come back at midnight in its location.
	Now time.Time

	// Provider is the canonical provider id, Model the model's name at this
	// upstream; either may be empty.
	Provider string
	Model    string
	// Connection keys the rotation thresholds; it is needed only with a Streak.
	Connection string
	// Profile holds the figures that apply. A profile without a name stands for
	// none: the engine's oldest figures apply.
	Profile settings.Profile
	Auth    Auth
	// PerModelQuota tells that the provider counts per model (sheet §4.5).
	PerModelQuota bool
	// DisableCooling is the connection's switch: quota verdicts that would cool
	// it go to the model instead.
	DisableCooling bool
	// LocalURL tells that the upstream is on this machine or its private
	// network: its 404 is a model that is not pulled, for a short while.
	LocalURL bool

	// Level is the connection's backoffLevel before this failure.
	Level int
	// Rejections counts the request_rejected answers that this connection and
	// model gave before, in a row.
	Rejections int
	// StreamBreaks counts the streams of this connection and model that broke in
	// the ten minutes before; one or two are no reason to lock a model.
	StreamBreaks int

	// QuotaReset is how long the account's used-up quota window still lasts, as
	// far as it is known from what the provider said before; zero: nobody knows.
	QuotaReset time.Duration

	// CreditWaits counts the refusals in a row whose words were of credit, which
	// stated an end and came again after it (ruling 57).
	CreditWaits int

	// Options may be nil.
	Options *Options
}

// Options are the operator's choices that bear on a verdict. The zero value is
// the guide's defaults.
type Options struct {
	// Rotation is nil for the defaults; the connection's overrides are applied
	// (see Overrides.Apply).
	Rotation *settings.Rotation
	// ConnectionDelay is rotationOverrides.rateLimitResetSeconds.
	ConnectionDelay time.Duration
	// Streak counts errors for rotation thresholds above 1; nil counts none, and
	// every error then reaches its threshold.
	Streak *Streak
	// ProviderDelay is providerQuotaOverrides[].rateLimitCooldownSeconds.
	ProviderDelay time.Duration
	// Rules are the operator's rules for this provider, Default its blanket
	// default (guide §7).
	Rules   []Rule
	Default *Default
	// BannedSignals are further phrases of a closed account.
	BannedSignals []string
	// LockoutMax is modelLockout.maxCooldownMs, the cap of a guessed wait; zero
	// means 30 minutes.
	LockoutMax time.Duration
	// CoolOnStall is streamStallCooldown.enabled.
	CoolOnStall bool
	// Egress lists the providers whose quota belongs to the outgoing address;
	// nil means EgressProviders(""), an empty list none.
	Egress []string
	// LocalWindow is the window that our own counters saw used up, for upstreams
	// that do not name it: "day", "minute" or "".
	LocalWindow string
}

// The figures of the sheet §3.2.
const (
	day = 24 * time.Hour

	// ConcurrencyLimitCooldown is CONCURRENCY_LIMIT_COOLDOWN_MS.
	ConcurrencyLimitCooldown = time.Second
	// RequestRejectedMaxCooldown is REQUEST_REJECTED_MAX_COOLDOWN_MS.
	RequestRejectedMaxCooldown = time.Hour

	defaultLockoutMax  = 30 * time.Minute
	fixedCooldown      = 2 * time.Minute // unauthorized, paymentRequired, notFound, rateLimit
	shortCooldown      = 5 * time.Second // notFoundLocal, transient, requestNotAllowed
	noProfileRateBase  = time.Second
	noProfileCap       = 2 * time.Minute
	noProfileMaxLevel  = 15
	deactivatedFor     = 365 * day
	modelGoneFor       = day
	subscriptionWindow = time.Hour
	weeklyWindow       = day
	sessionWindow      = 5 * time.Hour
	requestRejected    = 5 * time.Minute
)

// facts is an Input read once: everything the steps ask for.
type facts struct {
	Input
	opt      Options
	rotation settings.Rotation

	from      int           // the status before restatement, 0 when unchanged
	retry     time.Duration // what a restated answer tells the client
	provider  string        // lower case
	body      errbody.Body
	shape     errbody.Shape
	text      string // the whole body, lower case
	said      string // what the refusal states, lower case; empty for a page
	own       string // what the provider states in its own error shape
	quotaText bool   // the text speaks of a used-up quota
	code      string // lower case
	typ       string // lower case
	stated    hint.Hint
	rule      *match
	ruled     *outcome.Outcome // what the operator's settings decided
	table     tableRule        // the line of the generic table that fits
	climbed   bool             // the verdict's cooldown is a rung of the connection's ladder
}

// read prepares the facts of one answer and restates its status (guide §7).
func read(in Input) *facts {
	f := &facts{Input: in, provider: strings.ToLower(strings.TrimSpace(in.Provider))}
	if in.Options != nil {
		f.opt = *in.Options
	}
	f.rotation = defaultRotation
	if f.opt.Rotation != nil {
		f.rotation = *f.opt.Rotation
	}
	f.body = errbody.Parse(in.Body)
	f.shape = f.body.Shape()
	f.text, f.said, f.own = f.body.Text(), f.body.Said(), f.body.OwnWords()
	f.quotaText = f.shape != errbody.Page && quotaIn(f.text)
	f.code = strings.ToLower(f.body.Code())
	f.typ = strings.ToLower(f.body.Type())
	f.stated = hint.ParseBody(f.hintInput(), f.body)
	f.restate()
	return f
}

func (f *facts) hintInput() hint.Input {
	return hint.Input{Status: f.Status, Header: f.Header, Now: f.Now, Zone: providerZone(f.provider)}
}

// Response classifies an answer with a status. It is pure but for the Streak in
// the options. A status below 400 that is no success is treated like any other
// status nobody expects.
func Response(in Input) outcome.Outcome {
	if in.Status >= 200 && in.Status < 300 {
		return outcome.Outcome{Class: outcome.Success, Status: in.Status}
	}
	f := read(in)
	return f.finish(f.decide())
}

// NoAnswer classifies what came with a good status, or with a redirect, and is
// no answer of the provider's API: by the shape of its body, of which the
// beginning is enough.
func NoAnswer(in Input) outcome.Outcome {
	if in.Status < 300 {
		in.Status = 200
	}
	f := read(in)
	if in.Status == 200 && f.shape == errbody.Own {
		if s, ok := statedStatus(f.body); ok {
			in.Status = s
			return Response(in)
		}
	}
	if !notAPI(f) {
		return Transport(NotAnAnswer, in)
	}
	o := notAPIRests(f)
	o.Row = rowNotAPI
	return f.finish(o)
}

// finish adds what every verdict carries whichever step made it.
func (f *facts) finish(o outcome.Outcome) outcome.Outcome {
	o.Status = f.Status
	o.RestatedFrom = f.from
	o.ClientRetryAfter = f.retry
	o.ErrorType = f.errorType(o)
	o.Words = f.words(o)
	if o.ErrorType == typeRequestRejected {
		o = f.rejected(o)
	}
	if o.Class != outcome.Failure {
		return o
	}
	if f.Auth == AuthPassthrough {
		o = f.clientsOwn(o)
	}
	o.Terminal = f.terminal(o)
	o = f.knownReset(f.scoped(o))
	o.BreakerKind = kind(f.Status, f.body, f.text, f.quotaText)
	o.SkipBreaker = o.SkipBreaker || f.overloaded()
	return o
}

// clientsOwn takes the parts off a verdict that speak of a credential which is
// the client's and not the connection's: the next client may bring a good one.
func (f *facts) clientsOwn(o outcome.Outcome) outcome.Outcome {
	if o.Permanent || o.CreditsExhausted {
		o.Permanent, o.CreditsExhausted = false, false
		o.Cooldown = min(o.Cooldown, f.base())
	}
	return o
}

// oauth reports whether the provider is of the oauth category.
func (f *facts) oauth() bool {
	switch f.Auth {
	case AuthOAuth, AuthCookie, AuthNone:
		return true
	case AuthKey:
		return false
	}
	return f.Profile.Name == settings.OAuth
}

// local reports whether the upstream runs on this machine or beside it.
func (f *facts) local() bool { return f.LocalURL || f.Profile.Name == settings.Local }

// hinted returns the upstream's hint when the profile lets it count.
func (f *facts) hinted() (hint.Hint, bool) {
	return f.stated, f.stated.Stated && f.Profile.UseUpstreamRetryHints
}

// has reports whether the refusal states one of the phrases.
func (f *facts) has(phrases []string) bool {
	return containsAny(f.said, phrases)
}

// wordsOfPage stand for a page's own, which say nothing (ruling 56).
const wordsOfPage = "a web page came instead of an answer"

// words returns the refusal's own words for people.
func (f *facts) words(o outcome.Outcome) string {
	switch {
	case f.shape == errbody.Page, o.Reason == outcome.ReasonNotAPI && f.shape != errbody.Empty:
		return wordsOfPage
	case f.shape == errbody.Foreign, f.shape == errbody.Broken:
		return ""
	}
	return outcome.CleanWords(f.body.Sentence())
}
