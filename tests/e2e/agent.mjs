// The agents, each set up in a home folder of its own so that it runs offline against the stub model, with mcpkg as its MCP
// server or without one.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const { E2E_SCRATCH: scratch, E2E_AGENT: program, E2E_MODEL: model, E2E_RECORD: record } = process.env;

const json = (value) => JSON.stringify(value, null, 2);

/**
 * For each agent: `files`, what it is configured with for a server (`{command}` or `{url}`); `env`, what it takes from the
 * environment; `words`, the arguments that ask it something.
 */
const AGENTS = {
    claude: {
        files: (server) => ({
            '.claude/mcp.json': json({
                mcpServers: server ? { mcpkg: server.url ? { type: 'http', url: server.url } : local(server) } : {},
            }),
        }),
        env: {
            ANTHROPIC_BASE_URL: model,
            ANTHROPIC_API_KEY: 'stub',
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
            DISABLE_AUTOUPDATER: '1',
            // Where tools are found by a search, the model is given their names alone.
            ENABLE_TOOL_SEARCH: 'false',
        },
        words: (text, home) => [
            ...['-p', text, '--mcp-config', join(home, '.claude/mcp.json'), '--strict-mcp-config'],
            ...['--allowedTools', 'mcp__mcpkg'],
        ],
    },
    codex: {
        files: (server) => ({
            '.codex/config.toml': [
                'model = "stub"',
                'model_provider = "stub"',
                'approval_policy = "never"',
                'sandbox_mode = "danger-full-access"',
                '[model_providers.stub]',
                'name = "stub"',
                `base_url = "${model}/v1"`,
                'wire_api = "responses"',
                'env_key = "STUB_KEY"',
                ...(server ? ['[mcp_servers.mcpkg]'] : []),
                ...(server?.url ? [`url = "${server.url}"`] : []),
                ...(server?.command
                    ? [`command = ${json(server.command[0])}`, `args = ${JSON.stringify(server.command.slice(1))}`]
                    : []),
                '',
            ].join('\n'),
        }),
        env: { STUB_KEY: 'stub' },
        words: (text) => ['exec', '--skip-git-repo-check', text],
    },
    copilot: {
        files: (server) => ({
            '.copilot/mcp-config.json': json({
                mcpServers: server
                    ? { mcpkg: { ...(server.url ? { type: 'http', url: server.url } : local(server)), tools: ['*'] } }
                    : {},
            }),
        }),
        env: {
            COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
            COPILOT_PROVIDER_TYPE: 'openai',
            COPILOT_PROVIDER_API_KEY: 'stub',
            COPILOT_MODEL: 'gpt-5',
            COPILOT_OFFLINE: 'true',
            COPILOT_AUTO_UPDATE: 'false',
        },
        words: (text) => ['-p', text, '--allow-all-tools'],
    },
    gemini: {
        files: (server) => ({
            '.gemini/settings.json': json({
                security: { auth: { selectedType: 'gemini-api-key' } },
                general: { disableAutoUpdate: true },
                privacy: { usageStatisticsEnabled: false },
                mcpServers: server
                    ? { mcpkg: { ...(server.url ? { httpUrl: server.url } : local(server)), trust: true } }
                    : {},
            }),
        }),
        env: { GEMINI_API_KEY: 'stub', GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: 'true' },
        // A model that is named is not chosen by another one.
        words: (text) => ['-m', 'gemini-2.5-flash', '-y', '-p', text],
    },
    opencode: {
        files: (server) => ({
            '.config/opencode/opencode.json': json({
                provider: {
                    stub: {
                        npm: '@ai-sdk/openai-compatible',
                        options: { baseURL: `${model}/v1`, apiKey: 'stub' },
                        // It tells only models that see of images.
                        models: { m: { attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } } },
                    },
                },
                model: 'stub/m',
                autoupdate: false,
                mcp: server
                    ? {
                          mcpkg: server.url
                              ? { type: 'remote', url: server.url }
                              : { type: 'local', command: server.command },
                      }
                    : {},
            }),
        }),
        env: {},
        words: (text) => ['run', text],
    },
};

function local({ command: [command, ...args] }) {
    return { command, args };
}

function home(agent) {
    return join(scratch, `home-${agent}`);
}

/** Sets an agent up, with `server` where it shall have one. */
export function configure(agent, project, server) {
    mkdirSync(project, { recursive: true });
    for (const [name, text] of Object.entries(AGENTS[agent].files(server))) {
        mkdirSync(dirname(join(home(agent), name)), { recursive: true });
        writeFileSync(join(home(agent), name), text);
    }
}

/** Returns the arguments that ask an agent something. */
export function words(agent, text) {
    return AGENTS[agent].words(text, home(agent));
}

/** Returns the variables of an agent that runs offline. */
export function environment(agent) {
    return { PATH: process.env.PATH, HOME: home(agent), ...AGENTS[agent].env };
}

/** Runs an agent, with more variables than its own where they are given; returns what it said. */
export async function run(agent, given, project, more) {
    const env = { ...environment(agent), ...more };
    const [command, ...first] = program.endsWith('.js') ? [process.execPath, program] : [program];
    const child = spawn(command, [...first, ...given], { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (said += piece));
    const late = setTimeout(() => child.kill(), 120_000);
    await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(late);
    return said;
}

/** Runs an agent; returns the requests that arrived at the model. */
export async function asked(agent, given, project, more) {
    writeFileSync(record, '');
    const said = await run(agent, given, project, more);
    const requests = readFileSync(record, 'utf8').trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
    if (requests.length === 0) throw new Error(`no request arrived: ${said.slice(-300)}`);
    return requests;
}

/** Returns the largest request, which has what an agent loaded; others name the session, or ask for less. */
export function largest(requests) {
    return requests.map(({ body }) => body).sort((a, b) => b.length - a.length)[0];
}
