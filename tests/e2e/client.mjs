// The TypeScript clients: `node client.mjs legacy|modern 1|1.23|2`. 1 is the SDK that most clients are built on, 1.23 the last
// that greets with 2025-06-18 and takes an event without data for a broken message, as Gemini CLI does, and 2 the one that
// knows the modern era.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { NOTES, PIXEL, VERSIONS, checks, headers, holds, listed, modules, pause, same, server, shell, soon, transport, url } from './report.mjs';

const [era, generation] = process.argv.slice(2);
const check = checks(`${era} TypeScript-${generation}`);
const tag = `ts${generation}-${era}-${process.pid}`;
const require = createRequire(join(modules, 'client.js'));
const modern = era === 'modern';

const sdk = generation === '2' ? second() : first();
const client = new sdk.Client({ name: 'e2e', version: '1.0.0' }, {
    capabilities: {},
    versionNegotiation: { mode: modern ? { pin: VERSIONS.modern } : 'legacy' },
});
const broken = [];
client.onerror = (error) => broken.push(String(error?.message ?? error));
const seen = [];
sdk.watch(client, (method, params) => seen.push({ method, uri: params?.uri }));
const count = (method) => seen.filter((notification) => notification.method === method).length;

function second() {
    const found = require('@modelcontextprotocol/client');
    const stdio = require('@modelcontextprotocol/client/stdio');
    const watch = (client, f) => {
        for (const kind of ['prompts/list_changed', 'resources/list_changed', 'resources/updated']) {
            client.setNotificationHandler(`notifications/${kind}`, ({ method, params }) => f(method, params));
        }
    };
    return { ...found, ...stdio, watch };
}

function first() {
    const name = generation === '1' ? '@modelcontextprotocol/sdk' : `sdk-${generation}`;
    const found = ['index', 'stdio', 'streamableHttp', 'sse'].map((file) => require(`${name}/client/${file}.js`));
    const types = require(`${name}/types.js`);
    const watch = (client, f) => {
        for (const kind of ['PromptListChanged', 'ResourceListChanged', 'ResourceUpdated']) {
            client.setNotificationHandler(types[`${kind}NotificationSchema`], ({ method, params }) => f(method, params));
        }
    };
    return Object.assign({ watch }, ...found);
}

function connection() {
    if (!url) return new sdk.StdioClientTransport({ ...server, stderr: 'ignore' });
    const Transport = transport === 'sse' ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
    return new Transport(new URL(url), { requestInit: { headers } });
}

async function refused(promise) {
    let answer;
    try {
        answer = await promise;
    } catch (error) {
        return error;
    }
    throw new Error(`it was answered: ${JSON.stringify(answer)}`);
}

let connected = false;
await check('connect', async () => {
    await client.connect(connection());
    connected = true;
    same(client.getServerVersion()?.name, 'mcpkg');
    if (generation === '2') same(client.getNegotiatedProtocolVersion(), VERSIONS[era]);
});
if (!connected) process.exit(0);

