// A model for agents that run offline, over the wires of Anthropic, OpenAI (chat completions and responses) and Gemini. It
// answers each request with "ok". Where the user's last text says `CALL tool {arguments}` it first calls the tool whose name
// ends so; with `THEN tool {arguments}` it calls another one after that, in which `%name%` becomes the text that stands under
// that name in the result. What arrives is written to the file that is named, a line of JSON each: what the user said last
// (`texts`), the names of the tools on offer (`tools`) with the bytes that each is described in (`bytes`), what the agent made
// of the last call's result (`result`), and all of it (`body`).

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import * as anthropic from './wire/anthropic.mjs';
import * as chat from './wire/chat.mjs';
import * as gemini from './wire/gemini.mjs';
import * as responses from './wire/responses.mjs';

const record = process.argv[2];
const WIRES = [anthropic, chat, responses, gemini];

const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces).toString();
    const [path] = request.url.split('?');
    const wire = request.method === 'POST' && WIRES.find(({ takes }) => takes(path));
    if (!wire) {
        const nothing = { input_tokens: 1, totalTokens: 1, data: [], models: [] };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(nothing));
        return;
    }
    const asked = JSON.parse(body);
    const { offered, ...heard } = wire.read(asked);
    const tools = offered.map(({ name }) => name);
    const bytes = offered.map((tool) => Buffer.byteLength(JSON.stringify(tool.described)));
    appendFileSync(record, `${JSON.stringify({ ...heard, tools, bytes, body })}\n`);
    const { kind, text } = wire.answer(asked, wanted(heard, tools), path);
    response.writeHead(200, { 'content-type': kind }).end(text);
});

/** The calls that follow the one that was made: agents run one at a time, and say only what came of the last. */
let following = [];

/** Returns the call that is to be made, of a tool that is on offer. */
function wanted({ texts, result }, tools) {
    const said = texts.join('\n').match(/CALL (.*\})/)?.[1];
    // Agents ask for a title of the session too, and offer no tools then.
    if (tools.length === 0 || (!result && !said)) return null;
    if (!result) following = said.split(' THEN ');
    const [, name, json] = following.shift()?.match(/(\S+) (\{.*\})/) ?? [];
    const tool = name && tools.find((tool) => tool.endsWith(name));
    if (!tool) return null;
    const filled = json.replaceAll(/%(\w+)%/g, (_, field) => result?.text.match(`"${field}\\\\*": ?\\\\*"([^"\\\\]+)`)?.[1]);
    // OpenCode quotes what stands on its command line.
    return { tool, given: JSON.parse(filled.replaceAll('\\"', '"')) };
}

server.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit());
