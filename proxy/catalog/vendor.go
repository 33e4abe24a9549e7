package catalog

import "slices"

// vendors names those that several providers lead to.
var vendors = map[string]string{
	"claude": "anthropic", "codex": "openai", "glm-cn": "glm", "minimax-cn": "minimax", "kimi-coding": "kimi", "alibaba-cn": "alibaba",
	"bailian-coding-plan": "alibaba",
}

// Vendor names whose models the provider serves: reasoning of one vendor's models
// is of no use to another's (ruling 61). It is empty for gateways, local servers
// and custom addresses, behind which may be any.
func (p Provider) Vendor() string {
	if p.Custom || slices.Contains(p.Models, "*") || p.ID == "agentrouter" {
		return ""
	}
	if v, ok := vendors[p.ID]; ok {
		return v
	}
	return p.ID
}
