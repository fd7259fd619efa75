//! The tables of keys: their meanings, for the help screen and the documentation, and the words of the footer.

use crate::screen::{Line, Screen, Tone};

/// The meaning of a key, on every screen that offers it.
pub struct Meaning {
    /// The key or keys, as the help screen shows them.
    pub keys: &'static str,
    pub meaning: &'static str,
}

/// All keys, in the order of the help screen.
pub const KEYS: &[Meaning] = &[
    Meaning { keys: "arrows, h j k l, PgUp PgDn, g G", meaning: "move" },
    Meaning { keys: "enter", meaning: "open; in a form, pick a value; in a list of answers, take the marked one" },
    Meaning { keys: "esc", meaning: "back" },
    Meaning { keys: "q", meaning: "close the screen; on the first one, leave" },
    Meaning { keys: "Tab", meaning: "next pane; while typing a workflow, complete" },
    Meaning { keys: "1-6", meaning: "Inbox, Feed, Content, Deploy, Workflows, All" },
    Meaning { keys: ": Ctrl-P", meaning: "palette: every screen, item and operation" },
    Meaning { keys: "/", meaning: "filter" },
    Meaning { keys: "?", meaning: "keys of this place" },
    Meaning { keys: ". ,", meaning: "next, previous stop: hunk, finding, hidden character" },
    Meaning { keys: "v", meaning: "next view; in the editor, text or form" },
    Meaning { keys: "c", meaning: "copy the shell command" },
    Meaning { keys: "a", meaning: "yes: approve, accept, apply" },
    Meaning { keys: "d", meaning: "no: deny, reject" },
    Meaning { keys: "n", meaning: "a note to whoever asked; a or d sends it" },
    Meaning { keys: "y", meaning: "yes to the question line" },
    Meaning { keys: "u", meaning: "undo this change; in the editor, the last edit" },
    Meaning { keys: "U", meaning: "undo all changes of this agent, or of the shell, since here" },
    Meaning { keys: "b", meaning: "bring back an older state" },
    Meaning { keys: "t", meaning: "trail of this item; what a draft changes" },
    Meaning { keys: "e", meaning: "edit here, or in $EDITOR if the console has no editor for it" },
    Meaning { keys: "E", meaning: "edit in $EDITOR; in the editor, the text as it is" },
    Meaning { keys: "s", meaning: "save; sync; for an uncertain step, skip" },
    Meaning { keys: "f", meaning: "fix; find changes" },
    Meaning { keys: "p", meaning: "plan" },
    Meaning { keys: "r", meaning: "run; for an uncertain step, retry; in an undo, all in again" },
    Meaning { keys: "z", meaning: "pause or resume" },
    Meaning { keys: "x", meaning: "stop what runs" },
    Meaning { keys: "space", meaning: "in or out: a file, a hunk, a change; in a form, the next value, or type one" },
    Meaning { keys: "m", meaning: "mark a diff as reviewed, for yourself" },
    Meaning { keys: "P", meaning: "propose a workflow from the marked runs" },
    Meaning { keys: "+", meaning: "new; in the editor, a step or an input" },
    Meaning { keys: "@", meaning: "ask your agent" },
    Meaning { keys: "D", meaning: "delete; asks for the name. In the editor, throw the text away" },
    Meaning { keys: "M", meaning: "mouse on or off" },
    Meaning { keys: "F2, F4, F6, Ctrl-S, Ctrl-R", meaning: "while typing a workflow: form, fix, pick, save, redo" },
    Meaning { keys: "Ctrl-C, Ctrl-Z", meaning: "leave, suspend" },
];

/// The words that the footer may show for the key of an action, so that a key means much the same on every screen.
pub const WORDS: &[(char, &[&str])] = &[
    ('\n', &["take", "more"]),
    (' ', &["in or out"]),
    ('+', &["new", "create", "add", "import", "install"]),
    ('@', &["ask your agent"]),
    ('D', &["delete", "remove", "uninstall", "revoke"]),
    ('E', &["edit"]),
    ('P', &["propose a workflow"]),
    ('U', &["undo all of this agent since here", "undo all from the shell since here"]),
    ('a', &["approve", "accept", "apply", "undo", "deny"]),
    ('b', &["bring back"]),
    ('d', &["deny", "reject", "take back"]),
    ('e', &["edit"]),
    ('f', &["find changes"]),
    ('m', &["reviewed"]),
    ('n', &["note"]),
    ('r', &["run", "retry", "all in again"]),
    ('s', &["sync", "skip"]),
    ('t', &["trail", "what changes"]),
    ('u', &["undo"]),
    ('x', &["cancel"]),
    ('z', &["pause", "resume", "retry"]),
];

/// The help screen.
pub fn screen() -> Screen {
    let line = |key: &Meaning| Line::of(Tone::Name, &format!("{:<32}", key.keys)).then(Tone::Plain, key.meaning);
    Screen::text("Keys", KEYS.iter().map(line).collect())
}
