package combo

const (
	k128  = 128_000
	k200  = 200_000
	k256  = 256_000
	m1    = 1_000_000
	m1048 = 1_048_576
)

// factRows are list prices in US dollars a million tokens, windows and
// abilities, as the makers published them; the first pattern that fits holds,
// so the narrower ones come first. Prices change: the user's own table wins.
var factRows = []factRow{
	{"claude-*opus-4-[0-1]*", 15, 75, k200, 32_000, Yes, Yes, No, true},
	{"claude-*opus*", 5, 25, k200, 64_000, Yes, Yes, Yes, true},
	{"claude-*sonnet*", 3, 15, k200, 64_000, Yes, Yes, Yes, true},
	{"claude-3-haiku*", 0.25, 1.25, k200, 4096, Yes, Yes, No, false},
	{"claude-3-5-haiku*", 0.8, 4, k200, 8192, Yes, Yes, No, false},
	{"claude-*haiku*", 1, 5, k200, 64_000, Yes, Yes, Yes, true},

	{"gpt-5*-pro*", 15, 120, 400_000, 128_000, Yes, Yes, Yes, true},
	{"gpt-5*-mini*", 0.25, 2, 400_000, 128_000, Yes, Yes, Yes, true},
	{"gpt-5*-nano*", 0.05, 0.4, 400_000, 128_000, Yes, Yes, Yes, true},
	{"gpt-5*", 1.25, 10, 400_000, 128_000, Yes, Yes, Yes, true},
	{"gpt-4.1-mini*", 0.4, 1.6, 1_047_576, 32_768, Yes, Yes, Yes, false},
	{"gpt-4.1-nano*", 0.1, 0.4, 1_047_576, 32_768, Yes, Yes, Yes, false},
	{"gpt-4.1*", 2, 8, 1_047_576, 32_768, Yes, Yes, Yes, false},
	{"gpt-4o-mini*", 0.15, 0.6, k128, 16_384, Yes, Yes, Yes, false},
	{"gpt-4o*", 2.5, 10, k128, 16_384, Yes, Yes, Yes, false},
	{"gpt-4-turbo*", 10, 30, k128, 4096, Yes, Yes, No, false},
	{"gpt-3.5-turbo*", 0.5, 1.5, 16_385, 4096, Yes, No, No, false},
	{"gpt-oss-120b*", 0.15, 0.6, 131_072, 32_768, Yes, No, Yes, true},
	{"gpt-oss-20b*", 0.075, 0.3, 131_072, 32_768, Yes, No, Yes, true},
	{"o1-mini*", 1.1, 4.4, k128, 65_536, No, No, No, true},
	{"o1*", 15, 60, k200, 100_000, Yes, Yes, Yes, true},
	{"o3-mini*", 1.1, 4.4, k200, 100_000, Yes, No, Yes, true},
	{"o3*", 2, 8, k200, 100_000, Yes, Yes, Yes, true},
	{"o4-mini*", 1.1, 4.4, k200, 100_000, Yes, Yes, Yes, true},
	{"codex-mini*", 1.5, 6, k200, 100_000, Yes, Yes, Yes, true},

	{"gemini-*-flash-lite*", 0.1, 0.4, m1048, 65_536, Yes, Yes, Yes, true},
	{"gemini-2.0-flash*", 0.1, 0.4, m1048, 8192, Yes, Yes, Yes, false},
	{"gemini-2.5-flash*", 0.3, 2.5, m1048, 65_536, Yes, Yes, Yes, true},
	{"gemini-*-flash*", 0.5, 3, m1048, 65_536, Yes, Yes, Yes, true},
	{"gemini-2.5-pro*", 1.25, 10, m1048, 65_536, Yes, Yes, Yes, true},
	{"gemini-*-pro*", 2, 12, m1048, 65_536, Yes, Yes, Yes, true},

	{"deepseek-reasoner*", 0.28, 0.42, k128, 64_000, Yes, No, No, true},
	{"deepseek-r1*", 0.55, 2.19, k128, 64_000, No, No, No, true},
	{"deepseek-*", 0.28, 0.42, k128, 8192, Yes, No, Yes, false},
	{"glm-*-flash*", 0, 0, k128, 96_000, Yes, No, Yes, true},
	{"glm-*v", 0.6, 1.8, 64_000, 16_384, Yes, Yes, No, true},
	{"glm-*-air*", 0.2, 1.1, k128, 96_000, Yes, No, Yes, true},
	{"glm-4.[67]*", 0.6, 2.2, k200, 128_000, Yes, No, Yes, true},
	{"glm-5*", 1, 3.2, k200, 128_000, Yes, No, Yes, true},
	{"glm-*", 0.6, 2.2, k128, 96_000, Yes, No, Yes, true},
	{"minimax-m*", 0.3, 1.2, 204_800, 131_072, Yes, No, Yes, true},
	{"kimi-k2*", 0.6, 2.5, 262_144, 32_768, Yes, No, Yes, true},
	{"kimi-*", 0.6, 3, 262_144, 32_768, Yes, Unknown, Yes, true},
	{"qwen3-coder*", 1, 5, 262_144, 65_536, Yes, No, Yes, false},
	{"qwen3-max*", 1.2, 6, 262_144, 65_536, Yes, No, Yes, false},
	{"qwen*-vl*", 0.4, 1.6, 131_072, 32_768, Yes, Yes, Unknown, false},
	{"qwen*", 0.4, 1.2, 131_072, 16_384, Yes, No, Unknown, false},
	{"grok-code-fast*", 0.2, 1.5, k256, 10_000, Yes, No, Yes, true},
	{"grok-4*-fast*", 0.2, 0.5, 2_000_000, 30_000, Yes, Yes, Yes, true},
	{"grok-3-mini*", 0.3, 0.5, 131_072, 131_072, Yes, No, Yes, true},
	{"grok-*", 3, 15, k256, 256_000, Yes, Yes, Yes, true},
	{"codestral*", 0.3, 0.9, k256, 256_000, Yes, No, Yes, false},
	{"devstral-small*", 0.1, 0.3, k128, 128_000, Yes, No, Yes, false},
	{"devstral*", 0.4, 2, k256, 256_000, Yes, No, Yes, false},
	{"mistral-large*", 2, 6, k128, 128_000, Yes, Unknown, Yes, false},
	{"mistral-medium*", 0.4, 2, k128, 128_000, Yes, Yes, Yes, false},
	{"mistral-small*", 0.1, 0.3, k128, 128_000, Yes, Yes, Yes, false},
	{"llama-4-*", 0.2, 0.6, m1, 8192, Yes, Yes, Yes, false},
	{"llama-3.3-70b*", 0.59, 0.79, 131_072, 32_768, Yes, No, Unknown, false},
	{"llama-3.1-8b*", 0.05, 0.08, 131_072, 131_072, Yes, No, Unknown, false},
	{"command-a*", 2.5, 10, k256, 8000, Yes, No, Yes, false},
}
