//! Operations: each is one thing that a user can do, defined once, and offered both in the shell and as an MCP tool.
//!
//! A struct with the arguments as its fields implements [`Operation`]. [`Entry::of`] erases its type, so that the shell, the
//! servers, the reference pages and the tests walk one table ([`Domains::operations`]).

mod audience;
mod caller;
mod changes;
mod context;
mod domain;
mod entry;
mod finding;
mod for_shell;
mod limit;
mod names;
mod namespace;
mod projected;
mod resource;
mod served;
mod surface;
mod undoable;
mod watching;

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use mcpkg_base::error::{Error, Result};
use mcpkg_base::marks;
use mcpkg_store::projects::Selection;

pub use audience::Audience;
pub use caller::{Caller, Client, Connection, Grant, Identity, InstallScope, Rights};
pub use changes::{Changes, Reach};
pub use context::{Ask, Confirmation, Context, Elicit, Emit, Line, MAX_ANSWER, PAGE, Progress, Say, approved, noted};
pub use domain::{DeployRoot, Domain, Domains, Group, Listed, Original};
pub use entry::{Call, Entry};
pub use finding::{Finding, Health};
pub use for_shell::{first_clause, for_shell};
pub use limit::limit;
pub use names::{Name, Names, Typed};
pub use namespace::Namespace;
pub use projected::{Hints, Projected, Projections, Run};
pub use resource::{Asked, Completing, Contents, Live, Named, Resource, Shown, Validator, Values, newest};
pub use served::{Answer, Content, Head, Sent, Served};
pub use surface::Surface;
pub use undoable::{Alone, Undo, Undoable};
pub use watching::{Ring, Watch, Watching};

/// The experimental capability by which mcpkg, as the client of a plugin, announces which database it serves. A server of the
/// same database refuses to be its plugin.
pub const PLUGIN_OF: &str = "mcpkg/pluginOf";

/// Where an operation is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faces {
    /// In the shell and as an MCP tool.
    Both,
    /// In the shell, and to agents only as a command, which needs a person's consent each time: see [`Operation::foresee`].
    Command,
    /// In the shell only: agents never import, export, back up, restore or manage projects.
    Shell,
    /// As an MCP tool only, because the shell has its own form of it.
    Tool,
}

impl Faces {
    /// Whether agents see it as a tool.
    pub const fn tool(self) -> bool {
        matches!(self, Faces::Both | Faces::Tool)
    }

    /// Whether agents find it among the commands.
    pub const fn command(self) -> bool {
        matches!(self, Faces::Both | Faces::Tool | Faces::Command)
    }

    /// Whether the shell offers it.
    pub const fn shell(self) -> bool {
        matches!(self, Faces::Both | Faces::Command | Faces::Shell)
    }
}

/// What an operation does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads only: it runs on a handle that cannot write.
    Read,
    /// Changes nothing that others see: it stores a confirm token, or a request for consent, for its caller.
    Offer,
    /// Adds something, and changes nothing that exists.
    Create,
    /// Changes or deletes something that `restore` can bring back.
    Write,
    /// Destroys something for good. Asks at a terminal; without one, it needs `--yes`.
    Destroy,
}

impl Effect {
    /// Whether no row of the database changes.
    pub const fn reads(self) -> bool {
        matches!(self, Effect::Read)
    }

    /// Returns the word for people: what something with this effect does to data.
    pub const fn does(self) -> &'static str {
        match self {
            Effect::Read => "reads",
            Effect::Offer | Effect::Create | Effect::Write => "writes",
            Effect::Destroy => "destroys",
        }
    }

    /// Whether it changes data that the database serves. Callers that may only read cannot call it, and the trail records it.
    pub const fn changes(self) -> bool {
        matches!(self, Effect::Create | Effect::Write | Effect::Destroy)
    }
}

/// The writer in `present` that formats its replies and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A sentence, as in contract 001.
    Sentence,
    /// The envelope of contract 000.
    Envelope,
    /// One JSON object, as text and as structuredContent, and a typed error object if it fails (contracts 002 to 004). Each
    /// begins with this `schema_version`, if there is one.
    Json(Option<&'static str>),
    /// Like `Json` if it succeeds. A failure is a JSON-RPC error of contract 003, in protocol revisions that let a tool answer
    /// with one.
    Rpc,
    /// The output of a projected tool: text and files as blocks, data unchanged as structuredContent, and facts about the run
    /// in `_meta`.
    Output,
}

