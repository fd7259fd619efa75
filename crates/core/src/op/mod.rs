//! Operations: each is one thing that a user can do. It is defined once, and offered in the shell, as an MCP tool, or
//! both.
//!
//! A struct whose fields are the arguments implements [`Operation`]. [`Entry::of`] erases its type, so that the shell, the
//! servers, the reference pages and the tests can all read one table ([`Domains::operations`]).

mod audience;
mod caller;
mod changes;
mod context;
mod domain;
mod entry;
mod finding;
mod for_shell;
mod grouped;
mod limit;
mod names;
mod namespace;
mod pick;
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

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::marks;
use mcpkg_store::projects::Selection;

pub use audience::Audience;
pub use caller::{Caller, Client, Connection, Grant, Holder, Identity, InstallScope, Person, Rights, SignedIn};
pub use changes::{Changes, Reach};
pub use context::{
    Ask, AskedIn, Began, Confirmation, Context, Elicit, Emit, Empty, Line, MAX_ANSWER, PAGE, Progress, Say, approved,
    noted,
};
pub use domain::{DeployRoot, Domain, Domains, Group, Listed, Original};
pub use entry::{Call, Entry};
pub use finding::{Finding, Health};
pub use for_shell::{first_clause, for_shell};
pub use grouped::grouped;
pub use limit::limit;
pub use names::{Name, Names, Typed};
pub use namespace::Namespace;
pub use pick::{Choose, Pick, PickGroup, PickItem};
pub use projected::{Hints, Projected, Projections, Run};
pub use resource::{Completing, Contents, ListedIn, Live, Named, Resource, ResourceRequest, Validator, Values, newest};
pub use served::{Answer, Content, Head, Sent, Served};
pub use surface::Surface;
pub use undoable::{Alone, Undo, Undoable};
pub use watching::{Ring, Watch, Watching};

/// An experimental MCP capability, in which mcpkg tells a plugin which database mcpkg serves. A plugin that is itself
/// a server of this database refuses the connection, because mcpkg would then be its own plugin.
pub const PLUGIN_OF: &str = "mcpkg/pluginOf";

/// The places where an operation is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faces {
    /// In the shell and as an MCP tool.
    Both,
    /// In the shell. Agents can only run it as a command, which needs a person's consent each time: see
    /// [`Operation::foresee`].
    Command,
    /// In the shell only, such as importing, backing up and managing projects.
    Shell,
    /// As an MCP tool only, because the shell has another command for the same purpose.
    Tool,
}

impl Faces {
    /// Whether agents see the operation as a tool.
    pub const fn tool(self) -> bool {
        matches!(self, Faces::Both | Faces::Tool)
    }

    /// Whether agents can find the operation among the commands.
    pub const fn command(self) -> bool {
        matches!(self, Faces::Both | Faces::Tool | Faces::Command)
    }

    pub const fn shell(self) -> bool {
        matches!(self, Faces::Both | Faces::Command | Faces::Shell)
    }
}

/// The effect of an operation on data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads only. The operation runs on a handle that cannot write.
    Read,
    /// Changes nothing that others can see: it stores a confirm token or a request for consent for its caller.
    Offer,
    /// Adds something, and leaves everything that exists unchanged.
    Create,
    /// Changes something, or deletes something that can be brought back or added again.
    Write,
    /// Destroys something for good. A terminal asks first; without a terminal, the user has to pass `--yes`.
    Destroy,
}

impl Effect {
    pub const fn reads(self) -> bool {
        matches!(self, Effect::Read)
    }

    /// Returns what an operation with this effect does to data, in one word for people.
    pub const fn does(self) -> &'static str {
        match self {
            Effect::Read => "reads",
            Effect::Offer | Effect::Create | Effect::Write => "writes",
            Effect::Destroy => "destroys",
        }
    }

    /// Whether the operation changes data that the database serves. Callers that may only read cannot call such an
    /// operation, and the audit trail (`events`) records it.
    pub const fn changes(self) -> bool {
        matches!(self, Effect::Create | Effect::Write | Effect::Destroy)
    }
}

/// The format of an operation's replies and errors. The writers are in `present`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A sentence, as in contract 001 (prompts and resources).
    Sentence,
    /// The envelope of contract 000 (agentpack).
    Envelope,
    /// One JSON object, as text and as structuredContent, and a typed error object for a failure, as in contracts 002
    /// (`enact__*`) and 004 (workflows). Each object begins with this `schema_version`, if there is one.
    Json(Option<&'static str>),
    /// Like `Json` for a success. A failure is a JSON-RPC error of contract 003 (smctl), if the protocol revision
    /// allows that for tools.
    Rpc,
    /// The output of an installed tool: text and files as content blocks, data unchanged as structuredContent, and facts
    /// about the run in `_meta`.
    Output,
}

