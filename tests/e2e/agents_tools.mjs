// What reaches the model of an agent that has mcpkg as its MCP server: `node agents_tools.mjs AGENT`. The stub model calls
// read_resource for an image and for a text, over stdio and over HTTP; beside each check stands what the result cost.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { asked, configure, largest, run, words } from './agent.mjs';
import { checks, holds } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch } = process.env;
const agent = process.argv[2];
const project = join(scratch, `${agent}-tools`);
const database = join(scratch, `${agent}-tools.db`);
const check = checks(agent);

/** Bytes of the image, and characters of the text: what an agent met when the image was sent twice. */
const IMAGE = 97_573;
const TEXT = 8_278;

function shell(...given) {
    return execFileSync(mcpkg, ['--db', database, '--quiet', ...given], { cwd: project, encoding: 'utf8' });
}

/** Returns a PNG of one grey pixel, and a chunk that makes it as large as a screenshot. */
function image() {
    const chunk = (kind, data) => {
        const body = Buffer.concat([Buffer.from(kind), data]);
        const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
        length.writeUInt32BE(data.length);
        sum.writeUInt32BE(crc32(body));
        return Buffer.concat([length, body, sum]);
    };
    const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    const whole = (rest) =>
        Buffer.concat([
            Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
            chunk('IHDR', head),
            chunk('IDAT', deflateSync(Buffer.from([0, 128]))),
            chunk('raNd', Buffer.alloc(rest, 7)),
            chunk('IEND', Buffer.alloc(0)),
        ]);
    return whole(IMAGE - whole(0).length);
}

/** Starts mcpkg over HTTP; returns its address and what ends it. */
async function serve() {
    const given = ['--db', database, '--json', 'serve', '--http', '--port', '0'];
    const server = spawn(mcpkg, given, { cwd: project, stdio: ['ignore', 'pipe', 'ignore'] });
    const line = await new Promise((resolve) => server.stdout.once('data', resolve));
    const { address } = JSON.parse(line);
    return { url: `http://${address}/mcp`, end: () => server.kill() };
}

/** Asks the agent to call read_resource; returns what the model is offered and what it is given. */
async function read(uri) {
    const requests = await asked(agent, words(agent, `CALL read_resource ${JSON.stringify({ uri })}`), project);
    const { tools } = requests.find(({ tools }) => tools.length > 0) ?? { tools: [] };
    const given = requests.find(({ result }) => result)?.result;
    return { tools: tools.filter((name) => /mcpkg/.test(name)), given };
}


mkdirSync(project, { recursive: true });
writeFileSync(join(scratch, 'image.png'), image());
writeFileSync(join(scratch, 'doc.txt'), 'A line of a document that an agent reads.\n'.repeat(999).slice(0, TEXT));
shell('project', 'create', 'e2e');
shell('resource', 'create', 'image', 'file:///image.png', `@${join(scratch, 'image.png')}`, '--mime-type', 'image/png');
shell('resource', 'create', 'doc', 'file:///doc.txt', `@${join(scratch, 'doc.txt')}`, '--mime-type', 'text/plain');
shell('prompt', 'create', 'dotted.name', 'What the dotted prompt says');

const http = await serve();
for (const [transport, server] of [
    ['stdio', { command: [mcpkg, '--db', database, 'serve'] }],
    ['HTTP', { url: http.url }],
]) {
    configure(agent, project, server);
    await check(`${transport}: the model is offered the tools, and a text arrives once`, async () => {
        const { tools, given } = await read('file:///doc.txt');
        console.log(`     ${agent} over ${transport}: ${tools.length} tools; a text of ${TEXT}: ${cost(given)}`);
        holds(given, `no result, of ${tools.length} tools`);
        holds(tools.some((name) => name.endsWith('get_prompt')), `no get_prompt among ${tools}`);
        holds(given.characters >= TEXT && given.characters < 1.25 * TEXT, `${given.characters} characters`);
    });
    await check(`${transport}: an image arrives as an image, and not as text`, async () => {
        const { given } = await read('file:///image.png');
        console.log(`     ${agent} over ${transport}: an image of ${IMAGE} bytes: ${cost(given)}`);
        holds(given, 'no result');
        // Copilot CLI gives a model that is not GitHub's own no images at all.
        holds(given.images === (agent === 'copilot' ? 0 : 1), `${given.images} images`);
        holds(given.characters < 1000, `${given.characters} characters of text: ${given.text.slice(0, 200)}`);
    });
}
if (agent === 'gemini') {
    await check('HTTP: `gemini mcp list` says connected', async () => {
        const said = await run(agent, ['mcp', 'list'], project);
        console.log(`     ${said.split('\n').find((line) => line.includes('mcpkg'))}`);
        holds(/mcpkg.*Connected/.test(said), said);
    });
}
if (agent === 'claude') {
    await check('HTTP: a prompt with a dotted name is called by it', async () => {
        const requests = await asked(agent, words(agent, '/mcp__mcpkg__dotted.name'), project);
        holds(requests.at(-1).texts.includes('What the dotted prompt says'), requests.at(-1).texts.join('\n'));
    });
}
http.end();

configure(agent, project);
shell('deploy', '--apply', '--yes', '--root', '.', '--target', 'all');
await check('a prompt with a dotted name is a skill or a command that the model is told of', async () => {
    const [told] = largest(await asked(agent, words(agent, 'Hello'), project)).match(/dotted[.-]name/) ?? [];
    console.log(`     ${agent}: ${told}`);
    holds(told, 'its name is nowhere in the request');
});

function cost(given) {
    if (!given) return 'nothing';
    const { characters, images, base64 } = given;
    return `${characters} characters of text, ${images} images (${base64} characters of base64)`;
}