/// A limit on how often something may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The average number of calls per second.
    pub per_second: NonZeroU32,
    /// The number of calls at once, after a pause.
    pub burst: NonZeroU32,
}

impl Rate {
    /// For calls that take microseconds.
    pub const OFTEN: Self = Self::of(20, 60);

    /// For calls that act on other hosts after a person consented.
    pub const SELDOM: Self = Self::of(1, 5);

    /// For a client that started the server itself. It only exceeds this by mistake.
    pub const LOCAL: Self = Self::of(50, 50);

    /// Returns the rate of this many calls per second, and three times as many at once.
    pub fn per_second(per_second: NonZeroU32) -> Self {
        let three = NonZeroU32::MIN.saturating_add(2);
        Self { per_second, burst: per_second.saturating_mul(three) }
    }

    const fn of(per_second: u32, burst: u32) -> Self {
        match (NonZeroU32::new(per_second), NonZeroU32::new(burst)) {
            (Some(per_second), Some(burst)) => Self { per_second, burst },
            _ => panic!("a rate of none"),
        }
    }
}

/// What the shell does if the database file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingDatabase {
    Create,
    /// Refuse the command: a new, empty database could be mistaken for the one that was meant.
    Refuse,
    /// Use an empty database until the command ends.
    StandIn,
    /// Use an empty database if it is the user's default one. Refuse a missing one that `--db` or `MCPKG_DB` names, since it
    /// may be mistyped.
    StandInUnlessNamed,
}

