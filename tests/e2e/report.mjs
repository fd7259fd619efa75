// What the JavaScript clients share: where the server is, and a line for each check.

import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';

export const { E2E_TRANSPORT: transport, E2E_URL: url, E2E_KEY: key, E2E_MODULES: modules } = process.env;
export const server = { command: process.env.E2E_BINARY, args: ['--db', process.env.E2E_DATABASE, 'serve'] };
export const headers = key ? { Authorization: `Bearer ${key}` } : {};

export const NOTES = '# Notes\nTwo lines, and a ü.\n';
export const PIXEL = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x00, 0xff, 0xfe]).toString('base64');
export const VERSIONS = { legacy: '2025-11-25', modern: '2026-07-28' };

/** Runs mcpkg on the database that is served, as its user would in another window. */
export function shell(...words) {
    execFileSync(server.command, ['--db', process.env.E2E_DATABASE, '--quiet', ...words], { stdio: 'ignore' });
}

/** Returns what runs a check and prints its line. */
export function checks(client) {
    return async (what, f) => {
        try {
            await f();
            console.log(`ok ${transport} ${client}: ${what}`);
        } catch (error) {
            console.log(`FAILED ${transport} ${client}: ${what}: ${String(error?.message ?? error).replaceAll('\n', ' ')}`);
        }
    };
}

export function same(found, wanted) {
    if (!isDeepStrictEqual(found, wanted)) {
        throw new Error(`found ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
    }
}

export function holds(truth, found) {
    if (!truth) throw new Error(`found ${JSON.stringify(found)}`);
}

/** What clients see of the content that every run begins with. */
export function listed(items, ...fields) {
    const own = items.filter((item) => ['greet', 'plain', 'notes', 'pixel'].includes(item.name));
    return own.map((item) => fields.map((field) => item[field]));
}

/** Waits for what must happen. */
export async function soon(what, happened) {
    const end = Date.now() + 10_000;
    while (!happened()) {
        if (Date.now() > end) throw new Error(`did not happen in time: ${what}`);
        await pause(10);
    }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
