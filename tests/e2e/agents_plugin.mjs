// What agents make of a project that is given as a plugin: `node agents_plugin.mjs AGENT`. The folder that `mcpkg export
// --plugin` writes is installed by each agent's own commands, and it is seen what the agent loads: skills, commands,
// subagents, hooks and an MCP server in the plugin's folder.

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { asked, configure, environment, largest, run, words } from './agent.mjs';
import { checks, holds, same } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch, E2E_AGENT: program } = process.env;
const agent = process.argv[2];
const project = join(scratch, `${agent}-plugin`);
const home = join(scratch, `home-${agent}`);
const plugin = join(scratch, `${agent}-given`);
const market = join(scratch, `${agent}-market`);
const check = checks(agent);

const FILES = {
    'skills/us/SKILL.md': '---\nname: us\ndescription: MARK-SKILL\n---\nBody\n',
    'commands/uc.md': '---\ndescription: MARK-COMMAND\n---\nFix $ARGUMENTS\n',
    'commands/git/un.md': '---\ndescription: MARK-NESTED\n---\nCommit $1\n',
    'agents/ua.md': '---\nname: ua\ndescription: MARK-STRICT\ntools: Read, Grep\n---\nReview.\n',
    'agents/ub.md': '---\nname: ub\ndescription: MARK-AGENT\n---\nPlan.\n',
    'hooks/hooks.json': JSON.stringify({
        hooks: { SessionStart: [{ hooks: [{ type: 'command', command: '"${CLAUDE_PLUGIN_ROOT}/hooks/start.sh"' }] }] },
    }),
    'hooks/start.sh': `#!/bin/sh\necho started >> '${project}/hook.log'\n`,
    '.mcp.json': JSON.stringify({
        mcpServers: { 'uni-probe': { command: 'node', args: ['${CLAUDE_PLUGIN_ROOT}/probe_server.mjs', 'probe'] } },
    }),
    '.claude-plugin/plugin.json': JSON.stringify({ name: 'uni', description: 'A plugin' }),
};

function shell(...given) {
    const env = { ...process.env, HOME: home };
    const database = join(scratch, `${agent}-plugin.db`);
    return execFileSync(mcpkg, ['--db', database, '--quiet', ...given], { cwd: project, encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
}

const own = join(project, 'own');
for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(own, path)), { recursive: true });
    writeFileSync(join(own, path), text);
}
chmodSync(join(own, 'hooks/start.sh'), 0o755);
copyFileSync(join(import.meta.dirname, 'probe_server.mjs'), join(own, 'probe_server.mjs'));
configure(agent, project);
shell('import', own, '--documents', '--create-project', 'uni');
shell('-p', 'uni', 'export', plugin, '--plugin', '--plugin-version', '1.0.0', '--owner', 'Us');
shell('-p', 'uni', 'export', market, '--marketplace', '--name', 'unim');

/** Runs one of the agent's own commands. */
const said = (...given) => run(agent, given, project);

/** Installs the plugin from both repositories, one after the other. */
async function installs(marketplace, install, list) {
    for (const [name, folder] of [['uni', plugin], ['unim', market]]) {
        const added = (await said(...marketplace, folder)) + (await said(...install, `uni@${name}`));
        const listed = await said(...list);
        holds(listed.includes(`uni@${name}`), added + listed);
    }
}

/** Talks to Codex's server for other programs. */
async function codexKnows(...methods) {
    const child = spawn(program, ['app-server'], { cwd: project, env: environment(agent), stdio: ['pipe', 'pipe', 'ignore'] });
    const waiting = new Map();
    createInterface({ input: child.stdout }).on('line', (line) => {
        const { id, result, error } = JSON.parse(line);
        waiting.get(id)?.(result ?? error);
    });
    const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const call = (id, method, params) =>
        new Promise((answered) => {
            waiting.set(id, answered);
            send({ id, method, params });
        });
    const late = setTimeout(() => child.kill(), 60_000);
    await call(0, 'initialize', { clientInfo: { name: 'e2e', title: 'e2e', version: '1' } });
    send({ method: 'initialized' });
    const answers = [];
    for (const [at, method] of methods.entries()) answers.push(await call(at + 1, method, { cwds: [project] }));
    clearTimeout(late);
    child.kill();
    return answers;
}

const hasStarted = () => existsSync(join(project, 'hook.log'));

