//! The table of keys with their meanings, for the help screen and the documentation.

use crate::screen::{List, Row, Screen, Span, Tone};

/// The meaning of a key, on every screen that offers it.
pub struct Meaning {
    /// The key or keys, as the help screen shows them.
    pub keys: &'static str,
    pub meaning: &'static str,
}

/// The number of rows at the beginning of [`KEYS`] whose keys work on every screen.
const EVERYWHERE: usize = 18;

/// All keys, in the order of the help screen.
pub const KEYS: &[Meaning] = &[
    Meaning { keys: "arrows, h j k l", meaning: "move" },
    Meaning { keys: "PgUp PgDn, g G", meaning: "move by a page, to the beginning or the end" },
    Meaning { keys: "enter", meaning: "open; in a form, pick a value; in a list of answers, take the marked one" },
    Meaning { keys: "esc", meaning: "back" },
    Meaning { keys: "q", meaning: "close the screen; on the first one, leave" },
    Meaning { keys: "Tab", meaning: "next pane; while typing a workflow, complete" },
    Meaning { keys: "1-6", meaning: "Inbox, Feed, Content, Deploy, Workflows, All" },
    Meaning { keys: ": Ctrl-P", meaning: "palette: every screen, item and operation" },
    Meaning { keys: "/", meaning: "filter: all words, and none after a !; in a text, find" },
    Meaning { keys: "?", meaning: "keys of this place: type to filter, enter presses the marked one" },
    Meaning { keys: ". ,", meaning: "next, previous place to look at: hunk, finding, hidden character, found text" },
    Meaning { keys: "v", meaning: "next view; in the editor, text or form" },
    Meaning { keys: "c", meaning: "copy the shell command" },
    Meaning { keys: "C", meaning: "copy the marked row, or after Tab the text beside it" },
    Meaning { keys: "y", meaning: "yes, if there is a question; every other key means no" },
    Meaning { keys: "Ctrl-U, Ctrl-W", meaning: "while typing on one line: clear it, delete a word" },
    Meaning { keys: "M", meaning: "mouse on or off" },
    Meaning { keys: "Ctrl-C, Ctrl-Z", meaning: "leave, suspend" },
    Meaning { keys: "a", meaning: "yes: approve, accept, apply, select; for an uncertain step, done" },
    Meaning { keys: "d", meaning: "no: deny, reject" },
    Meaning {
        keys: "n",
        meaning: "a note to the agent that asked; a or d sends it. Also while the question of a or d is shown",
    },
    Meaning {
        keys: "u",
        meaning: "undo this change (u in the feed: possible, !: changed later); in the editor, the last edit",
    },
    Meaning { keys: "U", meaning: "undo all changes of this agent, the shell or the console since here" },
    Meaning { keys: "b", meaning: "bring back an older state, or a deleted item" },
    Meaning { keys: "t", meaning: "history of this item; what a draft changes" },
    Meaning { keys: "e", meaning: "edit here, or in $EDITOR if the console has no editor for it" },
    Meaning { keys: "E", meaning: "edit in $EDITOR; in the editor, the text as it is" },
    Meaning { keys: "s", meaning: "save; sync; for an uncertain step, skip" },
    Meaning { keys: "f", meaning: "fix; find changes" },
    Meaning { keys: "p", meaning: "plan; propose the text of a changed file" },
    Meaning { keys: "o", meaning: "write the project's text over a changed file; delete a file that it does not have" },
    Meaning { keys: "r", meaning: "run; retry a step, or from a step; of an event, its run; in an undo, all in again" },
    Meaning { keys: "z", meaning: "pause, resume or retry a run" },
    Meaning { keys: "x", meaning: "stop what runs" },
    Meaning { keys: "space", meaning: "in or out: a file, a hunk, a change; mark a run; in a form, the next value" },
    Meaning { keys: "m", meaning: "mark a diff as reviewed, for yourself" },
    Meaning { keys: "P", meaning: "propose a workflow from the marked runs" },
    Meaning { keys: "+", meaning: "new; in the editor, a step or an input" },
    Meaning { keys: "@", meaning: "ask your agent" },
    Meaning { keys: "D", meaning: "delete; asks for the name. In the editor, throw the text away" },
    Meaning { keys: "F2, F4, F6", meaning: "while typing a workflow: form, fix, pick" },
    Meaning { keys: "Ctrl-S, Ctrl-R", meaning: "while typing a workflow: save, redo" },
];

/// Returns whether a key is in the table.
pub fn is_known(key: char) -> bool {
    let name = if key == ' ' { "space".to_owned() } else { key.to_string() };
    KEYS.iter().any(|row| row.keys.split([' ', ',']).any(|known| known == name))
}

/// Returns the help screen: first the keys of the current screen (`here`), then all keys with their meanings. The first
/// cell of a row holds its keys.
pub fn screen(here: &[(String, String)]) -> Screen {
    let row = |section: &str, keys: &str, meaning: &str| Row {
        id: format!("{section} {keys}"),
        cells: vec![Span::new(Tone::Name, keys), Span::plain(meaning)],
        ..Row::default()
    };
    let (everywhere, elsewhere) = KEYS.split_at(EVERYWHERE);
    let all = |section: &'static str, keys: &'static [Meaning]| {
        let rows = keys.iter().map(move |key| row(section, key.keys, key.meaning));
        std::iter::once(Row::heading(section)).chain(rows)
    };
    let mut rows = Vec::new();
    if !here.is_empty() {
        rows.push(Row::heading("Here"));
        rows.extend(here.iter().map(|(key, words)| row("Here", key, words)));
    }
    rows.extend(all("Everywhere", everywhere));
    rows.extend(all("Where the last row shows them", elsewhere));
    Screen::list("Keys", List { rows, wraps: true, ..List::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_begins_with_the_keys_of_the_screen() {
        let here = [("u".to_owned(), "undo".to_owned())];
        let crate::screen::Body::List(list) = screen(&here).body else { panic!("a list") };
        let at = |first: &str| list.rows.iter().position(|row| row.cells[0].text() == first).expect(first);
        assert_eq!((at("Here"), at("u"), at("Everywhere")), (0, 1, 2));
        assert!(at("Ctrl-C, Ctrl-Z") < at("Where the last row shows them"));
        assert!(at("Where the last row shows them") < at("a"));
        assert!(is_known('p') && is_known(' ') && !is_known('w'));
    }
}
