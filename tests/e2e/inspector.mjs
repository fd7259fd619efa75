// The MCP Inspector's command line: `node inspector.mjs legacy|modern`. Each check is a process of its own.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NOTES, PIXEL, VERSIONS, checks, headers, holds, listed, modules, same, server, transport, url } from './report.mjs';

const era = process.argv[2];
const check = checks(`${era} Inspector`);
const target = url
    ? ['--server-url', url, '--transport', transport === 'sse' ? 'sse' : 'http']
    : [server.command, ...server.args];
for (const [name, value] of Object.entries(headers)) target.push('--header', `${name}: ${value}`);

/** Runs a method; returns what it prints. */
async function print(method, ...more) {
    const words = ['--cli', ...target, '--method', method, '--protocol-era', era, '--format', 'json', '-q', ...more];
    const inspector = join(modules, '@modelcontextprotocol/inspector/package.json');
    const { bin } = (await import(inspector, { with: { type: 'json' } })).default;
    const program = join(inspector, '..', bin['mcp-inspector']);
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], { timeout: 60_000 });
    return stdout;
}

/** Runs a method; returns the exit status with the result, or with the error. */
async function run(method, ...more) {
    try {
        return { status: 0, ...JSON.parse(await print(method, ...more)) };
    } catch (error) {
        if (error.stdout === undefined) throw error;
        const line = error.stderr.trim().split('\n').findLast((line) => line.startsWith('{')) ?? '{}';
        return { status: error.code, stderr: error.stderr, ...JSON.parse(line) };
    }
}

async function result(method, ...more) {
    const ran = await run(method, ...more);
    holds(ran.status === 0, ran);
    return ran.result;
}

await check('initialize', async () => {
    const { serverInfo, protocolVersion } = await result('initialize');
    same([serverInfo.name, protocolVersion], ['mcpkg', VERSIONS[era]]);
});
await check('prompts/list', async () => {
    const { prompts } = await result('prompts/list');
    same(listed(prompts, 'name', 'description'), [['greet', 'Greet someone'], ['plain', 'A prompt without arguments']]);
});
await check('prompts/get', async () => {
    const { messages } = await result('prompts/get', '--prompt-name', 'greet', '--prompt-args', 'name=Ada', 'tone=softly');
    same(messages, [{ role: 'user', content: { type: 'text', text: 'Hello Ada, softly' } }]);
});
await check('prompts/get of none', async () => {
    const { status, error } = await run('prompts/get', '--prompt-name', 'nobody');
    holds(status !== 0 && error.message.includes('nobody'), { status, error });
});
await check('skills/list --verify', async () => {
    const skills = (await print('skills/list', '--verify')).trim().split('\n').map((line) => JSON.parse(line));
    holds(skills.some(({ name }) => name === 'greet') && skills.every(({ outcome }) => outcome === 'verified'), skills);
});
await check('resources/list', async () => {
    const { resources } = await result('resources/list');
    same(listed(resources, 'uri', 'mimeType'), [['file:///e2e/notes.md', 'text/markdown'], ['file:///e2e/pixel.png', 'image/png']]);
});
await check('resources/read of text', async () => {
    const { contents } = await result('resources/read', '--uri', 'file:///e2e/notes.md');
    same([contents[0].text, contents.length], [NOTES, 1]);
});
await check('resources/read of a blob', async () => {
    const { contents } = await result('resources/read', '--uri', 'file:///e2e/pixel.png');
    same([contents[0].blob, contents[0].mimeType], [PIXEL, 'image/png']);
});
await check('resources/read of none', async () => {
    const { status, error } = await run('resources/read', '--uri', 'file:///e2e/none');
    holds(status !== 0 && error.message.includes('file:///e2e/none'), { status, error });
});
await check('resources/templates/list', async () => {
    const { resourceTemplates } = await result('resources/templates/list');
    holds(Array.isArray(resourceTemplates), resourceTemplates);
});
await check('tools/list, strict', async () => {
    const { tools } = await result('tools/list', '--strict');
    holds(tools.some((tool) => tool.name === 'create_prompt'), tools);
});
await check('tools/call, read back', async () => {
    const name = `inspector-${process.pid}`;
    const content = 'text with spaces = and "quotes"';
    const words = ['--tool-name', 'create_prompt', '--tool-args-json', JSON.stringify({ name, content })];
    const made = await result('tools/call', ...words);
    same([made.isError, made.content[0].type], [false, 'text']);
    const { messages } = await result('prompts/get', '--prompt-name', name);
    same(messages[0].content.text, content);
});
await check('tools/call that fails', async () => {
    const { status, result, stderr } = await run('tools/call', '--tool-name', 'get_prompt', '--tool-arg', 'name=nobody');
    holds(status !== 0 || result?.isError === true, { status, result, stderr });
});
