package dialect

// DeltaKind says what an event adds to an answer.
type DeltaKind uint8

// The kinds.
const (
	NoDelta        DeltaKind = iota
	TextDelta                // text for the user
	ReasoningDelta           // thinking is under way
	ToolDelta                // a tool call is under way
	ItemEnd                  // what was under way is over
)
