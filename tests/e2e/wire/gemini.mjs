// Gemini's generateContent.

import { result, stream, whole } from './events.mjs';

export const takes = (path) => /:(stream)?[gG]enerateContent$/.test(path);

export function read({ contents, tools }) {
    const parts = contents.findLast(({ role }) => role === 'user').parts;
    const responses = parts.filter(({ functionResponse }) => functionResponse).map(({ functionResponse }) => functionResponse);
    const answered = responses.length > 0;
    // Text and images of a result stand within it, or beside it.
    const values = responses.map(({ response }) => JSON.stringify(response));
    const beside = [...responses.flatMap(({ parts }) => parts ?? []), ...parts];
    const texts = parts.filter(({ text }) => text !== undefined).map(({ text }) => text);
    const images = beside.filter(({ inlineData }) => inlineData).map(({ inlineData }) => inlineData.data);
    const functions = (tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);
    const offered = functions.map((tool) => ({ name: tool.name, described: tool }));
    return { texts: answered ? [] : texts, offered, result: answered ? result([...values, ...texts], images) : null };
}

export function answer(asked, call, path) {
    const part = call ? { functionCall: { name: call.tool, args: call.given } } : { text: 'ok' };
    const candidates = [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }];
    const data = { candidates, usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    return path.includes('stream') ? stream([['', data]]) : whole(data);
}
