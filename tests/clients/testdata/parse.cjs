// Reads streams with the vendors' own parsers and prints what they made of
// each, one JSON line a stream. BASE is the proxy, JOBS a list of dialects.
const { createRequire } = require('module');
const load = createRequire(process.env.BREAKWATER_CLIENTS + '/x.js');
const Anthropic = load('@anthropic-ai/sdk');
const OpenAI = load('openai');
const base = process.env.BASE;
const a = new (Anthropic.default || Anthropic)({ apiKey: 'k', baseURL: base, maxRetries: 0 });
const o = new (OpenAI.default || OpenAI)({ apiKey: 'k', baseURL: base + '/v1', maxRetries: 0 });
const messages = [{ role: 'user', content: 'hi' }];
const schema = { type: 'object', properties: { p: { type: 'string' } } };
const read = {
  async anthropic() {
    const m = await a.messages.stream({ model: 'm1', max_tokens: 64, messages, tools: [{ name: 'f', input_schema: schema }] }).finalMessage();
    const tool = m.content.find((b) => b.type === 'tool_use');
    return [m.content.filter((b) => b.type === 'text').map((b) => b.text).join(''), tool ? tool.input.p : '', m.usage.output_tokens];
  },
  async chat() {
    const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }];
    const c = await o.chat.completions.stream({ model: 'm1', messages, tools, stream_options: { include_usage: true } }).finalChatCompletion();
    const m = c.choices[0].message;
    return [m.content || '', m.tool_calls ? JSON.parse(m.tool_calls[0].function.arguments).p : '', c.usage.completion_tokens];
  },
  async responses() {
    const r = await o.responses.stream({ model: 'm1', input: 'hi', tools: [{ type: 'function', name: 'f', parameters: schema, strict: false }] }).finalResponse();
    const call = r.output.find((i) => i.type === 'function_call');
    return [r.output_text, call ? JSON.parse(call.arguments).p : '', r.usage.output_tokens];
  },
};
// The same without streams.
read['anthropic json'] = async () => {
  const m = await a.messages.create({ model: 'm1', max_tokens: 64, messages });
  const tool = m.content.find((b) => b.type === 'tool_use');
  return [m.content.filter((b) => b.type === 'text').map((b) => b.text).join(''), tool ? tool.input.p : '', m.usage.output_tokens];
};
read['chat json'] = async () => {
  const c = await o.chat.completions.create({ model: 'm1', messages });
  const m = c.choices[0].message;
  return [m.content || '', m.tool_calls ? JSON.parse(m.tool_calls[0].function.arguments).p : '', c.usage.completion_tokens];
};
read['responses json'] = async () => {
  const r = await o.responses.create({ model: 'm1', input: 'hi' });
  const call = r.output.find((i) => i.type === 'function_call');
  return [r.output_text, call ? JSON.parse(call.arguments).p : '', r.usage.output_tokens];
};
(async () => {
  for (const dialect of JSON.parse(process.env.JOBS)) {
    let out;
    try { out = await read[dialect](); } catch (e) { out = ['error: ' + e.message, '', 0]; }
    process.stdout.write(JSON.stringify(out) + '\n');
  }
})();
