// A consent that a person gives at a terminal is used by the agent that asked for it: `node agents_consent.mjs AGENT`. Some agents
// decline or cancel by themselves what a server asks their user; the stub model calls `execute`, and calls it again.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { asked, configure, words } from './agent.mjs';
import { checks, holds, same } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch } = process.env;
const agent = process.argv[2];
const project = join(scratch, `${agent}-consent`);
const database = join(scratch, `${agent}-consent.db`);
const check = checks(agent);

// Whoever approves is the user who started the agent: the record is kept in the home folder.
const env = { PATH: process.env.PATH, HOME: join(scratch, `home-${agent}`), SHELL: '/bin/sh' };
const yaml = ['workflow: w', 'steps:', '  - id: a', '    run: mcpkg:prompt:list', '  - id: b', '    run: mcpkg:prompt:list', ''];

function shell(...given) {
    return execFileSync(mcpkg, ['--db', database, ...given], { cwd: project, env, encoding: 'utf8' });
}

/** Has the agent call `execute`; returns what its model is given, with the quotes as they were. */
async function execute(given) {
    const call = { yaml: yaml.join('\n'), ...given };
    const requests = await asked(agent, words(agent, `CALL execute ${JSON.stringify(call)}`), project);
    const text = JSON.stringify(requests.find(({ result }) => result)?.result ?? null);
    return text.replaceAll(/\\+"/g, '"');
}

/** Returns the id and the nonce that a refusal holds. */
function held(text) {
    const [, consent] = text.match(/"consent": ?"([0-9a-f-]{36})"/) ?? [];
    const [, nonce] = text.match(/"nonce": ?"([0-9a-f.]{90,})"/) ?? [];
    const [code] = text.match(/E_CONSENT_[A-Z]+/) ?? [];
    holds(consent && nonce, text.slice(0, 500));
    return { consent, nonce, code };
}

mkdirSync(project, { recursive: true });
configure(agent, project, { command: [mcpkg, '--db', database, 'serve'] });
shell('--quiet', 'project', 'create', 'e2e');
await check('asks, a person approves at a terminal, and the next call goes through', async () => {
    const first = held(await execute({}));
    console.log(`     ${agent}: ${first.code}`);
    const line = `'${mcpkg}' --db '${database}' consent approve ${first.consent}`;
    execFileSync('script', ['-qec', line, '/dev/null'], { cwd: project, env, input: 'y\n' });
    const again = held(await execute({}));
    same(again.consent, first.consent);
    const done = await execute({ nonce: again.nonce });
    holds(done.includes('"state":"succeeded"'), done.slice(0, 500));
    same(JSON.parse(shell('--json', 'consent', 'list', '--all')).consents.length, 1);
});
