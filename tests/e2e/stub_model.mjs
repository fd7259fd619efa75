// A model for agents that run offline: answers each request with "ok", and writes what the user said last, a line of JSON
// each, to the file that is named. Speaks Anthropic's messages and OpenAI's chat completions, streamed.

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

const record = process.argv[2];

const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { messages, model, stream } = body === '' ? {} : JSON.parse(body);
    const [path] = request.url.split('?');
    if (!messages || !(path.endsWith('/messages') || path.endsWith('/chat/completions'))) {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":1,"data":[]}');
        return;
    }
    const { content } = messages.findLast(({ role }) => role === 'user');
    const texts = typeof content === 'string' ? [content] : content.map(({ text }) => text);
    appendFileSync(record, `${JSON.stringify(texts)}\n`);
    const events = path.endsWith('/messages') ? anthropic(model) : openai(model);
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.end(stream ? events.map(sse).join('') : '{}');
});

function sse([event, data]) {
    return `${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

function anthropic(model) {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'stub', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage };
    const events = [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
        { type: 'message_stop' },
    ];
    return events.map((data) => [data.type, data]);
}

function openai(model) {
    const chunk = (delta, finish_reason) => [
        '',
        { id: 'stub', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }] },
    ];
    return [chunk({ role: 'assistant', content: 'ok' }, null), chunk({}, 'stop'), ['', '[DONE]']];
}

server.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit());
