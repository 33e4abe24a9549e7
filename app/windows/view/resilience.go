package view

// seconds is a knob that is kept in milliseconds.
func seconds(path string, lo, hi int64) Knob {
	return Knob{Path: path, Unit: T("s"), Scale: 1000, Lo: lo, Hi: hi}
}

// count is a knob that is a plain number.
func count(path string, lo, hi int64) Knob { return Knob{Path: path, Lo: lo, Hi: hi} }

func onOff(path string) Knob { return Knob{Path: path, Kind: KnobSwitch} }

// classes repeats a knob for the two classes of connections.
func classes(section string, make func(at string) Knob) []Knob {
	return []Knob{make(section + ".oauth."), make(section + ".apikey.")}
}

func classNames() []string { return []string{T("Subscriptions"), T("API keys")} }

const secondsPerDay = 86_400

// ResilienceCards returns the cards of the resilience settings in their order
// (settings sheet §6.2), with the bounds that a change may have.
func ResilienceCards() []KnobCard {
	return []KnobCard{cooldownCard(), breakerCard(), waitCard(), gateCard(), stallCard()}
}

func cooldownCard() KnobCard {
	const at = "connectionCooldown"
	return KnobCard{
		Key: at, Title: T("Connection cooldown"),
		About:   T("One connection. After a failure that will pass, it rests for the base time; each further one doubles the rest. The other connections serve meanwhile."),
		Columns: classNames(),
		Rows: []KnobRow{
			{Label: T("Base"), Note: T("The first rest."), Knobs: classes(at, func(c string) Knob { return seconds(c+"baseCooldownMs", 0, secondsPerDay) })},
			{Label: T("Backoff steps"), Note: T("How often the rest may double."), Knobs: classes(at, func(c string) Knob { return count(c+"maxBackoffSteps", 0, 32) })},
			{Label: T("Follow the provider's hints"), Note: T("Retry-After and the like replace the rest."), Knobs: classes(at, func(c string) Knob { return onOff(c + "useUpstreamRetryHints") })},
			{Label: T("429 counts for the breaker"), Note: T("Automatic leaves it to the provider. A change closes every breaker."), Knobs: classes(at, func(c string) Knob {
				return Knob{Path: c + "useUpstream429BreakerHints", Kind: KnobTri}
			})},
		},
	}
}

func breakerCard() KnobCard {
	const at = "providerBreaker"
	card := KnobCard{
		Key: at, Title: T("Provider breaker"),
		About:   T("A whole provider. When it keeps failing, the breaker opens and no request goes there; after a while one probe decides whether it closes."),
		Columns: classNames(),
		Rows: []KnobRow{
			{Label: T("Watched closely from"), Note: T("Failures; requests still go there."), Knobs: classes(at, func(c string) Knob { return count(c+"degradationThreshold", 1, 1000) })},
			{Label: T("Opens at"), Note: T("Failures."), Knobs: classes(at, func(c string) Knob { return count(c+"failureThreshold", 1, 1000) })},
			{Label: T("Probe after"), Knobs: classes(at, func(c string) Knob { return seconds(c+"resetTimeoutMs", 1, secondsPerDay) })},
		},
	}
	for _, c := range []string{".oauth.", ".apikey."} {
		card.pairs = append(card.pairs, knobPair{at + c + "degradationThreshold", at + c + "failureThreshold", true, T("Less than where it opens.")})
	}
	return card
}

func waitCard() KnobCard {
	const at = "waitForCooldown."
	return KnobCard{
		Key: "waitForCooldown", Title: T("Wait for a cooldown"),
		About: T("One request. When everything that could serve it is cooling and the first is back soon, it waits instead of failing."),
		Rows: []KnobRow{
			{Label: T("Wait"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("Longest wait"), Note: T("0 switches the waiting off."), Knobs: []Knob{{Path: at + "maxRetryWaitSec", Unit: T("s"), Hi: 300}}},
			{Label: T("Waits per request"), Note: T("0 switches the waiting off."), Knobs: []Knob{count(at+"maxRetries", 0, 10)}},
		},
	}
}

func gateCard() KnobCard {
	const at = "providerCooldown."
	return KnobCard{
		Key: "providerCooldown", Title: T("Provider cooldown"),
		About: T("A whole provider, besides its breaker. After many failures within a window it is left out until the window has calmed down."),
		Rows: []KnobRow{
			{Label: T("Leave it out"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("At least"), Knobs: []Knob{seconds(at+"minRetryCooldownMs", 0, 300)}},
			{Label: T("At most"), Knobs: []Knob{seconds(at+"maxRetryCooldownMs", 0, 3600)}},
		},
		pairs: []knobPair{{at + "minRetryCooldownMs", at + "maxRetryCooldownMs", false, T("Not more than the longest.")}},
	}
}

func stallCard() KnobCard {
	return KnobCard{
		Key: "streamStallCooldown", Title: T("Stalled streams"),
		About: T("One connection. When an answer stops in the middle, the connection rests as after any other failure."),
		Rows:  []KnobRow{{Label: T("Rest after a stall"), Knobs: []Knob{onOff("streamStallCooldown.enabled")}}},
	}
}

// LockoutCard returns the card of the model lockout, which has a place of its
// own in the settings.
func LockoutCard() KnobCard {
	const at = "modelLockout."
	return KnobCard{
		Key: "modelLockout", Title: T("Model lockout"),
		About: T("One model of one connection. When it answers with a listed status, only that model is left out; the connection's other models serve."),
		Rows: []KnobRow{
			{Label: T("Lock models"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("Statuses"), Note: T("Separated by commas."), Knobs: []Knob{{Path: at + "errorCodes", Kind: KnobCodes}}},
			{Label: T("Base"), Note: T("The first lockout."), Knobs: []Knob{seconds(at+"baseCooldownMs", 5, 600)}},
			{Label: T("At most"), Knobs: []Knob{seconds(at+"maxCooldownMs", 5, 3600)}},
			{Label: T("Double each time"), Knobs: []Knob{onOff(at + "useExponentialBackoff")}},
			{Label: T("Backoff steps"), Note: T("How often the lockout may double."), Knobs: []Knob{count(at+"maxBackoffSteps", 0, 20)}},
		},
		pairs: []knobPair{{at + "baseCooldownMs", at + "maxCooldownMs", false, T("Not more than the longest.")}},
	}
}
