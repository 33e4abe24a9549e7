package view

// FaultName returns a kind of the demo's faults in words.
func FaultName(kind string) string {
	switch kind {
	case "none", "":
		return T("Healthy")
	case "rate_limit":
		return T("Rate limit (429)")
	case "overloaded":
		return T("Overloaded (529)")
	case "server_error":
		return T("Unavailable (503)")
	case "auth":
		return T("Key refused (401)")
	case "no_credit":
		return T("Out of credit (400)")
	case "reset":
		return T("Connection reset")
	case "stall":
		return T("Stalls without output")
	case "empty":
		return T("Empty answer")
	case "error_event":
		return T("Error inside the stream")
	case "cut":
		return T("Stream cut after output")
	case "slow":
		return T("Slow answer")
	}
	return Reason(kind)
}