await check('prompts/list', async () => {
    const { prompts } = await client.listPrompts();
    same(listed(prompts, 'name', 'description'), [['greet', 'Greet someone'], ['plain', 'A prompt without arguments']]);
    const { arguments: args } = prompts.find((prompt) => prompt.name === 'greet');
    same(args.map(({ name, required }) => [name, required === true]), [['name', true], ['tone', false]]);
});
await check('prompts/get', async () => {
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada', tone: 'softly' } });
    same(messages, [{ role: 'user', content: { type: 'text', text: 'Hello Ada, softly' } }]);
});
await check('prompts/get of none', async () => {
    const error = await refused(client.getPrompt({ name: 'nobody' }));
    holds(error.code === -32602 && error.message.includes('nobody'), { code: error.code, message: error.message });
});
await check('resources/list', async () => {
    const { resources } = await client.listResources();
    same(listed(resources, 'uri', 'mimeType'), [['file:///e2e/notes.md', 'text/markdown'], ['file:///e2e/pixel.png', 'image/png']]);
});
await check('resources/read of text and of a blob', async () => {
    const text = await client.readResource({ uri: 'file:///e2e/notes.md' });
    const blob = await client.readResource({ uri: 'file:///e2e/pixel.png' });
    same([text.contents[0].text, blob.contents[0].blob], [NOTES, PIXEL]);
});
await check('resources/read of none', async () => {
    const error = await refused(client.readResource({ uri: 'file:///e2e/none' }));
    // A client may translate -32602 into the code of its own revision.
    holds([-32002, -32602].includes(error.code), { code: error.code, message: error.message });
});
await check('resources/templates/list', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    holds(Array.isArray(resourceTemplates), resourceTemplates);
});
await check('completion/complete', async () => {
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: '' } });
    holds(Array.isArray(completion.values), completion);
});
await check('tools/list', async () => {
    const { tools } = await client.listTools();
    holds(tools.length > 5 && tools.every((tool) => tool.inputSchema.type === 'object'), tools);
});
await check('tools/call, read back at once', async () => {
    const made = await client.callTool({ name: 'create_prompt', arguments: { name: tag, content: 'by a tool' } });
    same([made.isError, made.content[0].type], [false, 'text']);
    same((await client.getPrompt({ name: tag })).messages[0].content.text, 'by a tool');
});
await check('tools/call with structured content', async () => {
    const found = await client.callTool({ name: 'list_prompts', arguments: {} });
    holds(found.structuredContent?.prompts?.some((prompt) => prompt.name === 'greet'), found);
});
await check('tools/call that fails', async () => {
    same((await client.callTool({ name: 'create_prompt', arguments: { name: 'two words', content: 'x' } })).isError, true);
    same((await client.callTool({ name: 'create_prompt', arguments: {} })).isError, true);
});

const watched = `file:///e2e/${tag}.md`;
shell('resource', 'create', tag, watched, 'one');
const filter = { promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [watched] };
let listening;
await check('subscribe', async () => {
    if (modern) listening = await client.listen(filter);
    else await client.subscribeResource({ uri: watched });
    if (modern) same(listening.honoredFilter, filter);
});
await check('prompts/list_changed after an edit in the shell', async () => {
    const before = count('notifications/prompts/list_changed');
    shell('prompt', 'create', `${tag}-shell`, 'by the shell');
    await soon('list_changed', () => count('notifications/prompts/list_changed') > before);
    const { prompts } = await client.listPrompts();
    holds(prompts.some((prompt) => prompt.name === `${tag}-shell`), prompts);
});
await check('resources/list_changed after an edit in the shell', async () => {
    const before = count('notifications/resources/list_changed');
    shell('resource', 'create', `${tag}-shell`, `file:///e2e/${tag}-shell.md`, 'by the shell');
    await soon('list_changed', () => count('notifications/resources/list_changed') > before);
});
await check('resources/updated of what was subscribed to, and of nothing else', async () => {
    shell('resource', 'update', `${tag}-shell`, '--content', 'again');
    shell('resource', 'update', tag, '--content', 'two');
    await soon('resources/updated', () => count('notifications/resources/updated') > 0);
    const uris = seen.filter((notification) => notification.method === 'notifications/resources/updated').map(({ uri }) => uri);
    same([...new Set(uris)], [watched]);
    same((await client.readResource({ uri: watched })).contents[0].text, 'two');
});
await check('unsubscribe', async () => {
    if (modern) await listening.close();
    else await client.unsubscribeResource({ uri: watched });
    await pause(300);
    const before = count('notifications/resources/updated');
    shell('resource', 'update', tag, '--content', 'three');
    await pause(500);
    same(count('notifications/resources/updated'), before);
});
if (!modern) await check('no message was broken', async () => {
    same(broken, []);
});
await check('close', async () => {
    await client.close();
});