/// A limit on how often something may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The average number of calls per second.
    pub per_second: NonZeroU32,
    /// How many calls are allowed at once after a pause.
    pub burst: NonZeroU32,
}

impl Rate {
    /// A rate for calls that take microseconds.
    pub const OFTEN: Self = Self::of(20, 60);

    /// A rate for calls that act on other hosts after a person consented.
    pub const SELDOM: Self = Self::of(1, 5);

    /// A rate for a client that started the server itself. Such a client only exceeds it by mistake.
    pub const LOCAL: Self = Self::of(50, 50);

    /// Returns a rate with a burst of three times the calls per second.
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

/// The shell's reaction if the database file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingDatabase {
    Create,
    /// Refuses the command: a new, empty database could be mistaken for the one that the user meant.
    Refuse,
    /// Uses an empty database until the command ends.
    StandIn,
    /// Uses an empty database if the user's default one is missing. Refuses the command if `--db` or `MCPKG_DB` names a missing
    /// database, since the name may be mistyped.
    StandInUnlessNamed,
}

/// One thing that a user can do. The struct's fields are the arguments, and their doc comments are the help.
pub trait Operation: clap::Args + DeserializeOwned + schemars::JsonSchema + Send + 'static {
    /// The name of the MCP tool. It is set even if the operation is not offered as a tool.
    const TOOL: &'static str;
    /// The words of the shell command after `mcpkg`.
    const CLI: &'static [&'static str];
    /// A title for people.
    const TITLE: &'static str;
    /// What the operation does: the tool's description and the first line of `--help`. No final period.
    const ABOUT: &'static str;
    /// More text for the tool's description after [`Operation::ABOUT`]. Left out if the server presents itself as
    /// another program (`serve --as`). It contains the words of users who need the tool, because agents search
    /// descriptions for such words. No final period.
    const USER_WORDS: &'static str = "";
    /// Synonyms for agents that search for tools: general words, never whole requests. Claude Code's tool search ranks them
    /// above the words of a description and below those of a name.
    const SEARCH_HINT: &'static str = "";
    /// The rest of `--help`.
    const HELP: &'static str = "";
    /// Command lines for `--help` and the man page, the simplest one first.
    const EXAMPLES: &'static [&'static str] = &[];
    const ALIASES: &'static [&'static str] = &[];
    const EFFECT: Effect;
    /// Whether the operation reaches anything outside this machine, such as other hosts.
    const OPEN_WORLD: bool = false;
    /// Whether repeating a call with the same arguments is harmless, because it changes nothing more or is refused.
    const IDEMPOTENT: bool = true;
    /// The lists (prompts, resources, tools, skills) that the operation may change. Ignored if its effect changes nothing.
    const CHANGES: Changes = Changes::PROJECT;
    /// Whether a server lists the tool even if the rest of its group is not listed.
    const ALWAYS_LISTED: bool = false;
    /// Whether the operation can work in this build and in the folder in which the server was started. If not, only a
    /// server that presents itself as another program (`serve --as`) lists the tool.
    const WORKS: fn(&Selection) -> bool = |_| true;
    /// Whether a server runs only one call at a time for each caller, because the call is far more expensive than
    /// other calls that only read.
    const ONE_AT_A_TIME: bool = false;
    /// Whether a call may take minutes, because it waits for another host or works through a whole tree. A server runs it on
    /// its own thread, and as a task if the client has the tasks extension. The operation calls [`Context::step_aside`]
    /// before slow steps and checks [`Context::is_cancelled`].
    const LONG: bool = false;
    /// Whether a call may need a person's consent. If so, the client can ask the user behind the agent.
    const MAY_NEED_CONSENT: bool = false;
    /// How often one caller may call the operation over HTTP; `None` means without a limit. If the operation has a rate and
    /// is not read-only, a client that started the server itself is limited to [`Rate::LOCAL`].
    const RATE: Option<Rate> = None;
    /// Whether the operation runs commands from any source, and asks a person about each plan itself. A server that runs no
    /// commands does not list the tool.
    const RUNS_COMMANDS: bool = false;
    /// Whether a call with these arguments only reads mcpkg's own data, even if calls with other arguments do more.
    const READS: fn(Domains, &Map<String, Value>) -> bool = |_, _| false;
    const SHAPE: Shape = Shape::Sentence;
    const GROUP: &'static str;
    const FACES: Faces;
    /// The type of the operation's data, for agents that get data. It defines outputSchema and structuredContent.
    type Output: schemars::JsonSchema;
    /// For a list, the key of the rows in the data. `next_cursor` next to the rows means that there are more.
    const LISTS: Option<&'static str> = None;
    const STRUCTURED: bool = false;
    /// Whether the answer is stored content, which an agent gets as a single block.
    const CONTENT: bool = false;
    /// The contract's input schema as JSON, if the derive cannot express it. The struct accepts everything that the schema
    /// allows.
    const SCHEMA: Option<&'static str> = None;
    /// Properties that mcpkg adds to the contract's schema, as a JSON object. Only a server under mcpkg's own name lists
    /// them. Every argument of the struct is accepted, whether or not it is listed.
    const ADDED: &'static str = "{}";

    /// Returns the command for an envelope, with the flags that make a difference, such as `deploy --apply`.
    fn command(&self) -> String {
        Self::CLI.join(" ")
    }

    /// Returns the name of the thing that the call changes, for the audit trail (`events`).
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
    /// `E_NOT_FOUND`, or another reason why the change cannot be made.
    fn look(&self, _context: &Context) -> Result<()> {
        Ok(())
    }

    /// Returns the effects of the call, one per line, for a person who is asked to consent to the call as a command. Needed if
    /// the arguments alone do not show the effects. The consent covers only these lines: if they have changed by the time the
    /// call runs, the person is asked again.
    ///
    /// # Errors
    /// The reason why the call cannot have these effects.
    fn foresee(&self, _context: &Context) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Whether the call only reads, takes microseconds, and depends only on its arguments and the database. A server answers
    /// such a call on the thread that reads requests, and repeats the answer until something is committed. A call that is
    /// also `ONE_AT_A_TIME` may be slow in a large database: it starts on that thread, and moves to another one if it takes
    /// longer than a few milliseconds.
    fn is_hot(&self) -> bool {
        false
    }

    /// Whether the call writes files of the user, for an operation that only reads the database. A read-only console refuses
    /// such a call.
    fn writes_files(&self) -> bool {
        false
    }

    /// Returns the shell's reaction if the database file does not exist.
    fn missing_database(&self) -> MissingDatabase {
        match (Self::EFFECT.reads(), Self::SHAPE) {
            (false, _) => MissingDatabase::Create,
            // Config repos and workspaces can be inspected without a database.
            (true, Shape::Envelope | Shape::Rpc) => MissingDatabase::StandIn,
            (true, _) => MissingDatabase::StandInUnlessNamed,
        }
    }

    /// Called if the shell could not print the reply with this data. If the result is useless unless the user saw it,
    /// the operation takes the result back here. Returns the error to show.
    fn unprinted(_context: &Context, _data: &Value, error: Error) -> Error {
        error
    }

    /// Runs the operation. Errors have a [`Code`](mcpkg_base::error::Code) and a message that names the thing.
    fn run(self, context: &Context) -> Result<Reply>;
}

