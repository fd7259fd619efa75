// Installs the folder that `mcpkg export --plugin` wrote with an agent's own commands, and asks the agent what it sees, offline:
// `node movein.mjs AGENT FOLDER NAME MARK...` prints what the agent said and, as the last line, JSON with how often each mark
// stands in what it sent to the stub model.

import { join } from 'node:path';
import { asked, configure, largest, run, words } from './agent.mjs';

const [agent, folder, name, ...marks] = process.argv.slice(2);
const project = join(process.env.E2E_SCRATCH, `${agent}-given`);
const market = ['plugin', 'marketplace', 'add', folder];
const plugin = `${name}@${name}`;
const COMMANDS = {
    claude: [market, ['plugin', 'install', plugin], ['plugin', 'list']],
    codex: [market, ['plugin', 'add', plugin], ['plugin', 'list']],
    copilot: [market, ['plugin', 'install', plugin], ['plugin', 'list']],
    gemini: [['extensions', 'install', folder, '--consent'], ['extensions', 'list']],
};

configure(agent, project);
let said = '';
for (const command of COMMANDS[agent]) said = await run(agent, command, project);
console.log(said.trim());
const body = largest(await asked(agent, words(agent, 'Hello'), project));
console.log(JSON.stringify(Object.fromEntries(marks.map((mark) => [mark, body.split(mark).length - 1]))));
