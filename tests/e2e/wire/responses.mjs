// OpenAI's responses.

import { fresh, result, stream } from './events.mjs';

export const takes = (path) => path.endsWith('/responses');

export function read({ input, tools }) {
    const user = input.findLast(({ role }) => role === 'user');
    const last = input.at(-1);
    const answered = last.type?.endsWith('call_output') ?? false;
    const output = answered ? last.output : [];
    const parts = typeof output === 'string' ? [{ type: 'input_text', text: output }] : output;
    const texts = parts.filter(({ type }) => type === 'input_text').map(({ text }) => text);
    const images = parts.filter(({ type }) => type === 'input_image').map(({ image_url }) => image_url);
    // The tools of a server stand in a namespace of their own.
    const named = (name, described) => ({ name, described });
    const offered = (tools ?? []).flatMap((tool) =>
        tool.type === 'namespace'
            ? tool.tools.map((one) => named(`${tool.name}${one.name}`, one))
            : [named(tool.name ?? tool.type, tool)],
    );
    const said = user?.content.filter(({ type }) => type === 'input_text').map(({ text }) => text) ?? [];
    return { texts: said, offered, result: answered ? result(texts, images) : null };
}

export function answer({ tools }, call) {
    const within = (tools ?? []).find(({ type, name }) => type === 'namespace' && call?.tool.startsWith(name));
    const item = call
        ? {
              type: 'function_call',
              id: fresh('item'),
              call_id: fresh('call'),
              name: within ? call.tool.slice(within.name.length) : call.tool,
              ...(within ? { namespace: within.name } : {}),
              arguments: JSON.stringify(call.given),
          }
        : { type: 'message', id: fresh('item'), role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const response = { id: fresh('response'), object: 'response', status: 'completed', output: [item], usage };
    const events = [
        { type: 'response.created', response: { id: response.id } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response },
    ];
    return stream(events.map((data) => [data.type, data]));
}