/// Returns the error for a change in a read-only console.
pub fn read_only() -> Error {
    Error::new(Code::ReadOnly, "The console was started with --read-only")
}

/// The output of an operation that agents get no data from.
#[derive(schemars::JsonSchema)]
pub struct NoOutput {}

/// The answer of an operation: a body for people, and data for programs.
#[derive(Debug)]
pub struct Reply {
    pub body: Body,
    pub data: Value,
    /// The data as JSON text for an agent, from [`Reply::written`]; `data` is null in that case.
    pub json: Option<String>,
    /// An entry for `_meta` in a tool's result: a key and its value.
    pub meta: Option<(&'static str, Value)>,
    /// Hints about what to do next. The shell prints them to stderr.
    pub hints: Vec<String>,
    /// Problems that the user should know about although the operation succeeded.
    pub warnings: Vec<String>,
    /// Further details. The shell prints them to stderr with `-v`, and then omits [`LISTED_BY_VERBOSE`] from the hints.
    pub details: Vec<String>,
    /// Whether `--check` found differences, or the operation left some. If so, the shell exits with status 3.
    pub differs: bool,
    /// Whether a check found a problem. If so, the shell exits with status 1.
    pub failed: bool,
}

/// The end of a hint about the lines in [`Reply::details`].
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
    /// A body about files below a folder. A terminal prints the folder once, and the paths relative to it.
    Below(String, Box<Body>),
}

/// Bytes with their metadata in MCP.
#[derive(Debug)]
pub struct Media {
    pub uri: String,
    pub mime_type: Option<String>,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub columns: &'static [&'static str],
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// The text that a terminal prints if there are no rows.
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
    /// Returns a text with these lines, for example for a question to a person. Control characters are replaced, so
    /// that each line stays a single line.
    pub fn lines<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Self {
        Body::Text(lines.into_iter().map(|line| marks::line(line.as_ref()).into_owned() + "\n").collect())
    }

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

    /// Returns a reply whose data is a value for the shell, and final JSON text for an agent.
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

    /// Adds a hint about what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}
