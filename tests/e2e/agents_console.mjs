// The story of a workflow in the console, by keys in tmux, with the real agent: `node agents_console.mjs AGENT`. The agent
// drafts a workflow with a mistake; it is fixed, planned, saved and run; the console is killed in the middle of a request; and
// the run is resumed. What the screen shows is compared.

import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { configure, environment } from './agent.mjs';
import { checks, holds, pause, same } from './report.mjs';

const run = promisify(execFile);
const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch, E2E_AGENT: program } = process.env;
const agent = process.argv[2];
const project = join(scratch, `${agent}-console`);
const database = join(scratch, `${agent}-console.db`);
const check = checks(agent);

try {
    await run('tmux', ['-V']);
} catch {
    console.log('skipped: there is no tmux');
    process.exit();
}

const path = join(scratch, `${agent}-console-path`);
mkdirSync(path, { recursive: true });
mkdirSync(project, { recursive: true });
configure(agent, project);
symlinkSync(program, join(path, agent));
const env = { ...environment(agent), PATH: `${path}:${dirname(process.execPath)}:/usr/bin:/bin`, SHELL: '/bin/sh', TZ: 'UTC' };
const words = ['--db', database];
const shell = async (...given) => (await run(mcpkg, [...words, ...given], { cwd: project, env })).stdout;

// An API with one command. The answer to its first request never comes.
let posts = 0;
const api = createServer((request, response) => {
    request.resume();
    if (request.method === 'POST') posts += 1;
    if (request.method === 'POST' && posts === 1) return;
    response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"job-1"}');
});
await new Promise((resolve) => api.listen(0, '127.0.0.1', resolve));
const body = { schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } } };
const post = {
    operationId: 'createJob',
    requestBody: { required: true, content: { 'application/json': body } },
    responses: { 201: { description: 'made', content: { 'application/json': { schema: { type: 'object' } } } } },
};
const document = { openapi: '3.0.3', info: { title: 'Jobs', version: '1' }, paths: { '/jobs': { post } } };
writeFileSync(join(project, 'jobs.json'), JSON.stringify(document));
await shell('--quiet', 'project', 'create', 'e2e');
await shell('--quiet', 'project', 'select', 'e2e');
const base = `http://127.0.0.1:${api.address().port}`;
await shell('--quiet', 'catalog', 'import', join(project, 'jobs.json'), '--prefix', 'jobs', '--base-url', base);
const { commands } = JSON.parse(await shell('--json', 'catalog', 'show', 'jobs'));
const command = commands[0].id;

const tmux = (...given) => run('tmux', ['-L', `mcpkg-${process.pid}`, '-f', '/dev/null', ...given], { cwd: project, env });
const keys = (...given) => tmux('send-keys', ...given);
const typed = (text) => tmux('send-keys', '-l', text);
const screen = async () => (await tmux('capture-pane', '-p')).stdout;

/** Waits until the screen shows a text, and returns the screen. */
async function shown(text) {
    const end = Date.now() + 120_000;
    for (;;) {
        const now = await screen();
        if (now.includes(text)) return now;
        if (Date.now() > end) throw new Error(`${text} is not on the screen: ${now}`);
        await pause(100);
    }
}

/** Reads a question to its end. */
async function question() {
    for (;;) {
        const now = await screen();
        if (now.includes('y yes, other keys no')) return now;
        if (now.includes('More to read')) await keys('Space');
        await pause(200);
    }
}

async function start() {
    const line = `exec '${mcpkg}' --db '${database}' console --ascii`;
    await tmux('new-session', '-d', '-x', '110', '-y', '40', line);
    return shown('palette');
}

const draft = `workflow: nightly\\nsteps:\\n  - id: job\\n    run: ${command}x\\n    with:\\n      name: nightly\\n`;
try {
    await check('console: the agent is asked, and its draft opens', async () => {
        await start();
        await keys('5');
        await shown('No workflows yet');
        await keys('@');
        await shown('TYPING');
        await typed(`CALL propose_workflow {"yaml":"${draft}"}`);
        await keys('Escape');
        await pause(500);
        await keys('r');
        const asked = await question();
        holds(asked.includes('You pay the maker of'), asked);
        await keys('y');
        const now = await shown('draft nightly: what changes');
        holds(now.includes(`${command}x`), now);
    });
    await check('console: the mistake is found, fixed and planned', async () => {
        await keys('e');
        await shown('f fixes it');
        await keys('f');
        await shown('1 warning');
        await keys('p');
        await shown('POST /jobs');
    });
    await check('console: the diff is shown, and y saves', async () => {
        await keys('s');
        holds((await question()).includes('nightly'), 'no question');
        await keys('y');
        await shown('Approved draft');
        same(await shell('workflow', 'show', 'nightly'), draft.replaceAll('\\n', '\n').replace(`${command}x`, command));
        same(posts, 0);
    });
    await check('console: it runs, and the console is killed in the middle of a request', async () => {
        await keys('5');
        await shown('> nightly');
        await keys('r');
        const asked = await question();
        holds(asked.includes('POST') && asked.includes('"nightly"'), asked);
        await keys('y');
        while (posts === 0) await pause(50);
        const { stdout: id } = await tmux('display-message', '-p', '#{pane_pid}');
        process.kill(Number(id), 'SIGKILL');
    });
    await check('console: the run is in the inbox, and goes on after a question', async () => {
        await pause(500);
        await start();
        await shown('nightly interrupted');
        await keys('z');
        await shown('nightly uncertain');
        // Enter opens the error in the footer, which leads to the run.
        await shown('the whole error');
        await keys('Enter');
        await shown('check what the step did');
        await keys('r');
        await shown('Did job do its work?');
        await keys('r');
        await question();
        await keys('y');
        await shown('SUCCEEDED');
        same(posts, 2);
        await keys('C-c');
    });
} finally {
    await tmux('kill-server').catch(() => {});
    api.close();
    api.closeAllConnections();
}
