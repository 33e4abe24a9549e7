package classify

import "testing"

func TestOnBadRequest(t *testing.T) {
	body := func(message string) []byte { return []byte(`{"error":{"message":"` + message + `"}}`) }
	for _, tt := range []struct {
		name string
		body []byte
		want Advance
	}{
		{"combos case 90 malformed", body("Invalid message format: malformed content"), StopHere},
		{"combos case 91 not supported", body("model X is not supported"), AdvanceModel},
		{"combos case 91 wrapped", body("Bad Request: The model is not supported"), AdvanceModel},
		{"combos case 91 another API", body("this one does not support Responses API"), AdvanceModel},
		{"combos case 92 range", body("max_tokens must be in range"), AdvanceParameter},
		{"combos case 92 illegal", body("parameter is illegal"), AdvanceParameter},
		{"combos case 93 input", body("your input exceeds the limit"), AdvanceLarger},
		{"combos case 94 code", body("context_length_exceeded"), AdvanceLarger},
		{"combos case 95 none of the three", body("Invalid JSON: unexpected token at position 12"), StopHere},
		{"a context window", body("This exceeds the maximum context of the deployment"), AdvanceLarger},
		{"a word within a word", body("tokens are fine"), AdvanceOther},
		{"nobody knows", body("Bad Request"), AdvanceOther},
		{"nothing said", nil, AdvanceOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := OnBadRequest(tt.body); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
