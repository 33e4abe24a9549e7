package claude

import "time"

// Do is what the caller of a Claim does next.
type Do uint8

// The steps: make Step.Call and feed its reply, or stop.
const (
	AskStatus Do = iota
	AskOrganization
	PostClaim
	Done
)

// Step is the next step of an attempt at the limit reset.
type Step struct {
	Do   Do
	Call SideCall // of every step but Done

	Outcome Outcome   // of Done
	Next    time.Time // of Done: when the next attempt may ask, zero: now
}

// Granted reports that the request may be repeated at full speed.
func (s Step) Granted() bool { return s.Do == Done && s.Outcome.Granted() }

// Claim is one attempt at the limit reset (Claude sheet §2.4). It belongs to
// one goroutine; the caller makes one attempt a key at a time and shares its
// end with those that ask meanwhile.
type Claim struct {
	resets       *Resets
	key          Key
	organization string
	step         Step
	tide         Tide
	claim        ClaimAnswer
}

// Begin prepares an attempt. organization is what the settings, the token's
// answer or a response header say, the first that says anything; empty asks
// bootstrap.
func (s *Resets) Begin(k Key, organization string) *Claim {
	return &Claim{resets: s, key: k, organization: organization, claim: ClaimAnswer{ResetsLeft: -1}}
}

// Start returns the first step; from memory that may be the end.
func (c *Claim) Start(now time.Time) Step {
	if c.fromMemory(now) {
		return c.step
	}
	c.step = Step{Do: AskStatus, Call: statusCall()}
	return c.step
}

// Feed takes the reply to the present step's call and returns the next step.
func (c *Claim) Feed(now time.Time, r Reply) Step {
	switch c.step.Do {
	case AskStatus:
		c.status(now, r)
	case AskOrganization:
		c.bootstrap(now, r)
	case PostClaim:
		c.answer(now, r)
	case Done:
	}
	return c.step
}

func (c *Claim) status(now time.Time, r Reply) {
	var ok bool
	if r.good() {
		c.tide, ok = ParseStatus(r.Body)
	}
	if c.organization == "" {
		c.organization = c.resets.learned(c.key)
	}
	switch {
	case !ok:
		c.done(now, OutcomeNoStatus)
	case !c.tide.Offered():
		c.done(now, OutcomeNotOffered)
	case c.organization == "":
		c.step = Step{Do: AskOrganization, Call: bootstrapCall()}
	default:
		c.post(now)
	}
}

func (c *Claim) bootstrap(now time.Time, r Reply) {
	if r.good() {
		c.organization = ParseOrganization(r.Body)
	}
	if usable(c.organization) {
		c.resets.learn(c.key, c.organization)
	}
	c.post(now)
}

// post asks for the claim, unless another attempt has had an answer meanwhile:
// the reset is worth one call a week.
func (c *Claim) post(now time.Time) {
	switch {
	case !usable(c.organization):
		c.done(now, OutcomeNoOrganization)
	case c.fromMemory(now):
	default:
		c.step = Step{Do: PostClaim, Call: claimCall(c.organization)}
	}
}

func (c *Claim) answer(now time.Time, r Reply) {
	o := OutcomeError
	switch {
	case r.good():
		c.claim = ParseClaim(r.Body)
		o = c.claim.Outcome
	case r.Failed:
	case r.Status == statusLimited:
		o = OutcomeRateLimited
	case r.Status == 401 || r.Status == 403:
		o = OutcomeAuthError
	}
	c.done(now, o)
}

func (c *Claim) done(now time.Time, o Outcome) {
	c.step = Step{Do: Done, Outcome: o, Next: c.resets.remember(now, c, o)}
}

func (c *Claim) fromMemory(now time.Time) bool {
	o, next, ok := c.resets.remembered(now, c.key)
	if ok {
		c.step = Step{Do: Done, Outcome: o, Next: next}
	}
	return ok
}
