package classify

import (
	"strings"

	"breakwater/resilience/hint/errbody"
)

// foreignReasoning are the words, in lower case and without quotes, by which an
// upstream says that it cannot read the reasoning in a conversation (ruling 61,
// cases Q18 and Q19). Relays lose codes and change statuses; the words stay.
var foreignReasoning = join(
	chain(words("encrypted"), "could not be verified", "could not be decrypted", "could not be parsed", "decryption failed"),
	chain(words("encrypted content", "organization"), "did not match", "does not match"),
	chain(words("invalid"), "encrypted_content", "encrypted content"),
	chain(words("failed to"), "decrypt"),
	chain(words("invalid", "signature", "thinking"), "block"),
	chain(words("invalid", "data", "redacted_thinking"), "block"),
	chain(words("thinking"), "cannot be modified", "must remain as they were", "signature: field required", "signature is invalid", "signature is required"),
	chain(words("must start with a"), "thinking block"),
	chain(words("expected thinking or redacted_thinking"), "but found"),
	chain(words("thought"), "signature is not valid", "signature is invalid"),
	chain(words("invalid", "thought"), "signature"),
	chain(words("item", "rs_"), "not found", "was provided without its required"),
	chain(words("without its required"), "reasoning"),
)

// foreignCodes are the codes for the same.
var foreignCodes = words("invalid_encrypted_content", "thinking_signature_invalid", "invalid_signature")

// plainText takes out what vendors and relays quote names with.
var plainText = strings.NewReplacer("`", "", "'", "", `"`, "", "\\", "", "‘", "", "’", "")

// RowForeign is the name of the judgement on a refusal that names reasoning of
// another account and was not mended: no opinion is asked about it (ruling 55 b).
const RowForeign = "foreign-history"

// ForeignHistory reports whether an error with this status names reasoning that
// another account made, and that the upstream therefore cannot read. Status 0 is
// that of an error event in a stream.
func ForeignHistory(status int, body []byte) bool {
	switch {
	case status == 401, status == 402, status == 429, status != 0 && status < 400:
		return false // about the account, whatever else it says
	}
	b := errbody.Parse(body)
	text := strings.ToLower(b.Text())
	for _, code := range foreignCodes {
		if strings.Contains(text, code) {
			return true
		}
	}
	text = plainText.Replace(text)
	for _, s := range foreignReasoning {
		if s.in(text) {
			return true
		}
	}
	return false
}
