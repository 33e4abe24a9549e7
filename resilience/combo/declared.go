package combo

import "slices"

// declared leaves the targets as their owner listed them: priority, fill-first
// and context-relay, and the panel and steps of fusion and pipeline.
func declared(in *Input) []*Target { return slices.Clone(in.Targets) }
