// What a deploy writes for an agent, asked of the agent itself: `node agents_forms.mjs AGENT`. A project with instructions, a
// rule for a folder, a skill, a command and a subagent is deployed for it; what it sends to the stub model is looked at.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asked, configure, largest, words } from './agent.mjs';
import { checks, holds, same } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch } = process.env;
const agent = process.argv[2];
const project = join(scratch, `${agent}-forms`);
const home = join(scratch, `home-${agent}`);
const check = checks(agent);
const target = { claude: 'claude_code' }[agent] ?? agent;

function shell(...given) {
    const env = { ...process.env, HOME: home };
    const database = join(scratch, `${agent}-forms.db`);
    return execFileSync(mcpkg, ['--db', database, '--quiet', ...given], { cwd: project, encoding: 'utf8', env });
}

/** Asks the agent in a folder; returns the request that has what it loaded. */
async function told(text, folder = project) {
    return largest(await asked(agent, typeof text === 'string' ? words(agent, text) : text, folder));
}

const count = (body, mark) => body.split(mark).length - 1;

mkdirSync(join(project, 'src'), { recursive: true });
writeFileSync(join(project, 'src', 'a.py'), 'x = 1\n');
execFileSync('git', ['init', '--quiet', project]);
configure(agent, project);
shell('project', 'create', 'e2e');
shell('resource', 'create', 'style', 'instructions://style', 'MARK-STYLE is loaded always.\n');
shell('resource', 'create', 'python', 'instructions://python', 'MARK-RULE is for src alone.\n', '-d', 'MARK-ABOUT');
shell('module', 'set', 'instructions:python', '--globs', 'src/**');
const skill = '---\nname: e2e-tidy\ndescription: MARK-SKILL tidies\n---\nMARK-BODY\n';
shell('resource', 'create', 'tidy', 'skill://e2e-tidy/SKILL.md', skill);
const subagent = '---\nname: e2e-checker\ndescription: MARK-AGENT checks\ntools: Read, Grep\n---\nYou check.\n';
shell('resource', 'create', 'checker', 'subagent://e2e-checker', subagent);
shell('prompt', 'create', 'explain', 'Explain {{ topic }} to {{ reader }}s for money', '--argument', 'topic', '--argument', 'reader');
shell('deploy', '--apply', '--yes', '--root', '.', '--target', target);

const first = await told('Hello');
await check('instructions arrive once', () => same(count(first, 'MARK-STYLE'), 1));
await check('a rule for a folder is not loaded elsewhere', () => same(count(first, 'MARK-RULE'), 0));
await check('a skill is offered', () => holds(first.includes('MARK-SKILL') && !first.includes('MARK-BODY'), 'not told of it'));
if (['claude', 'copilot', 'opencode'].includes(agent)) {
    await check('a subagent of the project is offered', () => holds(first.includes('MARK-AGENT'), 'not told of it'));
}
if (agent === 'codex') {
    await check('a rule for a folder is loaded where it is started there', async () => {
        same(count(await told('Hello', join(project, 'src')), 'MARK-RULE'), 1);
    });
}
if (agent === 'copilot') {
    await check('a rule is listed with its description', () => holds(first.includes('MARK-ABOUT'), 'not told of it'));
}
const CALLS = {
    claude: [['-p', '/explain sorting junior'], 'Explain sorting to juniors for money'],
    opencode: [['run', '--command', 'explain', 'sorting', 'junior'], 'Explain sorting to juniors for money'],
    gemini: [words(agent, '/explain sorting junior'), 'one after the other: sorting junior'],
};
if (CALLS[agent]) {
    const [typed, expected] = CALLS[agent];
    await check('a command is filled in', async () => {
        const body = await told(typed);
        holds(body.includes(expected), `no ${JSON.stringify(expected)} in ${body.slice(-600)}`);
    });
}
// Last: a command that the user has too keeps its name in neither place.
if (['gemini', 'codex'].includes(agent)) {
    await check('a subagent of the user is offered', async () => {
        shell('deploy', '--apply', '--yes', '--scope', 'user', '--target', target);
        holds((await told('Hello')).includes('MARK-AGENT'), 'not told of it');
    });
}
if (agent === 'gemini') {
    await check('a command of the user and the project is called by neither', async () => {
        holds(!(await told(words(agent, '/explain sorting junior'))).includes('one after the other'), 'it is filled in');
    });
}
