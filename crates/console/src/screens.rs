//! The names of the screens, with the keys that each screen has in addition to the common ones. The docs list them.

use crate::action::{EDIT_OUTSIDE, LEAVE_OUT, TAKE_IN};
use crate::deploy::{DELETE_FILE, PROPOSE_FILE, TAKE_PROJECT};
use crate::place::Place;
use crate::survey::HARMLESS;

/// A screen, with the keys that its rows, hunks and texts may offer, and a label for each key.
pub struct Keys {
    pub screen: &'static str,
    pub shows: &'static str,
    pub keys: &'static [(char, &'static str)],
}

const fn screen(screen: &'static str, shows: &'static str, keys: &'static [(char, &'static str)]) -> Keys {
    Keys { screen, shows, keys }
}

/// The labels of the key `U`.
const ALL: &str = "undo this agent's work from here";
const ALL_OF_SHELL: &str = "undo the shell's work from here";
const ALL_OF_CONSOLE: &str = "undo the console's work from here";
const ALL_OF_PERSON: &str = "undo this person's work from here";

pub const SCREENS: &[Keys] = &[
    screen(
        "Inbox",
        "what waits for you; the keys of a row are those of the screen that enter opens",
        &[
            ('a', "approve"),
            ('a', "accept"),
            ('a', HARMLESS),
            ('o', TAKE_PROJECT),
            ('o', DELETE_FILE),
            ('d', "deny"),
            ('d', "reject"),
            ('d', "take back"),
            ('n', "note"),
            ('p', PROPOSE_FILE),
            ('e', "edit"),
            ('E', EDIT_OUTSIDE),
            ('t', "what changes"),
            ('s', "sync"),
            ('z', "pause"),
            ('z', "resume"),
            ('z', "retry"),
            ('r', "retry from a step"),
            ('x', "cancel"),
        ],
    ),
    screen(
        "Request",
        "what an agent asks for, and its effects",
        &[('a', "approve"), ('d', "deny"), ('d', "take back"), ('n', "note")],
    ),
    screen("Answers", "the two ways to approve a request that only reads", &[('\n', "approve")]),
    screen(
        "Draft",
        "a workflow that an agent proposes, and its findings",
        &[('e', "edit"), ('E', EDIT_OUTSIDE), ('t', "what changes"), ('a', "approve"), ('d', "reject"), ('n', "note")],
    ),
    screen(
        "Draft: what changes",
        "the draft against the saved workflow",
        &[
            (' ', LEAVE_OUT),
            (' ', TAKE_IN),
            ('a', "approve"),
            ('d', "reject"),
            ('n', "note"),
            ('e', "edit"),
            ('E', EDIT_OUTSIDE),
            ('m', "reviewed"),
        ],
    ),
    screen(
        "Proposed change",
        "a change that was found on disk or in a source",
        &[(' ', LEAVE_OUT), (' ', TAKE_IN), ('a', "accept"), ('d', "reject"), ('n', "note"), ('m', "reviewed")],
    ),
    screen("Sync", "what a sync with the folder would do", &[('s', "sync")]),
    screen("Audit", "what is hidden or dangerous in the project's texts", &[('a', HARMLESS)]),
    screen(
        "Feed",
        "every change, the newest first",
        &[
            ('u', "undo"),
            ('U', ALL),
            ('U', ALL_OF_SHELL),
            ('U', ALL_OF_CONSOLE),
            ('U', ALL_OF_PERSON),
            (' ', "mark"),
            ('P', "propose a workflow"),
            ('\n', "more"),
        ],
    ),
    screen(
        "Event",
        "one change: who, when, and the difference",
        &[
            ('r', "open the run"),
            ('u', "undo"),
            ('U', ALL),
            ('U', ALL_OF_SHELL),
            ('U', ALL_OF_CONSOLE),
            ('U', ALL_OF_PERSON),
        ],
    ),
    screen(
        "Undo",
        "what an undo would do",
        &[(' ', LEAVE_OUT), (' ', TAKE_IN), ('a', "undo"), ('a', "deny"), ('r', "all in again")],
    ),
    screen(
        "Content",
        "prompts, skills, instructions and resources, and what was deleted",
        &[
            ('e', "edit"),
            ('E', EDIT_OUTSIDE),
            ('t', "history"),
            ('D', "delete"),
            ('b', "bring back"),
            ('+', "new"),
            ('\n', "more"),
        ],
    ),
    screen("New", "what can be added to the project", &[]),
    screen(
        "Item",
        "the text of an item, or what each agent gets from it",
        &[('e', "edit"), ('E', EDIT_OUTSIDE), ('t', "history"), ('D', "delete")],
    ),
    screen("History", "the revisions of an item, the newest first", &[('b', "bring back")]),
    screen("Revision", "what one revision changed", &[('b', "bring back")]),
    screen(
        "Deploy",
        "each file that a deploy would write, and what each session loads",
        &[(' ', LEAVE_OUT), (' ', TAKE_IN), ('a', "apply"), ('f', "find changes"), ('b', "bring back")],
    ),
    screen(
        "File",
        "what a deploy would change in one file",
        &[('o', TAKE_PROJECT), ('o', DELETE_FILE), ('p', PROPOSE_FILE), ('e', "edit"), ('m', "reviewed")],
    ),
    screen("What each session loads", "bytes and tokens of each agent, and the warnings of the plan", &[]),
    screen("Earlier deploys", "each deploy, and the state before the first one", &[('b', "bring back")]),
    screen("Deploy of the past", "what a deploy changed", &[('b', "bring back")]),
    screen(
        "Workflows",
        "saved workflows, runs and drafts; the keys of a row are those of the screen that enter opens",
        &[
            ('e', "edit"),
            ('E', EDIT_OUTSIDE),
            ('r', "run"),
            ('p', "plan"),
            ('t', "history"),
            ('t', "what changes"),
            ('D', "delete"),
            ('a', "approve"),
            ('d', "reject"),
            ('n', "note"),
            ('z', "pause"),
            ('z', "resume"),
            ('z', "retry"),
            ('r', "retry from a step"),
            ('x', "cancel"),
            ('+', "new"),
            ('@', "ask your agent"),
            ('\n', "more"),
        ],
    ),
    screen(
        "Workflow",
        "the text of a workflow, or what it would do",
        &[
            ('e', "edit"),
            ('E', EDIT_OUTSIDE),
            ('r', "run"),
            ('p', "plan"),
            ('t', "history"),
            ('D', "delete"),
            ('@', "ask your agent"),
        ],
    ),
    screen(
        "Run",
        "the steps and attempts of a run",
        &[
            ('z', "pause"),
            ('z', "resume"),
            ('z', "retry"),
            ('x', "cancel"),
            ('r', "retry"),
            ('r', "retry from a step"),
            ('s', "skip"),
            ('a', "done"),
        ],
    ),
    screen("All", "every list of mcpkg, and the checks of this machine", &[]),
    screen("Health", "sizes, rows, changes per day, limits, what each session loads, and findings", &[]),
    screen(
        "List",
        "the rows of one list, such as `tool list`",
        &[
            ('a', "select"),
            ('r', "run"),
            ('+', "create"),
            ('+', "add"),
            ('+', "import"),
            ('+', "install"),
            ('+', "new"),
            ('D', "delete"),
            ('D', "remove"),
            ('D', "uninstall"),
            ('D', "revoke"),
            ('\n', "more"),
        ],
    ),
    screen("Commands", "the commands that take the marked name; enter opens a form", &[]),
    screen(
        "Shown",
        "one row of a list, as its `show` command prints it",
        &[('a', "select"), ('r', "run"), ('D', "delete"), ('D', "remove"), ('D', "uninstall"), ('D', "revoke")],
    ),
    screen("Palette", "every screen, item and operation", &[('\n', "more")]),
];