/// One thing a user can do. The fields of the struct are its arguments; their doc comments are the help.
pub trait Operation: clap::Args + DeserializeOwned + schemars::JsonSchema + Send + 'static {
    /// The name of the MCP tool. It is set even if no tool is offered.
    const TOOL: &'static str;
    /// The words of the shell command after `mcpkg`.
    const CLI: &'static [&'static str];
    /// A title for people.
    const TITLE: &'static str;
    /// What it does: the tool's description and the first line of `--help`. No final period.
    const ABOUT: &'static str;
    /// Extends the tool's description after [`Operation::ABOUT`], unless the server stands in for a contract. It has the words
    /// that users say when they need the tool, since agents search descriptions for them. No final period.
    const USER_WORDS: &'static str = "";
    /// Synonyms for agents that search for tools, in general words and never whole requests. Claude Code's tool search ranks
    /// them above the words of a description, and below those of a name.
    const SEARCH_HINT: &'static str = "";
    /// The rest of `--help`.
    const HELP: &'static str = "";
    /// Command lines that show how to use it, for `--help` and its man page, the simplest one first.
    const EXAMPLES: &'static [&'static str] = &[];
    /// Aliases for the last word of `CLI`.
    const ALIASES: &'static [&'static str] = &[];
    const EFFECT: Effect;
    /// Whether it reaches anything outside of this machine, such as other hosts.
    const OPEN_WORLD: bool = false;
    /// Whether repeating a call with the same arguments is harmless: it changes nothing more, or it is refused.
    const IDEMPOTENT: bool = true;
    /// Which lists of clients it may change. Ignored if its effect changes nothing.
    const CHANGES: Changes = Changes::PROJECT;
    /// Whether a server lists it even if the rest of its group is not listed.
    const ALWAYS_LISTED: bool = false;
    /// Whether it can work in this build and in the folder in which a server was started. If not, only a server that stands in
    /// for a contract lists it.
    const WORKS: fn(&Selection) -> bool = |_| true;
    /// Whether a server runs only one call at a time for each asker, because it is far more expensive than other reads.
    const ONE_AT_A_TIME: bool = false;
    /// Whether it may take minutes, because it waits for another host or works through a whole tree. A server runs it on its
    /// own thread, and as a task if the client has the tasks extension. It calls [`Context::step_aside`] before slow steps, and
    /// checks [`Context::is_cancelled`].
    const LONG: bool = false;
    /// Whether it may need a person's consent. If so, the user behind an agent is asked through the client.
    const MAY_NEED_CONSENT: bool = false;
    /// How often one asker may call it over HTTP; `None` means without a limit. If it has a rate and does more than read, a
    /// client that started the server itself is limited to [`Rate::LOCAL`].
    const RATE: Option<Rate> = None;
    /// Whether it runs commands from any source, and asks a person about each plan itself. A server that runs no commands does
    /// not list it.
    const RUNS_COMMANDS: bool = false;
    /// Whether a call with these arguments only reads mcpkg's own data, although other calls do more.
    const READS: fn(Domains, &Map<String, Value>) -> bool = |_, _| false;
    const SHAPE: Shape = Shape::Sentence;
    const GROUP: &'static str;
    const FACES: Faces;
    /// The struct that describes its data, for agents that get data. It defines outputSchema and structuredContent.
    type Output: schemars::JsonSchema;
    /// If it is a list, the key of the rows in its data. `next_cursor` next to them means that there are more.
    const LISTS: Option<&'static str> = None;
    /// Whether agents get the data as structuredContent.
    const STRUCTURED: bool = false;
    /// Whether its answer is stored content, which an agent gets as a single block.
    const CONTENT: bool = false;
    /// The contract's input schema as JSON, if the derive cannot express it. The struct accepts what the schema allows.
    const SCHEMA: Option<&'static str> = None;
    /// The properties that mcpkg adds to the contract's schema, as a JSON object. They are listed only under mcpkg's own name.
    /// Every argument of the struct is accepted, listed or not.
    const ADDED: &'static str = "{}";

    /// Returns the command that an envelope names, with the flags that make a difference, such as `deploy --apply`.
    fn command(&self) -> String {
        Self::CLI.join(" ")
    }

    /// Returns the name of the thing that it changes, for the trail.
    fn subject(&self) -> String {
        String::new()
    }

    /// Returns the question that a terminal asks before an [`Effect::Destroy`].
    fn question(&self) -> String {
        format!("{}?", Self::ABOUT)
    }

    /// Fails if the thing to change does not exist. Called before a terminal asks about an [`Effect::Destroy`].
    ///
    /// # Errors
    /// `E_NOT_FOUND`, or another reason why it cannot be done.
    fn look(&self, _context: &Context) -> Result<()> {
        Ok(())
    }

    /// Returns what the call is going to do, one line per effect, for a person who is asked to consent to it as a command.
    /// Needed if the arguments alone do not say it. The consent covers these lines only: if they have changed by the time it
    /// runs, the person is asked again.
    ///
    /// # Errors
    /// The reason why it cannot be done.
    fn foresee(&self, _context: &Context) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Whether the call only reads, takes microseconds, and depends on nothing but its arguments and the database. A server
    /// answers it on the thread that reads requests, and repeats the answer until something is committed. If it is also
    /// `ONE_AT_A_TIME`, it may be slow in a large database: it starts on that thread, and moves to another one if it is not
    /// done within a few milliseconds.
    fn is_hot(&self) -> bool {
        false
    }

    /// Returns what the shell does if the database file does not exist.
    fn missing_database(&self) -> MissingDatabase {
        match (Self::EFFECT.reads(), Self::SHAPE) {
            (false, _) => MissingDatabase::Create,
            // Config repos and workspaces can be inspected without a database.
            (true, Shape::Envelope | Shape::Rpc) => MissingDatabase::StandIn,
            (true, _) => MissingDatabase::StandInUnlessNamed,
        }
    }

    /// Takes back a result that is useless unless the user saw the reply, and returns the error to show. Called if the shell
    /// could not print the reply with this data.
    fn unprinted(_context: &Context, _data: &Value, error: Error) -> Error {
        error
    }

    /// Runs the operation.
    ///
    /// # Errors
    /// A code of `error.rs` with a message that names the thing.
    fn run(self, context: &Context) -> Result<Reply>;
}

/// The output of an operation that agents get no data from.
#[derive(schemars::JsonSchema)]
pub struct NoOutput {}

