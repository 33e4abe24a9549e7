package view

func shareCard() KnobCard {
	return KnobCard{
		Key: "quotaShareConcurrencyLimit", Title: T("Shared quotas"),
		About: T("Connections that share one quota, such as two keys of one account. Their requests count together against what may run at a time."),
		Rows:  []KnobRow{{Label: T("Count them together"), Knobs: []Knob{onOff("quotaShareConcurrencyLimit.enabled")}}},
	}
}

func latencyCard() KnobCard {
	return KnobCard{
		Key: "p2cLatency", Title: T("Latency in the fair draw"),
		About: T("Combos that draw between two targets (p2c). The higher the weight, the more a slow target loses against a quick one."),
		Rows:  []KnobRow{{Label: T("Weight"), Note: T("0 leaves latency out."), Knobs: []Knob{count("p2cLatency.weight", 0, 20)}}},
	}
}

func healthCard() KnobCard {
	return KnobCard{
		Key: "credentialHealthCheck", Title: T("Credential check"),
		About: T("Every connection with a stored login. It is refreshed and tested in the background, one at a time, so that an expired one is known before a request meets it. Keys are not tested."),
		Rows: []KnobRow{{
			Label: T("Look every"), Note: T("0 never looks."),
			Knobs: []Knob{{Path: "credentialHealthCheck.intervalMinutes", Unit: T("min"), Hi: 1440}},
		}},
	}
}

func refreshCard() KnobCard {
	const at = "tokenRefreshBreaker."
	return KnobCard{
		Key: "tokenRefreshBreaker", Title: T("Login refresh"),
		About: T("Stored logins. When refreshing them fails this often in a row, none is refreshed for a while; then one tries first. Logins that still work are used meanwhile."),
		Rows: []KnobRow{
			{Label: T("Failures are counted for"), Knobs: []Knob{{
				Path: at + "scope", Kind: KnobChoice, Options: []Option{{ID: "provider", Word: T("The provider")}, {ID: "connection", Word: T("Each connection")}},
			}}},
			{Label: T("Stops at"), Note: T("Failures in a row."), Knobs: []Knob{count(at+"failureThreshold", 1, 100)}},
			{Label: T("Rests for"), Note: T("Testing a connection tries at once."), Knobs: []Knob{seconds(at+"cooldownMs", 60, secondsPerDay)}},
		},
	}
}

func fallbackCard() KnobCard {
	const at = "emergencyFallback."
	return KnobCard{
		Key: "emergencyFallback", Title: T("Emergency fallback"),
		About: T("A request for a single model. When the account is out of money, a free model answers in its place, if you have a connection to its provider."),
		Rows: []KnobRow{
			{Label: T("Fall back"), Knobs: []Knob{onOff(at + "enabled")}},
			{Label: T("To this model"), Note: T("As provider/model."), Knobs: []Knob{{Path: at + "model", Kind: KnobModel}}},
			{Label: T("Longest answer"), Knobs: []Knob{{Path: at + "maxOutputTokens", Unit: T("tokens"), Lo: 1, Hi: 1_000_000}}},
		},
	}
}

func failoverCard() KnobCard {
	const at = "failover."
	return KnobCard{
		Key: "failover", Title: T("Failover"),
		About: T("What happens when a target did not answer."),
		Rows: []KnobRow{
			{Label: T("Second opinion"), Note: T("Asks one other target about a refusal (400) that Breakwater does not know. Default: on."), Knobs: []Knob{onOff(at + "secondOpinion")}},
			{Label: T("Final errors"), Note: T("When only you can fix every connection, the agent gets the reason at once and is not asked to retry. Default: on."), Knobs: []Knob{onOff(at + "finalErrors")}},
			{Label: T("Leave slow targets"), Note: T("A streamed request goes to the next target when a cloud provider sends no headers in time; the slow one is asked last for 2 to 16 minutes. Default: on."), Knobs: []Knob{onOff(at + "slowDemotion")}},
			{Label: T("Time to first byte"), Note: T("Default 100 s, 1–300 s. Claude subscriptions get 240 s, local servers 600 s, and long prompts more."), Knobs: []Knob{seconds(at+"firstByteMs", 1, 300)}},
			{Label: T("Move conversations"), Note: T("Reasoning that another account made, and that this one refuses, is left out of a request. Default: on."), Knobs: []Knob{onOff(at + "moveHistory")}},
			{Label: T("Move compacted conversations"), Note: T("A conversation with encrypted compaction may go to an account that did not make it. Default: off."), Knobs: []Knob{onOff(at + "moveCompacted")}},
		},
	}
}

// SessionsCard returns the card of what keeps a conversation on one target. Its
// values are the product's own settings, not those of the resilience tree.
func SessionsCard() KnobCard {
	return KnobCard{
		Key: "sessions", Title: T("Conversations"),
		About: T("One conversation of an agent. Staying with the account that answered first keeps the provider's prompt cache warm, which is quicker and cheaper."),
		Rows: []KnobRow{
			{Label: T("Stay with the account for"), Note: T("After the last request; 0 does not keep it."), Knobs: []Knob{seconds("sessionAffinityTtlMs", 0, secondsPerDay)}},
			{Label: T("Combos ignore conversations"), Note: T("Each request is planned anew."), Knobs: []Knob{onOff("disableSessionStickiness")}},
			{Label: T("Successes in a row, combos"), Note: T("That stay on one target of a round robin; 0 leaves it to the accounts."), Knobs: []Knob{count("comboStickyRoundRobinLimit", 0, 1000)}},
			{Label: T("Successes in a row, accounts"), Note: T("The same between accounts; 0 takes turns."), Knobs: []Knob{count("stickyRoundRobinLimit", 0, 1000)}},
			{Label: T("Successes in a row, weighted"), Note: T("The same for weighted combos."), Knobs: []Knob{count("stickyWeightedLimit", 0, 1000)}},
			{Label: T("Ask targets that seem unfit"), Note: T("When the table of models rules every target out, ask them all the same."), Knobs: []Knob{onOff("compatFilterFailOpen")}},
		},
	}
}