const AGENTS = {
    async claude() {
        await check('plugin: Claude Code finds no fault in the folder', async () => {
            const text = await said('plugin', 'validate', '--json', plugin);
            const { success, manifest, contents, provides } = JSON.parse(text.slice(text.indexOf('{')));
            same([success, manifest.errors, contents.flatMap(({ errors, warnings }) => [...errors, ...warnings])], [true, [], []]);
            same([provides.skills, provides.commands, provides.agents], [['uni:us'], ['uni:git:un', 'uni:uc'], ['uni:ua', 'uni:ub']]);
        });
        await check('plugin: everything is loaded from the folder', async () => {
            const text = await said('-p', 'hi', '--plugin-dir', plugin, '--output-format', 'stream-json', '--verbose');
            const init = JSON.parse(text.split('\n').find((line) => line.includes('"subtype":"init"')));
            const ours = (list) => list.filter((name) => name.startsWith('uni:')).sort();
            same([ours(init.skills), ours(init.agents)], [['uni:us'], ['uni:ua', 'uni:ub']]);
            same(ours(init.slash_commands), ['uni:git:un', 'uni:uc', 'uni:us']);
            same(init.mcp_servers.find(({ name }) => name === 'plugin:uni:uni-probe')?.status, 'connected');
            same(init.plugin_errors ?? [], []);
            holds(hasStarted(), 'the hook did not run');
        });
        await check('plugin: it is installed from both repositories', () =>
            installs(['plugin', 'marketplace', 'add'], ['plugin', 'install'], ['plugin', 'list']));
    },
    async codex() {
        await check('plugin: it is installed from both repositories', () =>
            installs(['plugin', 'marketplace', 'add'], ['plugin', 'add'], ['plugin', 'list']));
        await said('plugin', 'remove', 'uni@unim');
        await check('plugin: skills and the MCP server are loaded, and no hook', async () => {
            const [skills, servers, hooks] = await codexKnows('skills/list', 'mcpServerStatus/list', 'hooks/list');
            const listed = skills.data.flatMap(({ skills, errors }) => [...skills, ...errors]);
            same(listed.filter(({ pluginId }) => pluginId).map(({ name }) => name), ['uni:us']);
            const server = servers.data.find(({ name }) => name === 'uni-probe');
            same([server?.pluginId, Object.keys(server?.tools ?? {})], ['uni@uni', ['t_probe']]);
            same(hooks.data.flatMap(({ hooks }) => hooks), []);
        });
    },
    async copilot() {
        await check('plugin: everything is loaded from the folder', async () => {
            const given = ['-p', 'hi', '--allow-all-tools', '--plugin-dir', plugin, '--output-format', 'json'];
            const body = largest(await asked(agent, given, project));
            const text = await run(agent, given, project);
            const event = text.split('\n').find((line) => line.includes('"session.skills_loaded"'));
            const { skills } = JSON.parse(event).data;
            const ours = skills.filter(({ source }) => source === 'plugin').map(({ commandName }) => commandName);
            same(ours.sort(), ['uni:git.un', 'uni:uc', 'uni:us']);
            for (const mark of ['t_probe', 'MARK-SKILL', 'MARK-AGENT', 'MARK-STRICT']) holds(body.includes(mark), `no ${mark}`);
            holds(hasStarted(), 'the hook did not run');
        });
        await check('plugin: it is installed from both repositories', () =>
            installs(['plugin', 'marketplace', 'add'], ['plugin', 'install'], ['plugin', 'list']));
    },
    async gemini() {
        await check('plugin: it is installed, and one subagent is rejected as mcpkg says', async () => {
            const text = await said('extensions', 'install', plugin, '--consent');
            holds(text.includes('installed successfully and enabled'), text);
            holds(text.includes('agents/ua.md') && !text.includes('agents/ub.md'), text);
            const remarks = JSON.parse(shell('--json', '-p', 'uni', 'export', `${plugin}-2`, '--plugin')).plugins[0].remarks;
            const ours = remarks.filter(({ agents, of }) => agents.includes('gemini') && of === 'subagent');
            same(ours.map(({ names }) => names), [['ua']]);
        });
        await check('plugin: skills, subagents and the MCP server are offered', async () => {
            const body = largest(await asked(agent, words(agent, 'Hello'), project));
            for (const mark of ['t_probe', 'MARK-SKILL', 'MARK-AGENT']) holds(body.includes(mark), `no ${mark}`);
        });
        await check('plugin: a command is filled in', async () => {
            const body = largest(await asked(agent, words(agent, '/uc the tests'), project));
            holds(body.includes('Fix the tests'), body.slice(-600));
        });
    },
};

await AGENTS[agent]?.();
