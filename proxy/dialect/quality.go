package dialect

// OnlyReasoned reports whether a whole JSON answer says nothing because
// thinking used up nearly all of its tokens (combos sheet §2.4).
func OnlyReasoned(d Dialect, doc []byte) bool {
	if d.AnswerText(doc) != "" || d.CallsTool(doc) {
		return false
	}
	all, thought := d.tokens(doc)
	return all > 0 && thought*10 >= all*9
}
