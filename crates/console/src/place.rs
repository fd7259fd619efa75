//! Places: what a screen can show. A place is a value, so that a stack of places, a link or a test can name it.

/// What a screen shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Inbox,
    Feed,
    Content,
    Deploy,
    /// A deploy of the files that are in.
    Chosen(Choice),
    Workflows,
    /// All lists of the operations.
    All,
    /// The request for consent with this id.
    Consent(String),
    /// The draft with this id.
    Draft(String),
    /// What a draft would change.
    DraftDiff(String),
    /// The text of a draft or workflow, to edit.
    Editor(Text),
    /// The prompt with this name.
    Prompt(String),
    /// What changed in the item since the revision before.
    ItemDiff(String, String),
    /// The earlier revisions of an item: the noun of its commands, and its name.
    History(String, String),
    /// The resource with this URI.
    Resource(String),
    Skill(String),
    /// What a deploy would change in the file with this path.
    File(String),
    /// A change that was found in a deployed file.
    Proposal(String),
    /// The deploys that can be taken back.
    Snapshots,
    /// The saved workflow with this name.
    Workflow(String),
    /// The run with this id.
    Run(String),
    /// The list that an operation gives, by the words of its command.
    List(String),
    /// What the command `WORDS show NAME` prints.
    Shown(String, String),
    /// The event with this number.
    Event(i64),
    /// A form for the arguments of an operation.
    Form(String),
    /// What undoing would do, for one event.
    Undo(Undo),
    /// Every screen, operation and item, narrowed by what the user types.
    Palette,
    Help,
    /// What an operation printed. It is shown once and cannot be loaded again.
    Printed,
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
    /// Everything that an actor did from this event on.
    By {
        actor: String,
        since: String,
        /// The events that stay.
        except: Vec<i64>,
    },
}

/// Which files a deploy writes: all that mcpkg wrote before, without those that are out, and those of the user's that are
/// adopted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Choice {
    pub out: Vec<String>,
    pub adopted: Vec<String>,
}

/// The places of the keys 1 to 6.
pub const ROOTS: [(char, &str, Place); 6] = [
    ('1', "Inbox", Place::Inbox),
    ('2', "Feed", Place::Feed),
    ('3', "Content", Place::Content),
    ('4', "Deploy", Place::Deploy),
    ('5', "Workflows", Place::Workflows),
    ('6', "All", Place::All),
];

impl Place {
    /// Whether a change of the database can change its screen. The text of an editor stays as the user left it.
    pub fn is_live(&self) -> bool {
        !matches!(self, Place::Editor(_) | Place::Form(_) | Place::Palette | Place::Help | Place::Printed)
    }
}
