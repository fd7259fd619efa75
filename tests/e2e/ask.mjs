// Asks an agent something in a folder, offline: `node ask.mjs AGENT FOLDER TEXT MARK...` prints, as JSON, how often each mark
// stands in what it sent to the stub model.

import { asked, configure, largest, words } from './agent.mjs';

const [agent, folder, text, ...marks] = process.argv.slice(2);
configure(agent, folder);
const body = largest(await asked(agent, words(agent, text), folder));
const counts = marks.map((mark) => [mark, body.split(mark).length - 1]);
console.log(JSON.stringify({ bytes: body.length, ...Object.fromEntries(counts) }));
