package classify

import "testing"

func TestForeignHistory(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"case Q18", 400, `{"error":{"message":"The encrypted content gAAA...pha could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`, true},
		{"case Q18 code null", 400, `{"error":{"message":"The encrypted content gAAA...pha could not be verified.","type":"invalid_request_error","param":null,"code":null}}`, true},
		{"case Q18 the code alone", 400, `{"error":{"message":"Bad request","code":"invalid_encrypted_content"}}`, true},
		{"another organisation", 400, `{"error":{"message":"The encrypted content for item rs_1 could not be verified. Reason: Encrypted content organization_id did not match the target organization."}}`, true},
		{"an item of another account", 404, `{"error":{"message":"Item with id 'rs_68a' not found. Items are not persisted when store is set to false."}}`, true},
		{"a call whose reasoning is missing", 400, `{"error":{"message":"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."}}`, true},
		{"packed by a relay", 500, `{"error":{"message":"upstream: {\"error\":{\"message\":\"Encrypted content could not be decrypted or parsed.\"}}","type":"new_api_error"}}`, true},
		{"in an event", 0, `{"type":"response.failed","response":{"error":{"code":null,"message":"Encrypted content could not be decrypted or parsed."}}}`, true},
		{"case Q19", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}", true},
		{"case Q19 redacted", 400, "{\"error\":{\"message\":\"messages.3.content.1: Invalid `data` in `redacted_thinking` block\"}}", true},
		{"plain words", 400, `Invalid signature in thinking block`, true},
		{"changed blocks", 400, "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", true},
		{"a cycle without thinking", 400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.", true},
		{"no signature", 400, "messages.1.content.0.thinking.signature: Field required", true},

		{"about the account", 401, `{"error":{"message":"Invalid signature in thinking block"}}`, false},
		{"a limit", 429, `{"error":{"code":"invalid_encrypted_content"}}`, false},
		{"another signature", 400, `{"error":{"message":"The request signature is invalid"}}`, false},
		{"an unknown parameter", 400, `{"error":{"message":"Unknown parameter: reasoning.encrypted"}}`, false},
		{"a model without thinking", 400, `{"error":{"message":"thinking is not supported by this model"}}`, false},
		{"a budget", 400, "{\"error\":{\"message\":\"`max_tokens` must be greater than `thinking.budget_tokens`\"}}", false},
		{"a tool result without its call", 400, `{"error":{"message":"messages.2: tool_use ids were found without tool_result blocks"}}`, false},
		{"a missing item of another kind", 404, `{"error":{"message":"Item with id 'msg_1' not found."}}`, false},
		{"nothing", 400, ``, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ForeignHistory(tt.status, []byte(tt.body)); got != tt.want {
				t.Error(got)
			}
		})
	}
}