/// The answer of an operation: a body for people, and data for programs.
#[derive(Debug)]
pub struct Reply {
    pub body: Body,
    /// The data for programs, which becomes the output of `--json` and structuredContent.
    pub data: Value,
    /// The data as JSON text for an agent, from [`Reply::written`]; `data` is null in that case.
    pub json: Option<String>,
    /// An entry for `_meta` in a tool's result: a key and its value.
    pub meta: Option<(&'static str, Value)>,
    /// What to do next. The shell prints them to stderr.
    pub hints: Vec<String>,
    /// What the user should know although the operation succeeded.
    pub warnings: Vec<String>,
    /// Further details. The shell prints them to stderr with `-v`, and then omits [`LISTED_BY_VERBOSE`] from its hints.
    pub details: Vec<String>,
    /// Whether `--check` found differences. If so, the shell exits with status 3.
    pub differs: bool,
    /// Whether a check found a problem. If so, the shell exits with status 1.
    pub failed: bool,
}

/// Ends a hint about the lines in [`Reply::details`].
pub const LISTED_BY_VERBOSE: &str = "; `-v` lists them";

/// The part of a reply for people.
#[derive(Debug)]
pub enum Body {
    Sentence(String),
    Table(Table),
    /// Verbatim text, such as a prompt's content.
    Text(String),
    /// Verbatim bytes, such as an image.
    Media(Media),
    Diff(String),
    /// Several bodies, one after the other.
    Several(Vec<Body>),
    /// A body about files below a folder. A terminal names the folder once, and shows the paths relative to it.
    Below(String, Box<Body>),
}

/// Bytes with their metadata in MCP.
#[derive(Debug)]
pub struct Media {
    pub uri: String,
    pub mime_type: Option<String>,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct Table {
    pub columns: &'static [&'static str],
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// What a terminal shows if there are no rows.
    pub empty: String,
}

/// Returns the text of a table's cell in a form that is safe to show: stored text may contain line ends, tabs or terminal
/// escapes.
pub fn cell(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().into()
}

impl Body {
    /// Returns a text of lines, each of which stays a single line whatever it contains. Questions to a person are built from
    /// it.
    pub fn lines<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Self {
        Body::Text(lines.into_iter().map(|line| marks::line(line.as_ref()).into_owned() + "\n").collect())
    }

    /// Appends its sentences and texts, each on its own lines.
    fn push_text(&self, text: &mut String) {
        match self {
            Body::Sentence(part) | Body::Text(part) | Body::Diff(part) => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(part);
            }
            Body::Several(bodies) => bodies.iter().for_each(|body| body.push_text(text)),
            Body::Below(_, body) => body.push_text(text),
            Body::Table(_) | Body::Media(_) => {}
        }
    }
}

impl Reply {
    /// Returns a reply that consists of one sentence and data.
    pub fn sentence(text: impl Into<String>, data: Value) -> Self {
        Self::new(Body::Sentence(text.into()), data)
    }

    pub fn new(body: Body, data: Value) -> Self {
        let (hints, warnings, details) = Default::default();
        Self { body, data, json: None, meta: None, hints, warnings, details, differs: false, failed: false }
    }

    /// Returns the reply of an operation that has already shown everything.
    pub fn emitted() -> Self {
        Self::new(Body::Several(Vec::new()), Value::Null)
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_null() && matches!(&self.body, Body::Several(bodies) if bodies.is_empty())
    }

    /// Returns a reply with data: for the shell as a value, for an agent as the final JSON text.
    pub fn written(context: &Context, body: Body, data: &impl Serialize) -> Result<Self> {
        let unwritable = |error| Error::internal("a response cannot be written as JSON").with_source(error);
        if context.is_shell() {
            return Ok(Self::new(body, serde_json::to_value(data).map_err(unwritable)?));
        }
        let json = serde_json::to_string(data).map_err(unwritable)?;
        Ok(Self { json: Some(json), ..Self::new(body, Value::Null) })
    }

    /// Returns the reply for programs as one value: its data, or else its text.
    pub fn into_value(self) -> Value {
        if let Some(written) = self.json.and_then(|json| serde_json::from_str(&json).ok()) {
            return written;
        }
        if !self.data.is_null() {
            return self.data;
        }
        let mut text = String::new();
        self.body.push_text(&mut text);
        if text.is_empty() { Value::Null } else { serde_json::json!({ "text": text }) }
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds warnings: what the user should know although the operation succeeded.
    #[must_use]
    pub fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}
