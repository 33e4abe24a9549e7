package view

// seconds is a knob that is kept in milliseconds.
func seconds(path string, lo, hi int64) Knob {
	return Knob{Path: path, Unit: T("s"), Scale: 1000, Lo: lo, Hi: hi}
}

// fine is a knob that is kept in milliseconds and cannot be nothing.
func fine(path string, hi int64) Knob {
	k := seconds(path, 0, hi)
	k.Least = 0.001
	return k
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
	return []KnobCard{
		cooldownCard(), breakerCard(), waitCard(), comboWaitCard(), queueCard(), gateCard(), preflightCard(), shareCard(),
		stallCard(), recoveryCard(), throughputCard(), fallbackCard(), failoverCard(), latencyCard(), healthCard(), refreshCard(),
	}
}

func queueCard() KnobCard {
	const at = "requestQueue."
	return KnobCard{
		Key: "requestQueue", Title: T("Request queue"),
		About: T("One connection. Requests above its limits wait for their turn instead of drawing a 429; what waits too long goes to the next connection."),
		Rows: []KnobRow{
			{Label: T("Queue every API key"), Note: T("Off, a connection is queued only where you ask for it."), Knobs: []Knob{onOff(at + "autoEnableApiKeyProviders")}},
			{Label: T("Requests per minute"), Note: T("0 does not limit them."), Knobs: []Knob{count(at+"requestsPerMinute", 0, 1_000_000)}},
			{Label: T("Time between requests"), Note: T("At least; 0 sends at once."), Knobs: []Knob{seconds(at+"minTimeBetweenRequestsMs", 0, 3600)}},
			{Label: T("Requests at a time"), Note: T("For each connection; 0 does not limit them."), Knobs: []Knob{count(at+"concurrentRequests", 0, 10_000)}},
			{Label: T("Requests at a time, in all"), Note: T("Over all connections; 0 does not limit them."), Knobs: []Knob{count(at+"globalConcurrentRequests", 0, 100_000)}},
			{Label: T("Places in the queue"), Note: T("0 does not limit them."), Knobs: []Knob{count(at+"maxQueueDepth", 0, 100_000)}},
			{Label: T("Longest wait for a turn"), Knobs: []Knob{fine(at+"maxWaitMs", secondsPerDay)}},
			{Label: T("Longest answer"), Note: T("After it the turn is given back; the stream itself goes on."), Knobs: []Knob{fine(at+"executionMaxWaitMs", secondsPerDay)}},
		},
	}
}

func comboWaitCard() KnobCard {
	const at = "comboCooldownWait."
	return KnobCard{
		Key: "comboCooldownWait", Title: T("Wait within a combo"),
		About: T("One request to a combo. When all its targets are cooling and the first is back soon, it waits for that one. A combo may opt out."),
		Rows: []KnobRow{
			{Label: T("Wait"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("Longest wait"), Note: T("0 switches the waiting off."), Knobs: []Knob{seconds(at+"maxWaitMs", 0, 300)}},
			{Label: T("Waits per request"), Note: T("0 switches the waiting off."), Knobs: []Knob{count(at+"maxAttempts", 0, 10)}},
			{Label: T("All waits together"), Knobs: []Knob{seconds(at+"budgetMs", 0, 300)}},
		},
	}
}

func preflightCard() KnobCard {
	const at = "quotaPreflight."
	return KnobCard{
		Key: "quotaPreflight", Title: T("Quota cut-off"),
		About: T("One connection with known quota windows. When little is left of one, the connection is passed over before it is refused, and is back when the window begins anew."),
		Rows: []KnobRow{
			{Label: T("Pass it over"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("When less is left than"), Knobs: []Knob{{Path: at + "defaultThresholdPercent", Unit: "%", Hi: 99}}},
			{Label: T("Warn from"), Note: T("Always above the cut-off."), Knobs: []Knob{{Path: at + "warnThresholdPercent", Unit: "%", Hi: 100}}},
		},
	}
}

func recoveryCard() KnobCard {
	const at = "streamRecovery."
	return KnobCard{
		Key: "streamRecovery", Title: T("Broken streams"),
		About: T("One answer. When a stream breaks, Breakwater asks again on its own. Off, your agent sees the break and asks again itself."),
		Rows: []KnobRow{
			{Label: T("Ask again before the first words"), Note: T("The answer is held back for up to 0.75 s to make that possible."), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("Go on in the middle"), Note: T("Another answer continues the broken one. It may repeat or contradict a few words."), Knobs: []Knob{onOff(at + "continueMidStream")}},
		},
	}
}

func throughputCard() KnobCard {
	const at = "streamRecovery.throughputWatchdog."
	return KnobCard{
		Key: "throughputWatchdog", Title: T("Streams that trickle"),
		About: T("One answer. A stream that sends less than this for too long is given up like one that has stopped."),
		Rows: []KnobRow{
			{Label: T("Give it up"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("Not before"), Knobs: []Knob{seconds(at+"warmupMs", 0, 600)}},
			{Label: T("Measured over"), Knobs: []Knob{seconds(at+"windowMs", 1, 600)}},
			{Label: T("Least text per second"), Knobs: []Knob{{Path: at + "minUsefulBytesPerSecond", Unit: T("bytes"), Lo: 1, Hi: 1_000_000}}},
			{Label: T("Least text in a window"), Knobs: []Knob{{Path: at + "minUsefulBytes", Unit: T("bytes"), Lo: 1, Hi: 1_000_000}}},
		},
	}
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
