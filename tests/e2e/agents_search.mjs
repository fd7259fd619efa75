// Which tool of mcpkg Claude Code's own search finds first for everyday requests: `node agents_search.mjs`. The stub model makes
// each request of tests/fixtures/tool_search.txt, in a plain folder and in a repository of a workspace.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asked, configure, words } from './agent.mjs';
import { checks, holds } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch } = process.env;
const plain = join(scratch, 'search-plain');
const workspace = join(scratch, 'search-workspace');
const repository = join(workspace, 'code');
const database = join(scratch, 'search.db');
const check = checks('claude');
const requests = readFileSync('tests/fixtures/tool_search.txt', 'utf8').trim().split('\n').map((line) => line.split(' -> '));

function shell(...given) {
    execFileSync(mcpkg, ['--db', database, '--quiet', ...given], { cwd: plain });
}

/** Returns the requests that another tool was found for than the one that is meant, and that tool. */
async function missed(folder) {
    const calls = requests.map(([query]) => `ToolSearch ${JSON.stringify({ query, max_results: 1 })}`);
    const heard = await asked('claude', words('claude', `CALL ${calls.join(' THEN ')}`), folder, { ENABLE_TOOL_SEARCH: 'true' });
    const listed = new Set(heard[0].body.match(/mcp__mcpkg__\w+/g));
    const found = heard.filter(({ result }) => result).map(({ result }) => result.text.replace(/\n.*/s, ''));
    holds(found.length === requests.length, found);
    // What is not listed is reached through the search of commands.
    const meant = (tool) => (listed.has(`mcp__mcpkg__${tool}`) ? tool : 'search_commands');
    return requests.flatMap(([query, tool], at) => {
        const [wanted] = tool.split(' ');
        return found[at] === `mcp__mcpkg__${meant(wanted)}` ? [] : [`${query}: ${found[at]}`];
    });
}

for (const folder of [plain, repository]) mkdirSync(folder, { recursive: true });
execFileSync('git', ['init', '--quiet', repository]);
shell('--workspace', workspace, 'workspace', 'init', 'shop');
shell('project', 'create', 'e2e');
configure('claude', plain, { command: [mcpkg, '--db', database, 'serve'] });
for (const [place, folder, bar] of [
    ['a plain folder', plain, 12],
    ['a repository of a workspace', repository, 16],
]) {
    await check(`its search finds the tool that is meant for ${bar} of ${requests.length} requests or more, in ${place}`, async () => {
        const others = await missed(folder);
        console.log(`     claude in ${place}: ${requests.length - others.length} of ${requests.length}; ${others.join(', ')}`);
        holds(requests.length - others.length >= bar, others);
    });
}
