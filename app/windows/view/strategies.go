package view

// Strategy returns what a combo's strategy is called and what it does, in a
// word and a sentence.
func Strategy(name string) (word, help string) {
	switch name {
	case "priority":
		return T("In order"), T("Always the first target that can take the request.")
	case "weighted":
		return T("By weight"), T("A draw in which a target with twice the weight comes first twice as often.")
	case "round-robin":
		return T("In turn"), T("Each request begins with the next target.")
	case "context-relay":
		return T("In order, with a summary"), T("In order; before an account is used up, a summary of the session is kept for the next one.")
	case "fill-first":
		return T("Fill the first"), T("The first target until it refuses, then the next.")
	case "p2c":
		return T("Better of two"), T("Two targets are drawn and the one with the better record comes first.")
	case "random":
		return T("At random"), T("A new shuffle for each request.")
	case "strict-random":
		return T("At random, evenly"), T("A shuffled deck: every target comes first once before any comes twice.")
	case "least-used":
		return T("Least used"), T("The target with the fewest requests so far comes first.")
	case "cost-optimized":
		return T("Cheapest"), T("The target with the lowest price for input comes first.")
	case "context-optimized":
		return T("Largest context"), T("The target with the largest known context window comes first.")
	case "cache-optimized":
		return T("Warm caches"), T("The same conversation goes to the same account, so that its prompt cache is used.")
	}
	return accountStrategy(name)
}

// accountStrategy returns the strategies that look at quotas and records.
func accountStrategy(name string) (word, help string) {
	switch name {
	case "reset-aware":
		return T("Quota and reset"), T("Accounts with much quota left and a reset soon come first.")
	case "reset-window":
		return T("Next reset"), T("The account whose window begins anew soonest comes first.")
	case "headroom":
		return T("Most room"), T("The account with the most quota left comes first.")
	case "quota-weighted":
		return T("By quota"), T("A draw in which accounts with more quota left come first more often.")
	case "auto":
		return T("Automatic"), T("Scores every target by quota, health, price and speed, and begins with the best.")
	case "lkgp":
		return T("Last that worked"), T("Begins where the last request was answered.")
	case "fusion":
		return T("Ask several, then judge"), T("Asks all targets at once and lets one of them write the answer from theirs.")
	case "pipeline":
		return T("One after the other"), T("Each step works on the answer of the one before.")
	case "quota-share":
		return T("Shared quota"), T("Divides the quota of one account among several users.")
	}
	return name, ""
}
