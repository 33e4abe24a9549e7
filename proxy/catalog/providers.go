package catalog

import (
	"breakwater/proxy/dialect"
	"breakwater/resilience/settings"
)

func endpoints(list ...Endpoint) []Endpoint { return list }

func anthropicAt(url string, auth Auth) Endpoint {
	return Endpoint{Dialect: dialect.Anthropic, URL: url, Auth: auth}
}

func chatAt(url string) Endpoint {
	return Endpoint{Dialect: dialect.Chat, URL: url, Auth: Bearer}
}

func responsesAt(url string) Endpoint {
	return Endpoint{Dialect: dialect.Responses, URL: url, Auth: Bearer}
}

var (
	keyOnly  = []CredentialKind{KeyCredential}
	optional = []CredentialKind{NoCredential, KeyCredential}
)

// providers is the catalogue. Facts are those of the settings sheet §7; URLs
// are cut before the dialect's own path.
var providers = []Provider{
	{
		ID: "claude", Name: "Claude subscription", Aliases: []string{"cc"}, Profile: settings.OAuth,
		Endpoints:           endpoints(anthropicAt("https://api.anthropic.com/v1", Bearer)),
		Credentials:         []CredentialKind{PassthroughCredential, TokenCredential, OAuthCredential},
		TokenURL:            "https://api.anthropic.com/v1/oauth/token",
		PassthroughPrefixes: []string{"sk-ant-oat"},
		Models:              []string{"claude-*"}, KeyEnv: "CLAUDE_CODE_OAUTH_TOKEN",
	},
	{
		ID: "anthropic", Name: "Anthropic", Profile: settings.APIKey,
		Endpoints:   endpoints(anthropicAt("https://api.anthropic.com/v1", XAPIKey)),
		Credentials: keyOnly, Models: []string{"claude-*"},
		KeyEnv: "ANTHROPIC_API_KEY", KeyURL: "https://console.anthropic.com/settings/keys",
	},
	{
		ID: "openai", Name: "OpenAI", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.openai.com/v1"), responsesAt("https://api.openai.com/v1")),
		Credentials: keyOnly,
		Models:      []string{"gpt-*", "o1*", "o3*", "o4*", "chatgpt-*", "codex-*"},
		KeyEnv:      "OPENAI_API_KEY", KeyURL: "https://platform.openai.com/api-keys",
	},
	{
		ID: "openrouter", Name: "OpenRouter", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://openrouter.ai/api/v1")),
		Credentials: keyOnly, Models: []string{"*"},
		KeyEnv: "OPENROUTER_API_KEY", KeyURL: "https://openrouter.ai/keys",
	},
	{
		ID: "glm", Name: "GLM (Z.ai coding plan)", Aliases: []string{"zai", "z.ai"}, Profile: settings.APIKey,
		Endpoints: endpoints(
			anthropicAt("https://api.z.ai/api/anthropic/v1", XAPIKey),
			chatAt("https://api.z.ai/api/coding/paas/v4"),
		),
		Credentials: keyOnly, Models: []string{"glm-*"},
		KeyEnv: "ZAI_API_KEY", KeyURL: "https://z.ai/manage-apikey/apikey-list",
	},
	{
		ID: "minimax", Name: "MiniMax", Profile: settings.APIKey,
		Endpoints: endpoints(
			anthropicAt("https://api.minimax.io/anthropic/v1", Bearer),
			chatAt("https://api.minimax.io/v1"),
		),
		Credentials: keyOnly, Models: []string{"minimax-*"}, KeyEnv: "MINIMAX_API_KEY",
	},
	{
		ID: "kimi", Name: "Kimi (Moonshot)", Aliases: []string{"moonshot"}, Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.moonshot.ai/v1")),
		Credentials: keyOnly, Models: []string{"kimi-*", "moonshot-*"}, KeyEnv: "MOONSHOT_API_KEY",
	},
	{
		ID: "kimi-coding", Name: "Kimi for coding", Aliases: []string{"kmca"}, Profile: settings.APIKey,
		Endpoints: endpoints(
			anthropicAt("https://api.kimi.com/coding/v1", XAPIKey),
			chatAt("https://api.kimi.com/coding/v1"),
		),
		Credentials: keyOnly, Models: []string{"kimi-*", "k3*"}, KeyEnv: "KIMI_API_KEY",
	},
	{
		ID: "deepseek", Name: "DeepSeek", Aliases: []string{"ds"}, Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.deepseek.com/v1")),
		Credentials: keyOnly, Models: []string{"deepseek-*"},
		KeyEnv: "DEEPSEEK_API_KEY", KeyURL: "https://platform.deepseek.com/api_keys",
	},
	{
		ID: "gemini", Name: "Gemini", Profile: settings.APIKey, PerModelQuota: true,
		// Ruling 54: the OpenAI dialect of the Gemini API.
		Endpoints:   endpoints(chatAt("https://generativelanguage.googleapis.com/v1beta/openai")),
		Credentials: keyOnly, Models: []string{"gemini-*"},
		KeyEnv: "GEMINI_API_KEY", KeyURL: "https://aistudio.google.com/apikey",
	},
	{
		ID: "groq", Name: "Groq", Profile: settings.APIKey,
		Endpoints: endpoints(
			chatAt("https://api.groq.com/openai/v1"),
			responsesAt("https://api.groq.com/openai/v1"),
		),
		Credentials: keyOnly, Models: []string{"*"},
		KeyEnv: "GROQ_API_KEY", KeyURL: "https://console.groq.com/keys",
	},
	{
		ID: "mistral", Name: "Mistral", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.mistral.ai/v1")),
		Credentials: keyOnly,
		Models:      []string{"mistral-*", "ministral-*", "magistral-*", "codestral-*", "devstral-*", "pixtral-*", "open-mi*"},
		KeyEnv:      "MISTRAL_API_KEY", KeyURL: "https://console.mistral.ai/api-keys",
	},
	{
		ID: "xai", Name: "xAI", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.x.ai/v1"), responsesAt("https://api.x.ai/v1")),
		Credentials: keyOnly, Models: []string{"grok-*"},
		KeyEnv: "XAI_API_KEY", KeyURL: "https://console.x.ai",
	},
	{
		ID: "glm-cn", Name: "GLM (bigmodel.cn)", Aliases: []string{"glmcn"}, Profile: settings.APIKey, PerModelQuota: true,
		Endpoints: endpoints(
			anthropicAt("https://open.bigmodel.cn/api/anthropic/v1", XAPIKey),
			chatAt("https://open.bigmodel.cn/api/coding/paas/v4"),
		),
		Credentials: keyOnly, Models: []string{"glm-*"}, KeyEnv: "BIGMODEL_API_KEY",
	},
	{
		ID: "minimax-cn", Name: "MiniMax (China)", Profile: settings.APIKey,
		Endpoints:   endpoints(anthropicAt("https://api.minimaxi.com/anthropic/v1", Bearer)),
		Credentials: keyOnly, Models: []string{"minimax-*"}, KeyEnv: "MINIMAX_API_KEY",
	},
	{
		ID: "alibaba", Name: "Alibaba Cloud (Qwen)", Aliases: []string{"ali", "qwen-cloud", "qwc"}, Profile: settings.APIKey, PerModelQuota: true,
		Endpoints:   endpoints(chatAt("https://dashscope-intl.aliyuncs.com/compatible-mode/v1")),
		Credentials: keyOnly, Models: []string{"qwen*", "glm-*", "deepseek-*", "kimi-*"}, KeyEnv: "DASHSCOPE_API_KEY",
	},
	{
		ID: "alibaba-cn", Name: "Alibaba Cloud (China)", Aliases: []string{"ali-cn"}, Profile: settings.APIKey, PerModelQuota: true,
		Endpoints:   endpoints(chatAt("https://dashscope.aliyuncs.com/compatible-mode/v1")),
		Credentials: keyOnly, Models: []string{"qwen*", "glm-*", "deepseek-*", "kimi-*"}, KeyEnv: "DASHSCOPE_API_KEY",
	},
	{
		ID: "bailian-coding-plan", Name: "Alibaba coding plan", Aliases: []string{"bcp"}, Profile: settings.APIKey,
		Endpoints:   endpoints(anthropicAt("https://coding-intl.dashscope.aliyuncs.com/apps/anthropic/v1", XAPIKey)),
		Credentials: keyOnly, Models: []string{"qwen*", "glm-*", "kimi-*"}, KeyEnv: "DASHSCOPE_API_KEY",
	},
	{
		ID: "together", Name: "Together AI", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.together.xyz/v1")),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "TOGETHER_API_KEY",
	},
	{
		ID: "fireworks", Name: "Fireworks AI", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.fireworks.ai/inference/v1")),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "FIREWORKS_API_KEY",
	},
	{
		ID: "cerebras", Name: "Cerebras", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.cerebras.ai/v1")),
		Credentials: keyOnly, Models: []string{"zai-glm-*", "gemma-*", "gpt-oss-*", "llama*", "qwen*"}, KeyEnv: "CEREBRAS_API_KEY",
	},
	{
		ID: "nvidia", Name: "NVIDIA NIM", Profile: settings.APIKey, PerModelQuota: true,
		Endpoints:   endpoints(chatAt("https://integrate.api.nvidia.com/v1")),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "NVIDIA_API_KEY",
	},
	{
		ID: "siliconflow", Name: "SiliconFlow", Profile: settings.APIKey,
		Endpoints:   endpoints(chatAt("https://api.siliconflow.com/v1")),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "SILICONFLOW_API_KEY",
	},
	{
		ID: "agentrouter", Name: "AgentRouter", Profile: settings.APIKey, PerModelQuota: true,
		Endpoints:   endpoints(anthropicAt("https://agentrouter.org/v1", XAPIKey)),
		Credentials: keyOnly, Models: []string{"claude-*", "glm-*", "deepseek-*"}, KeyEnv: "AGENTROUTER_API_KEY",
	},
	{
		ID: "opencode-zen", Name: "OpenCode Zen", Profile: settings.APIKey, PerModelQuota: true,
		Endpoints: endpoints(
			anthropicAt("https://opencode.ai/zen/v1", XAPIKey),
			chatAt("https://opencode.ai/zen/v1"),
			responsesAt("https://opencode.ai/zen/v1"),
		),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "OPENCODE_API_KEY",
	},
	{
		ID: "opencode-go", Name: "OpenCode Go", Profile: settings.APIKey,
		Endpoints: endpoints(
			anthropicAt("https://opencode.ai/zen/go/v1", XAPIKey),
			chatAt("https://opencode.ai/zen/go/v1"),
		),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "OPENCODE_API_KEY",
	},
	{
		ID: "codex", Name: "Codex subscription", Aliases: []string{"cx"}, Profile: settings.OAuth, PerModelQuota: true,
		Endpoints:           endpoints(responsesAt("https://chatgpt.com/backend-api/codex")),
		Credentials:         []CredentialKind{PassthroughCredential, OAuthCredential},
		PassthroughPrefixes: []string{"eyJ"},
		Models:              []string{"gpt-*", "codex-*"},
	},
	{
		ID: "ollama-cloud", Name: "Ollama Cloud", Aliases: []string{"ollamacloud"}, Profile: settings.APIKey, PerModelQuota: true,
		Endpoints:   endpoints(chatAt("https://ollama.com/v1")),
		Credentials: keyOnly, Models: []string{"*"}, KeyEnv: "OLLAMA_API_KEY", KeyURL: "https://ollama.com/settings/keys",
	},
	{
		ID: "ollama-local", Name: "Ollama", Aliases: []string{"ollama"}, Profile: settings.Local, PerModelQuota: true,
		Endpoints: endpoints(
			Endpoint{Dialect: dialect.Chat, URL: "http://127.0.0.1:11434/v1", Auth: Bearer},
			Endpoint{Dialect: dialect.Responses, URL: "http://127.0.0.1:11434/v1", Auth: Bearer},
			Endpoint{Dialect: dialect.Anthropic, URL: "http://127.0.0.1:11434/v1", Auth: XAPIKey},
		),
		Credentials: optional, Models: []string{"*"},
	},
	{
		ID: "lm-studio", Name: "LM Studio", Aliases: []string{"lmstudio"}, Profile: settings.Local, PerModelQuota: true,
		Endpoints: endpoints(
			Endpoint{Dialect: dialect.Chat, URL: "http://127.0.0.1:1234/v1", Auth: Bearer},
			Endpoint{Dialect: dialect.Responses, URL: "http://127.0.0.1:1234/v1", Auth: Bearer},
		),
		Credentials: optional, Models: []string{"*"},
	},
	{
		ID: "vllm", Name: "vLLM", Profile: settings.Local, PerModelQuota: true,
		Endpoints: endpoints(
			chatAt("http://127.0.0.1:8000/v1"),
			responsesAt("http://127.0.0.1:8000/v1"),
		),
		Credentials: optional, Models: []string{"*"},
	},
	{
		ID: "llama-cpp", Name: "llama.cpp", Aliases: []string{"llamacpp"}, Profile: settings.Local, PerModelQuota: true,
		Endpoints: endpoints(
			chatAt("http://127.0.0.1:8080/v1"),
			Endpoint{Dialect: dialect.Anthropic, URL: "http://127.0.0.1:8080/v1", Auth: XAPIKey},
		),
		Credentials: optional, Models: []string{"*"},
	},
	{
		// A gateway or a single account: its limits are the connection's.
		ID: "custom", Name: "Custom", Profile: settings.APIKey, Custom: true,
		Endpoints: endpoints(
			Endpoint{Dialect: dialect.Anthropic, Auth: XAPIKey},
			Endpoint{Dialect: dialect.Chat, Auth: Bearer},
			Endpoint{Dialect: dialect.Responses, Auth: Bearer},
		),
		Credentials: []CredentialKind{KeyCredential, NoCredential}, Models: []string{"*"},
	},
	{
		// The demo's provider: the built-in simulator on loopback.
		ID: "demo", Name: "Demo provider", Profile: settings.APIKey, Custom: true, Hidden: true,
		Endpoints: endpoints(
			Endpoint{Dialect: dialect.Anthropic, Auth: XAPIKey},
			Endpoint{Dialect: dialect.Chat, Auth: Bearer},
			Endpoint{Dialect: dialect.Responses, Auth: Bearer},
		),
		Credentials: keyOnly, Models: []string{"*"},
	},
	{
		// The demo's second provider, with the figures of an OAuth account.
		ID: "demo-oauth", Name: "Demo subscription", Profile: settings.OAuth, Custom: true, Hidden: true,
		Endpoints: endpoints(
			Endpoint{Dialect: dialect.Anthropic, Auth: Bearer},
			Endpoint{Dialect: dialect.Chat, Auth: Bearer},
			Endpoint{Dialect: dialect.Responses, Auth: Bearer},
		),
		Credentials: keyOnly, Models: []string{"*"},
	},
}

var byName = func() map[string]Provider {
	m := make(map[string]Provider)
	for _, p := range providers {
		m[p.ID] = p
		for _, a := range p.Aliases {
			m[a] = p
		}
	}
	return m
}()
