// What an agent's model is given of a deploy and of lists: `node agents_answers.mjs AGENT`. The stub model calls `deploy` for 39
// files, reads the token in what the agent made of the answer, applies it, and asks for a diff and for lists. The bytes of
// each go into a table.

import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asked, configure, words } from './agent.mjs';
import { checks, holds, same } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch, E2E_TABLE: table } = process.env;
const agent = process.argv[2];
const plain = join(scratch, `${agent}-plain`);
const workspace = join(scratch, `${agent}-workspace`);
const project = join(workspace, 'code');
const database = join(scratch, `${agent}-answers.db`);
const check = checks(agent);
const bytes = (text) => Buffer.byteLength(text);

function shell(...given) {
    // The defaults decide which agents are deployed to, and not those that the user has.
    const env = { PATH: process.env.PATH, HOME: join(scratch, `home-${agent}-answers`) };
    return execFileSync(mcpkg, ['--db', database, '--quiet', ...given], { cwd: project, env, encoding: 'utf8' });
}

/** Has the agent make calls, one after the other; returns the tools of mcpkg that its model is offered, and each answer that it is given. */
async function call(folder, ...calls) {
    const text = calls.map(([tool, given]) => `${tool} ${JSON.stringify(given)}`).join(' THEN ');
    const requests = (await asked(agent, words(agent, calls.length > 0 ? `CALL ${text}` : 'Hello'), folder)).filter(
        ({ tools }) => tools.length > 0,
    );
    const { tools, bytes } = requests[0];
    const own = bytes.filter((_, at) => /mcpkg/.test(tools[at]));
    const given = requests.filter(({ result }) => result).map(({ result }) => result.text);
    return { listed: own.reduce((sum, size) => sum + size, 0), tools: own.length, given };
}

for (const folder of [plain, project]) mkdirSync(folder, { recursive: true });
execFileSync('git', ['init', '--quiet', project]);
writeFileSync(join(project, 'README.md'), 'Code\n');
shell('--workspace', workspace, 'workspace', 'init', 'shop');
shell('project', 'create', 'e2e');
shell('resource', 'create', 'style', 'instructions://style', 'Be brief.\n');
for (const name of ['review', 'changelog', 'explain', 'migrate']) shell('prompt', 'create', name, `Do ${name}.\n`);
shell('prompt', 'update', 'review', 'Review {{ ticket }}.\n', '--argument', 'ticket');
for (const name of ['tidy', 'release-notes', 'code-review', 'database-migrations', 'incident-reports', 'api-design', 'load-tests']) {
    const text = `---\nname: ${name}\ndescription: Helps with ${name}\n---\nDo it well.\n`;
    shell('resource', 'create', `${name}-skill`, `skill://${name}/SKILL.md`, text);
    if (name !== 'tidy') shell('resource', 'create', `${name}-guide`, `skill://${name}/references/guide.md`, 'More.\n');
}
configure(agent, project, { command: [mcpkg, '--db', database, 'serve'] });

const alone = await call(plain);
const { listed, tools, given } = await call(
    project,
    ['deploy', {}],
    ['deploy_apply', { confirm_token: '%confirm_token%', yes: true }],
    ['update_prompt', { name: 'changelog', content: 'Write the changelog well.' }],
    ['diff', {}],
    ['list_prompts', {}],
    ['list_skills', {}],
    ['search_content', { query: 'brief' }],
);
const [deploy = '', apply = '', , diff = '', prompts = '', skills = '', found = ''] = given;
const bare = (text) => text.replaceAll(/\\+"/g, '"');
const token = bare(deploy).match(/"confirm_token": ?"([^"]+)"/)?.[1];
const end = token ? deploy.indexOf(token) + token.length : 'lost';

await check('a deploy of 39 files is small, and its token comes first', () => {
    same(JSON.parse(bare(deploy).match(/"summary": ?(\{[^}]*\})/)?.[1] ?? '{}').create, 39);
    holds(end <= 600, `the token ends at ${end}`);
    holds(bytes(bare(deploy)) <= 6 << 10, `${bytes(bare(deploy))} bytes`);
});
await check('it is applied with the token that the model read', () => {
    holds(/"snapshot_id": ?"/.test(bare(apply)), apply.slice(0, 300));
    holds(existsSync(join(project, '.claude/skills/load-tests/references/guide.md')), 'a file is missing');
});
await check('a diff has the lines that change', () => holds(diff.includes('+Write the changelog well.'), diff.slice(0, 300)));
await check('lists have what a model calls by', () => {
    holds(prompts.includes('ticket'), prompts.slice(0, 300));
    holds(skills.includes('skill://tidy/SKILL.md'), skills.slice(0, 300));
    holds(found.includes('instructions://style'), found.slice(0, 300));
});
const row = [agent, alone.tools, alone.listed, tools, listed, bytes(deploy), end, bytes(apply), bytes(diff)];
appendFileSync(table, `${row.join('\t')}\n`);