impl Place {
    /// Returns the name of the screen among [`SCREENS`]. Returns `None` for an editor, a form, the help and printed
    /// output: the code that draws them defines their keys.
    pub fn screen(&self) -> Option<&'static str> {
        Some(match self {
            Place::Inbox => "Inbox",
            Place::Consent(_) => "Request",
            Place::Answers(_) => "Answers",
            Place::Draft(_) => "Draft",
            Place::DraftDiff(..) => "Draft: what changes",
            Place::Proposal(..) => "Proposed change",
            Place::Sync => "Sync",
            Place::Audit(_) => "Audit",
            Place::Feed | Place::Marked(_) => "Feed",
            Place::Event(_) => "Event",
            Place::Undo(_) => "Undo",
            Place::Content => "Content",
            Place::New => "New",
            Place::Prompt(_) | Place::Resource(_) | Place::Skill(_) => "Item",
            Place::History(..) => "History",
            Place::ItemDiff(..) => "Revision",
            Place::Deploy | Place::Chosen(_) => "Deploy",
            Place::File(_) => "File",
            Place::Sessions => "What each session loads",
            Place::Snapshots => "Earlier deploys",
            Place::Snapshot(_) => "Deploy of the past",
            Place::Workflows => "Workflows",
            Place::Workflow(_) | Place::Plan(_) => "Workflow",
            Place::Run(_) => "Run",
            Place::All => "All",
            Place::Health => "Health",
            Place::List(_) => "List",
            Place::Shown(..) => "Shown",
            Place::Verbs(..) => "Commands",
            Place::Palette => "Palette",
            Place::Editor(_) | Place::Form(_) | Place::Filled(..) | Place::Ask(_) | Place::Help | Place::Printed => {
                return None;
            }
        })
    }
}
