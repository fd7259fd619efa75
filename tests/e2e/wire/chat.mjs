// OpenAI's chat completions.

import { fresh, result, stream, whole } from './events.mjs';

export const takes = (path) => path.endsWith('/chat/completions');

export function read({ messages, tools }) {
    const parts = (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []));
    const texts = (all) => all.filter(({ type }) => type === 'text').map(({ text }) => text);
    const user = messages.findLastIndex(({ role }) => role === 'user');
    const called = messages.findLastIndex(({ role }) => role === 'tool');
    // What a tool gives besides text is told as if the user had said it, behind the result.
    const answered = called >= 0 && called > messages.findLastIndex(({ tool_calls }) => tool_calls);
    const of = answered ? messages.slice(called).flatMap(({ content }) => parts(content)) : [];
    const images = of.filter(({ type }) => type === 'image_url').map(({ image_url }) => image_url.url);
    const offered = (tools ?? []).map((tool) => ({ name: tool.function?.name ?? tool.name, described: tool }));
    return { texts: texts(parts(messages[user].content)), offered, result: answered ? result(texts(of), images) : null };
}

export function answer({ stream: streams }, call) {
    const id = { id: fresh('message'), created: 1, model: 'stub' };
    const tool_calls = call && [
        { index: 0, id: fresh('call'), type: 'function', function: { name: call.tool, arguments: JSON.stringify(call.given) } },
    ];
    const message = { role: 'assistant', content: call ? null : 'ok', ...(call ? { tool_calls } : {}) };
    const finish_reason = call ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!streams) {
        return whole({ ...id, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage });
    }
    const chunk = (delta, finish_reason) => [
        '',
        { ...id, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], usage },
    ];
    return stream([chunk(message, null), chunk({}, finish_reason), ['', '[DONE]']]);
}
