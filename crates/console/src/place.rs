//! Places: everything that a screen can show. A place is plain data, so a stack, a link or a test can refer to it.

/// Identifies the content of a screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Inbox,
    Feed,
    /// The feed, with these runs marked.
    Marked(Vec<String>),
    Content,
    /// What can be added to the content.
    New,
    Deploy,
    /// A deploy of the chosen files.
    Chosen(Choice),
    /// What each agent loads in a session, and the warnings of `mcpkg plan`.
    Sessions,
    Workflows,
    /// An index of all `list` operations, `doctor` and `check`.
    All,
    /// The health of the database: its size, what grows, and what is wrong.
    Health,
    /// The consent request with this id.
    Consent(String),
    /// The possible approvals of the consent request with this id, for a request that only reads.
    Answers(String),
    /// What a sync with the folder of the last sync would do.
    Sync,
    /// The audit findings of the project with this name.
    Audit(String),
    /// The draft with this id.
    Draft(String),
    /// What the draft with this id would change, and the numbers of the excluded hunks.
    DraftDiff(String, Vec<usize>),
    /// The text of a draft or workflow, to edit.
    Editor(Text),
    /// The prompt with this name.
    Prompt(String),
    /// The difference between two revisions of an item: the noun of its commands, such as `prompt`, its name, and the
    /// revisions. Without revisions, its last change.
    ItemDiff(String, String, Option<(u64, u64)>),
    /// All revisions of an item: the noun of its commands, such as `prompt`, and its name.
    History(String, String),
    /// The resource with this URI.
    Resource(String),
    Skill(String),
    /// The planned changes of the file with this path.
    File(String),
    /// The proposed change with this id (`evolve show`), and the numbers of the excluded hunks.
    Proposal(String, Vec<usize>),
    /// The list of deploys that a rollback can restore.
    Snapshots,
    /// What the deploy with this id changed.
    Snapshot(String),
    /// The saved workflow with this name.
    Workflow(String),
    /// What a run of the saved workflow with this name would do.
    Plan(String),
    /// The run with this id.
    Run(String),
    /// The output of a command without arguments, such as `tool list` or `doctor`.
    List(String),
    /// The output of the command `NOUN show NAME`.
    Shown(String, String),
    /// The event with this number.
    Event(i64),
    /// Asks the user's agent for a new workflow, or to change this workflow or draft.
    Ask(Option<Text>),
    /// A form for the command with these words.
    Form(String),
    /// A form for the command with these words, whose first argument is this name.
    Filled(String, String),
    /// The commands that take the name of an item: the noun of the commands, such as `tool`, and the name.
    Verbs(String, String),
    /// The preview of an undo.
    Undo(Undo),
    /// The searchable list of the top-level screens, items and operations.
    Palette,
    Help,
    /// The output of an operation that ran. It cannot be loaded again.
    Printed,
}

/// Which part of a place to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The index of the view that the user chose with `v`.
    pub view: usize,
    /// The number of rows to load of a long list.
    pub rows: usize,
    /// The words to search for in the database, see [`Place::has_search`].
    pub words: String,
}

impl Default for Part {
    fn default() -> Self {
        Self::of_view(0)
    }
}

impl Part {
    pub fn of_view(view: usize) -> Self {
        Self { view, rows: 1_000, words: String::new() }
    }

    /// Doubles the number of rows to load, so that even a very long list is complete after a few loads.
    pub fn grow(&mut self) {
        self.rows = self.rows.saturating_mul(2);
    }
}

/// The text that an editor shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    Draft(String),
    Workflow(String),
    /// A new workflow.
    Empty,
}

/// Which changes to undo.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Undo {
    Event(i64),
    /// Everything that an actor did since a time.
    By(Following),
}

/// An event, and everything that its actor did after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Following {
    pub actor: String,
    /// The time of the event.
    pub since: String,
    /// The number of the event. Earlier events of the same second are not undone.
    pub first: i64,
    /// The numbers of the events that the user excluded.
    pub except: Vec<i64>,
    /// The numbers of the events whose consent requests the undo denies. The requests of other events stay open.
    pub denied: Vec<i64>,
}

/// The files that a deploy includes. A file that is changed on disk is included only if its path is in `adopted`. Any
/// other file is included unless its path is in `out`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Choice {
    pub out: Vec<String>,
    pub adopted: Vec<String>,
}

/// The top-level screens, with the keys that open them.
pub const ROOTS: [(char, &str, Place); 6] = [
    ('1', "Inbox", Place::Inbox),
    ('2', "Feed", Place::Feed),
    ('3', "Content", Place::Content),
    ('4', "Deploy", Place::Deploy),
    ('5', "Workflows", Place::Workflows),
    ('6', "All", Place::All),
];

impl Place {
    /// Returns whether the place can search the database for rows that are not loaded.
    pub fn has_search(&self) -> bool {
        matches!(self, Place::Content | Place::Palette)
    }

    /// Returns whether a list can show a preview of the place. Forms have no preview.
    pub fn has_preview(&self) -> bool {
        !matches!(self, Place::Form(_) | Place::Filled(..))
    }

    /// Returns whether the screen is loaded again when the database changes. Editors and forms are not, so that they
    /// keep what the user typed. The palette, the help and printed output are not loaded again either. Nor
    /// is the health, because counting rows takes long.
    pub fn is_live(&self) -> bool {
        let is_fixed = matches!(self, Place::Health | Place::Palette | Place::Help | Place::Printed);
        !is_fixed && !matches!(self, Place::Editor(_) | Place::Form(_) | Place::Filled(..) | Place::Ask(_))
    }
}
