// An MCP server of a plugin: `node probe_server.mjs NAME` has one tool, `t_NAME`.

import { createInterface } from 'node:readline';

const name = process.argv[2];
const tools = [{ name: `t_${name}`, description: 'A probe', inputSchema: { type: 'object', properties: {} } }];

for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = {
        initialize: {
            protocolVersion: params?.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name, version: '1' },
        },
        'tools/list': { tools },
        ping: {},
    }[method];
    const answer = result ? { result } : { error: { code: -32601, message: 'no such method' } };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
}
