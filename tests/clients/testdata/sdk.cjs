// One turn through an official JavaScript SDK with its own defaults, so that
// what is tested are its real requests and its real retries. Settings come in
// by the environment; the answer goes out as one line of JSON.
const { createRequire } = require('node:module');
const path = require('node:path');

const { CLIENTS, SDK, BASE, PROMPT, STREAM, TOOL } = process.env;
const load = createRequire(path.join(CLIENTS, 'package.json'));
const fresh = (mod) => mod.default ?? mod;

const parameters = {
  type: 'object',
  properties: { command: { type: 'string' } },
  required: ['command'],
};
const wantTool = TOOL === '1';
const stream = STREAM === '1';

// Each dialect has a class with one method, ask: it makes one call and
// returns the text, and the messages to add when a tool was called.
class Messages {
  constructor() {
    this.client = new (fresh(load('@anthropic-ai/sdk')))({ apiKey: 'local', baseURL: BASE });
  }
  async ask(messages) {
    const request = { model: 'claude-sonnet-4-5', max_tokens: 256, messages };
    if (wantTool) request.tools = [{ name: 'bash', description: 'Runs a command.', input_schema: parameters }];
    const message = stream
      ? await this.client.messages.stream(request).finalMessage()
      : await this.client.messages.create(request);
    const text = message.content.filter((b) => b.type === 'text').map((b) => b.text).join('');
    const call = message.content.find((b) => b.type === 'tool_use');
    if (!call) return { text };
    return {
      text,
      more: [
        { role: 'assistant', content: message.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'hi' }] },
      ],
    };
  }
}

class Chat {
  constructor() {
    this.client = new (fresh(load('openai')))({ apiKey: 'local', baseURL: BASE + '/v1' });
  }
  async ask(messages) {
    const request = { model: 'gpt-5.1', messages };
    if (wantTool) request.tools = [{ type: 'function', function: { name: 'bash', description: 'Runs a command.', parameters } }];
    const completion = stream
      ? await this.client.chat.completions.stream(request).finalChatCompletion()
      : await this.client.chat.completions.create(request);
    const message = completion.choices[0].message;
    const call = message.tool_calls?.[0];
    const text = message.content ?? '';
    if (!call) return { text };
    const { role, content, tool_calls } = message;
    return { text, more: [{ role, content, tool_calls }, { role: 'tool', tool_call_id: call.id, content: 'hi' }] };
  }
}

class Responses {
  constructor() {
    this.client = new (fresh(load('openai')))({ apiKey: 'local', baseURL: BASE + '/v1' });
  }
  async ask(input) {
    const request = { model: 'gpt-5.1', input };
    if (wantTool) request.tools = [{ type: 'function', name: 'bash', description: 'Runs a command.', parameters, strict: false }];
    const response = stream
      ? await this.client.responses.stream(request).finalResponse()
      : await this.client.responses.create(request);
    const text = response.output
      .filter((i) => i.type === 'message')
      .flatMap((i) => i.content.map((c) => c.text ?? ''))
      .join('');
    const call = response.output.find((i) => i.type === 'function_call');
    if (!call) return { text };
    const { type, call_id, name, arguments: args } = call;
    return { text, more: [{ type, call_id, name, arguments: args }, { type: 'function_call_output', call_id, output: 'hi' }] };
  }
}

(async () => {
  const dialect = new { messages: Messages, chat: Chat, responses: Responses }[SDK]();
  const said = [{ role: 'user', content: PROMPT }];
  let text = '';
  let calls = 0;
  for (let step = 0; step < 4; step++) {
    const answer = await dialect.ask(said);
    text += answer.text;
    if (!answer.more) break;
    calls++;
    said.push(...answer.more);
  }
  console.log(JSON.stringify({ text, calls }));
})().catch((err) => {
  console.error(`${err.constructor.name}: ${err.message}`, err.status ?? '', err.cause?.code ?? '');
  process.exitCode = 1;
});
