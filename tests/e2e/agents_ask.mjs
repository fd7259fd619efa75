// `mcpkg ask` runs the real agent: `node agents_ask.mjs AGENT`. A person approves it at a terminal; the stub model searches
// commands and proposes a workflow; and what the model is offered is held against what the person was told.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configure, environment } from './agent.mjs';
import { checks, holds, same } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch, E2E_AGENT: program, E2E_RECORD: record } = process.env;
const agent = process.argv[2];
const name = agent === 'claude' ? 'claude-code' : agent;
const project = join(scratch, `${agent}-ask`);
const database = join(scratch, `${agent}-ask.db`);
const check = checks(agent);

// The agent is found on PATH, as a user's is.
const path = join(scratch, `${agent}-path`);
mkdirSync(path, { recursive: true });
mkdirSync(project, { recursive: true });
configure(agent, project);
if (program.endsWith('.js')) {
    writeFileSync(join(path, agent), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 });
} else {
    symlinkSync(program, join(path, agent));
}
const env = { ...environment(agent), PATH: `${path}:${dirname(process.execPath)}:/usr/bin:/bin`, SHELL: '/bin/sh', PWD: project };
// Which of these a user has set is theirs; mcpkg sets what a run needs.
delete env.GEMINI_CLI_TRUST_WORKSPACE;

const yaml = 'workflow: app\\nsteps:\\n  - id: a\\n    run: mcpkg:command:search\\n    with:\\n      query: x\\n';
const text = `CALL search_commands {"query":"prompt"} THEN propose_workflow {"yaml":"${yaml}"}`;

function shell(...given) {
    return execFileSync(mcpkg, ['--db', database, ...given], { cwd: project, env, encoding: 'utf8' });
}

shell('--quiet', 'project', 'create', 'e2e');
await check('ask: a person approves once, and the agent proposes a draft', () => {
    writeFileSync(record, '');
    writeFileSync(join(scratch, 'text'), text);
    const line = `'${mcpkg}' --db '${database}' ask --agent ${name} "$(cat '${join(scratch, 'text')}')"`;
    const { stdout } = spawnSync('script', ['-qec', line, '/dev/null'], { cwd: project, env, input: 'y\n', encoding: 'utf8' });
    holds(/proposed 1 draft: \w+ \(app\)/.test(stdout), stdout.slice(-800));
    const found = JSON.parse(shell('--json', 'draft', 'list')).drafts;
    same(found.length, 1);
    console.log(`     ${agent}: proposed by ${found[0].proposed_by}`);
});
await check('ask: the model is offered no tools that run commands or write files', () => {
    const requests = readFileSync(record, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    const own = new Set(requests.flatMap(({ tools }) => tools).filter((tool) => !/mcpkg|Placeholder/.test(tool)));
    console.log(`     ${agent}: ${[...own].join(' ') || 'none'}`);
    holds(!['claude', 'copilot', 'opencode'].includes(agent) || own.size === 0, [...own].join(' '));
    holds(![...own].some((tool) => /^(bash|exec_command|run_shell_command|shell|write|write_file|edit|replace)$/.test(tool)), [...own].join(' '));
});
await check('ask: without a terminal the approval holds, and the answer is JSON', () => {
    const values = shell('--json', 'ask', '--agent', name, text);
    const last = JSON.parse(values.slice(values.indexOf('\n{\n') + 1));
    same([last.agent, last.calls, last.drafts.length], [name, 2, 1]);
});
