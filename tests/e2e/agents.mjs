// What agents make of commands, held against what mcpkg renders: `node agents.mjs claude|opencode`. Each case is a
// command's file, imported by mcpkg and called in the agent with what a user types; a stub model records what arrives.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asked, configure } from './agent.mjs';
import { checks, same } from './report.mjs';

const { E2E_BINARY: mcpkg, E2E_SCRATCH: scratch } = process.env;
const agent = process.argv[2];
const project = join(scratch, agent);
const check = checks(agent);

const named = '---\narguments: [topic, reader]\n---\n';
const CASES = {
    claude: [
        [`${named}Explain $topic to $reader`, ["'sorting algorithms'", 'juniors'], 'names'],
        [`${named}Explain $topic to $reader`, ['sorting'], 'a name that is missing'],
        [`${named}$0 [$topic] $1`, ['x'], 'names beside numbers'],
        [`${named}None of them`, ['x', 'y', 'z'], 'no placeholder'],
        ['---\narguments: topic, reader\n---\n[$topic] [$topic,] [$reader]', ['x', 'y'], 'names with a comma'],
        ['---\narguments: topic reader\n---\n[$topic] [$reader]', ['x', 'y'], 'names in one text'],
        ['---\narguments:\n  - name: topic\n---\n[$topic] [$0]', ['x', 'y'], 'names in objects'],
        ['---\narguments: [my-topic, a.b]\n---\n[$my-topic] [$my] [$a.b]', ['x', 'y'], 'names of many letters'],
        ['---\narguments: [topic]\n---\n$topics $topic_ $topic-x ${topic} $topic. $topic[0] \\$topic', ['x'], 'ends of names'],
        ['a $0 b $1 c $2 d $ARGUMENTS e', ['x', "'y z'", 'w'], 'numbers and all'],
        ['a $0 b $1 c $ARGUMENTS e', ['x'], 'a number that is missing'],
        ['a $ARGUMENTS[0] b $ARGUMENTS[1]s c $ARGUMENTS[5] d', ['x', 'y'], 'indexes'],
        ['$0s $1a $01 $0_ $1-2 $ARGUMENTSs ${1} $ARGUMENTS[x]', ['x', 'y'], 'ends of numbers'],
        ['costs $0.50 or \\$0.50 or \\\\$0.50', ['x'], 'escapes'],
        ['costs \\$0.50 $5', ['x'], 'nothing filled in'],
        ['---\nargument-hint: [pr]\n---\nReview it\n', ['7'], 'a hint alone'],
        ['---\ndescription: x\n---\n\n  Plain $0', ['y'], 'empty lines behind front matter'],
        ['[$0] [$1] [$2]', ['a\\ b', '"c \\" d"', "e'f g'h"], 'quotes and backslashes'],
        ['[$0] [$1]', ['a', "it's", 'fine'], 'a quote that nobody closes'],
    ],
    opencode: [
        ['A $1 B $2', ['x', "'y z'", 'w'], 'the last takes the rest'],
        ['A $1 B $2 C $3', ['x'], 'numbers that are missing'],
        ['A $0 B $1', ['x'], 'zero'],
        ['A $ARGUMENTS', ['x', 'y'], 'all'],
        ['A $name \\$1 $1s', ['x'], 'no names, no escapes'],
    ],
};
const FOLDER = { claude: '.claude/commands', opencode: '.opencode/command' };

/** Runs mcpkg on a database of the agent's own. */
function shell(...words) {
    return execFileSync(mcpkg, ['--db', join(scratch, `${agent}.db`), '--quiet', ...words], { cwd: project, encoding: 'utf8' });
}

/** Calls a command in the agent; returns what arrived at the model. */
async function ask(name, typed) {
    const line = typed.join(' ');
    const bare = typed.map((word) => word.replace(/^'(.*)'$/, '$1'));
    const words = agent === 'claude' ? ['-p', `/${name} ${line}`] : ['run', '--command', name, ...bare];
    const requests = await asked(agent, words, project);
    // Beside the command Claude Code sends what it calls reminders, and the command's name.
    const own = requests.at(-1).texts.filter((text) => !/^<(system-reminder|command-)/.test(text));
    return own.join('\n');
}

mkdirSync(join(project, FOLDER[agent]), { recursive: true });
configure(agent, project);
CASES[agent].forEach(([file], at) => writeFileSync(join(project, FOLDER[agent], `case-${at}.md`), file));
shell('project', 'create', 'e2e');
shell('import', FOLDER[agent]);

for (const [at, [file, typed, what]] of CASES[agent].entries()) {
    await check(`${what}: ${JSON.stringify(file)} with ${typed.join(' ')}`, async () => {
        const name = `case-${at}`;
        same(await ask(name, typed), shell('prompt', 'show', name, '-a', `arguments=${typed.join(' ')}`));
    });
}

if (agent === 'claude') {
    const template = 'Explain {{ topic }}{% if reader %} to {{ reader }}s{% endif %} for $0.50, not $topic';
    shell('prompt', 'create', 'explain', template, '--argument', 'topic=What to explain', '--argument', 'reader');
    shell('prompt', 'create', 'tell', 'Tell of {{ topic }}: $1', '--argument', 'topic');
    shell('prompt', 'create', 'costs', 'It costs $0.50');
    shell('deploy', '--apply', '--yes', '--root', '.', '--target', 'claude_code');
    await check('a template with two arguments that was deployed', async () => {
        const given = ['-a', 'topic=sorting algorithms', '-a', 'reader=junior'];
        same(await ask('explain', ["'sorting algorithms'", 'junior']), shell('prompt', 'show', 'explain', ...given));
    });
    await check('a template with one argument that was deployed', async () => {
        same(await ask('tell', ['sorting', 'algorithms']), shell('prompt', 'show', 'tell', '-a', 'topic=sorting algorithms'));
    });
    await check('a plain prompt that was deployed', async () => {
        same(await ask('costs', []), shell('prompt', 'show', 'costs'));
        same(await ask('costs', ['x']), `${shell('prompt', 'show', 'costs')}\n\nARGUMENTS: x`);
    });
}
