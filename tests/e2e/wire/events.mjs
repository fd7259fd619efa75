// What the wires share: server-sent events, and what a tool's result consists of.

let made = 0;

/** Returns an id that no other message or call has: agents take what has the same one as the same. */
export function fresh(kind) {
    return `${kind}_${++made}`;
}

/** Returns an answer of `events`, each a name or nothing and its data. */
export function stream(events) {
    const line = ([name, data]) =>
        `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
    return { kind: 'text/event-stream', text: events.map(line).join('') };
}

/** Returns an answer that comes whole. */
export function whole(data) {
    return { kind: 'application/json', text: JSON.stringify(data) };
}

/** Returns what a tool's result costs: characters of text, images, and the characters of their base64. */
export function result(texts, images) {
    const sum = (values) => values.reduce((all, value) => all + value.length, 0);
    return { texts: texts.length, characters: sum(texts), text: texts.join('\n'), images: images.length, base64: sum(images) };
}
