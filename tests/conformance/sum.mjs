// Sums what the suite wrote: `node sum.mjs REQUIREMENTS.yaml RESULTS`. A line for each scenario, required ones first; the
// exit status is 1 where a required one failed or did not run.

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const [requirements, results] = process.argv.slice(2);
const revision = basename(requirements, '.yaml');

// Of the file's lists only `server:` matters here: its items stand below it, a line each.
const lines = readFileSync(requirements, 'utf8').split('\n');
const items = lines.slice(lines.indexOf('server:') + 1);
const required = items.slice(0, items.findIndex((line) => /^\S/.test(line))).flatMap((line) => line.match(/^ {2}- (\S+)/)?.[1] ?? []);
if (required.length === 0) throw new Error(`${requirements} names no scenario`);

// Each scenario wrote a folder, named after it and the time.
const folders = new Map();
for (const folder of existsSync(results) ? readdirSync(results) : []) {
    folders.set(folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\w-]+$/, ''), join(results, folder, 'checks.json'));
}
const others = [...folders.keys()].filter((scenario) => !required.includes(scenario));

function checksOf(scenario) {
    const file = folders.get(scenario);
    return file && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
}

const count = (checks, status) => checks.filter((check) => check.status === status).length;
const total = { passed: 0, failed: 0, warnings: 0 };
for (const scenario of [...required, ...others]) {
    const scored = required.includes(scenario);
    const checks = checksOf(scenario);
    const passed = count(checks, 'SUCCESS');
    const failed = count(checks, 'FAILURE') + (checks.length === 0 ? 1 : 0);
    if (scored) {
        total.passed += passed;
        total.failed += failed;
        total.warnings += count(checks, 'WARNING');
    }
    const verdict = failed === 0 ? 'ok' : scored ? 'FAILED' : 'not required:';
    console.log(`${verdict} ${revision} ${scenario}: ${passed} passed, ${failed} failed`);
    if (checks.length === 0) console.log('    it did not run');
    for (const check of checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')) {
        const why = (check.errorMessage ?? check.description ?? '').replaceAll('\n', ' ');
        console.log(`    ${check.status.toLowerCase()} ${check.id}: ${why}`);
    }
}
console.log(`${revision}: ${required.length} required scenarios, ${total.warnings} warnings`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
