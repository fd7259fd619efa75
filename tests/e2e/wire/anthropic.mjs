// Anthropic's messages.

import { fresh, result, stream, whole } from './events.mjs';

export const takes = (path) => path.endsWith('/messages');

export function read({ messages, tools }) {
    const blocks = (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []));
    const last = blocks(messages.findLast(({ role }) => role === 'user').content);
    const texts = last.filter(({ type }) => type === 'text').map(({ text }) => text);
    const results = last.filter(({ type }) => type === 'tool_result').flatMap(({ content }) => blocks(content));
    const images = results.filter(({ type }) => type === 'image').map(({ source }) => source.data);
    // What a search of tools finds are references to them.
    const of = results.map(({ text, tool_name }) => text ?? tool_name).filter(Boolean);
    const answered = last.some(({ type }) => type === 'tool_result');
    const offered = (tools ?? []).map((tool) => ({ name: tool.name, described: tool }));
    return { texts, offered, result: answered ? result(of, images) : null };
}

export function answer({ model, stream: streams }, call) {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: fresh('message'), type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage };
    const content = call
        ? { type: 'tool_use', id: fresh('call'), name: call.tool, input: {} }
        : { type: 'text', text: '' };
    const delta = call
        ? { type: 'input_json_delta', partial_json: JSON.stringify(call.given) }
        : { type: 'text_delta', text: 'ok' };
    const stop_reason = call ? 'tool_use' : 'end_turn';
    if (!streams) return whole({ ...message, content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn' });
    const events = [
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: content },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason }, usage },
        { type: 'message_stop' },
    ];
    return stream(events.map((data) => [data.type, data]));
}
