// A model for agents that run offline, over the wires of Anthropic, OpenAI (chat completions and responses) and Gemini. It
// answers each request with "ok". Where the user's last text says `CALL tool {arguments}` it first calls the tool whose name
// ends so. What arrives is written to the file that is named, a line of JSON each: what the user said last (`texts`), the
// names of the tools on offer (`tools`), what the agent made of the last call's result (`result`), and all of it (`body`).

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
    const heard = wire.read(asked);
    appendFileSync(record, `${JSON.stringify({ ...heard, body })}\n`);
    const { kind, text } = wire.answer(asked, heard.result ? null : wanted(heard), path);
    response.writeHead(200, { 'content-type': kind }).end(text);
});

/** Returns the call that the user's last text asks for, of a tool that is on offer. */
function wanted({ texts, tools }) {
    const [, name, json] = texts.join('\n').match(/CALL (\S+) (\{.*\})/) ?? [];
    const tool = name && tools.find((tool) => tool.endsWith(name));
    // OpenCode quotes what stands on its command line.
    return tool ? { tool, given: JSON.parse(json.replaceAll('\\"', '"')) } : null;
}

server.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit());
