//! What an operation is: one thing a user can do, defined once, reached from the shell and as an MCP tool.
//!
//! A struct whose fields are the arguments implements [`Operation`]; [`Entry::of`] erases its type, so that both
//! faces, the reference pages and the tests walk one table ([`Domains::operations`]).

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
pub use context::{Ask, Confirmation, Context, Elicit, Emit, Line, MAX_ANSWER, PAGE, Progress, Say};
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
pub use watching::{Ring, Watch, Watching};

/// The experimental capability by which mcpkg says, as the client of a plugin, which database it serves: a server of the same one is not
/// its plugin.
pub const PLUGIN_OF: &str = "mcpkg/pluginOf";

/// Which faces an operation shows itself on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faces {
    /// The shell and MCP tools.
    Both,
    /// The shell, and agents as a command alone, which a person consents to each time: see [`Operation::foresee`].
    Command,
    /// The shell only: agents never import, export, back up, restore or manage projects.
    Shell,
    /// MCP tools only, where the shell has its own form.
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

    /// Whether the shell has it.
    pub const fn shell(self) -> bool {
        matches!(self, Faces::Both | Faces::Command | Faces::Shell)
    }
}

/// What an operation does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it runs on a handle that cannot write.
    Read,
    /// Nothing that others see: it stores a confirm token, or a request for consent, for its caller.
    Offer,
    /// Adds, and touches nothing that is there.
    Create,
    /// Changes or deletes what `restore` can bring back.
    Write,
    /// Loses something for good: asks on a terminal, needs `--yes` without one.
    Destroy,
}

impl Effect {
    /// Whether the database stays as it is, to the last row.
    pub const fn reads(self) -> bool {
        matches!(self, Effect::Read)
    }

    /// Whether what the database serves changes: no read-only caller may call it, and the trail tells of it.
    pub const fn changes(self) -> bool {
        matches!(self, Effect::Create | Effect::Write | Effect::Destroy)
    }
}

/// Which writer in `present` shows a reply and an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A sentence, as in contract 001.
    Sentence,
    /// The envelope of contract 000.
    Envelope,
    /// One JSON object, as text and as structuredContent, and a typed error object where it fails (contracts 002 to
    /// 004); each begins with this `schema_version`, where there is one.
    Json(Option<&'static str>),
    /// The same where it succeeds; where it fails, a JSON-RPC error of contract 003, in the revisions that let a tool
    /// answer one.
    Rpc,
    /// What a tool that is data put out: its text and its files as blocks, its data as structuredContent as it is, and
    /// the facts of the run in `_meta`.
    Output,
}

/// How often something may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many times a second, on the whole.
    pub per_second: NonZeroU32,
    /// How many times at once, after a while of none.
    pub burst: NonZeroU32,
}

impl Rate {
    /// What takes microseconds.
    pub const OFTEN: Self = Self::of(20, 60);

    /// What does something on other hosts, after a person consented.
    pub const SELDOM: Self = Self::of(1, 5);

    /// What no client that started the server itself reaches but by mistake.
    pub const LOCAL: Self = Self::of(50, 50);

    /// Returns the rate of so many a second, and three times as many at once.
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

/// What the shell does where the database file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingDatabase {
    Create,
    /// The command is refused: made now, it would be looked at as if it were the one that was meant.
    Refuse,
    /// An empty one stands in for it until the command ends.
    StandIn,
    /// The same where it is the user's usual one; one that `--db` or `MCPKG_DB` names, perhaps mistyped, is refused.
    StandInUnlessNamed,
}

/// One thing a user can do. The fields of the struct are its arguments; their doc comments are the help.
pub trait Operation: clap::Args + DeserializeOwned + schemars::JsonSchema + Send + 'static {
    /// The MCP tool's name, also where no face shows it as a tool.
    const TOOL: &'static str;
    /// The shell command's words after `mcpkg`.
    const CLI: &'static [&'static str];
    /// A title for people.
    const TITLE: &'static str;
    /// What it does: the tool's description and the first line of `--help`. No final period.
    const ABOUT: &'static str;
    /// What the tool's description says behind [`Operation::ABOUT`], unless the server stands in for a contract: the words that
    /// users say when they need it, since agents search the descriptions for them. No final period.
    const USER_WORDS: &'static str = "";
    /// Synonyms by which agents look for it, in general words and never whole requests. Claude Code's tool search weighs them more than
    /// the words of a description, and less than those of a name.
    const SEARCH_HINT: &'static str = "";
    /// What else `--help` says.
    const HELP: &'static str = "";
    /// Command lines that show how the shell takes it, for `--help` and its man page: the plainest one first.
    const EXAMPLES: &'static [&'static str] = &[];
    /// Other words for the last one of `CLI`.
    const ALIASES: &'static [&'static str] = &[];
    /// What it does to the database.
    const EFFECT: Effect;
    /// Whether it reaches what lies outside of this machine, such as other hosts.
    const OPEN_WORLD: bool = false;
    /// Whether a second call with the same arguments does no harm: it changes nothing more, or it is refused.
    const IDEMPOTENT: bool = true;
    /// What it may change of what clients see; looked at only where it changes something.
    const CHANGES: Changes = Changes::PROJECT;
    /// Whether a server lists it also where the rest of its group is not listed.
    const ALWAYS_LISTED: bool = false;
    /// Whether it can be done at all in this build and in the folder that a server was started in: where it cannot, only a server that
    /// stands in for a contract lists it.
    const WORKS: fn(&Selection) -> bool = |_| true;
    /// Whether a server runs it once at a time for each asker, since it costs far more than other reads.
    const ONE_AT_A_TIME: bool = false;
    /// Whether it may take minutes, since it waits for another host or works through a whole tree. A server runs it on
    /// a thread of its own, and as a task where the client has the tasks extension; it calls [`Context::step_aside`]
    /// before what takes long, and looks at [`Context::is_cancelled`].
    const LONG: bool = false;
    /// Whether it may need a person's consent: the user behind an agent is then asked through the client.
    const MAY_NEED_CONSENT: bool = false;
    /// How often one asker may call it over HTTP; as often as it likes where `None`. Where it has a rate and does more than read, a
    /// client that started the server itself has [`Rate::LOCAL`].
    const RATE: Option<Rate> = None;
    /// Whether it runs commands of every source, and asks a person about each plan itself: a server that runs none does not
    /// list it.
    const RUNS_COMMANDS: bool = false;
    /// Whether a call with these arguments does nothing but read mcpkg's own data, though calls with others do more.
    const READS: fn(Domains, &Map<String, Value>) -> bool = |_, _| false;
    /// How its reply looks.
    const SHAPE: Shape = Shape::Sentence;
    /// The group it belongs to.
    const GROUP: &'static str;
    const FACES: Faces;
    /// The struct that describes its data, where agents get data: makes outputSchema and structuredContent.
    type Output: schemars::JsonSchema;
    /// Where it lists something, the key of its data under which the rows stand; `next_cursor` beside it says that more follow.
    const LISTS: Option<&'static str> = None;
    /// Whether agents get the data as structuredContent.
    const STRUCTURED: bool = false;
    /// Whether its answer is stored content, which an agent gets as one block and nowhere else.
    const CONTENT: bool = false;
    /// The contract's input schema, as JSON, where the derive cannot say it; the struct takes what it allows.
    const SCHEMA: Option<&'static str> = None;
    /// The properties that mcpkg adds to the contract's, as a JSON object: listed under its own name alone. Every argument of the struct
    /// is taken, listed or not.
    const ADDED: &'static str = "{}";

    /// The command that an envelope names, with the flags that make it another one, such as `deploy --apply`.
    fn command(&self) -> String {
        Self::CLI.join(" ")
    }

    /// The name of what it is done to, for the trail.
    fn subject(&self) -> String {
        String::new()
    }

    /// What a terminal asks before a [`Effect::Destroy`].
    fn question(&self) -> String {
        format!("{}?", Self::ABOUT)
    }

    /// Fails where there is nothing to do it to: looked at before a terminal asks about a [`Effect::Destroy`].
    ///
    /// # Errors
    /// `E_NOT_FOUND`, or what else keeps it from being done.
    fn look(&self, _context: &Context) -> Result<()> {
        Ok(())
    }

    /// Returns what it would do, a line each, for a person who is asked about it as a command, where its arguments alone do not
    /// say it. They consent to these lines: where they read otherwise when it is run, it is asked for again.
    ///
    /// # Errors
    /// What keeps it from being done.
    fn foresee(&self, _context: &Context) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Whether it only reads, takes microseconds, and answers by its arguments and the database alone. A server answers it on
    /// the thread that reads requests, and gives the same answer again while nothing was committed. Where it is run once at a
    /// time, it may be long in a large database: it is begun there, and run elsewhere where a few milliseconds are not enough.
    fn is_hot(&self) -> bool {
        false
    }

    /// What the shell does where the database file does not exist.
    fn missing_database(&self) -> MissingDatabase {
        match (Self::EFFECT.reads(), Self::SHAPE) {
            (false, _) => MissingDatabase::Create,
            // A config repo and a workspace are looked at without a database.
            (true, Shape::Envelope | Shape::Rpc) => MissingDatabase::StandIn,
            (true, _) => MissingDatabase::StandInUnlessNamed,
        }
    }

    /// Takes back what nobody can use without having seen the reply, whose data this is, and returns what to say of it:
    /// the shell could not print the reply.
    fn unprinted(_context: &Context, _data: &Value, error: Error) -> Error {
        error
    }

    /// Does it.
    ///
    /// # Errors
    /// A code of `error.rs` with a message that names the thing.
    fn run(self, context: &Context) -> Result<Reply>;
}

/// The output of an operation that agents get no data from.
#[derive(schemars::JsonSchema)]
pub struct NoOutput {}

/// What an operation answers.
#[derive(Debug)]
pub struct Reply {
    pub body: Body,
    /// For programs: `--json`, structuredContent.
    pub data: Value,
    /// The data as the JSON that an agent gets, where it was written as that; `data` is null then.
    pub json: Option<String>,
    /// What is known also, for `_meta` of a tool's result: a key and its value.
    pub meta: Option<(&'static str, Value)>,
    /// What to do next; the shell writes them to stderr.
    pub hints: Vec<String>,
    /// What the user should know though it went well.
    pub warnings: Vec<String>,
    /// Lines for who wants to know more; the shell writes them to stderr with `-v`, and leaves [`LISTED_BY_VERBOSE`] out of
    /// its hints then.
    pub details: Vec<String>,
    /// Whether something differs where `--check` asked: the shell's exit status is 3.
    pub differs: bool,
    /// Whether what was looked at is not well: the shell's exit status is 1.
    pub failed: bool,
}

/// Ends a hint about what stands in [`Reply::details`].
pub const LISTED_BY_VERBOSE: &str = "; `-v` lists them";

/// The part of a reply for people.
#[derive(Debug)]
pub enum Body {
    /// One sentence, without a final period.
    Sentence(String),
    Table(Table),
    /// Text as it is, such as a prompt's content.
    Text(String),
    /// Bytes as they are, such as an image.
    Media(Media),
    Diff(String),
    /// Several, one after the other.
    Several(Vec<Body>),
    /// What lies below a folder: a terminal names the folder once, and the paths in it relative to it.
    Below(String, Box<Body>),
}

/// Bytes with what MCP says of them.
#[derive(Debug)]
pub struct Media {
    pub uri: String,
    pub mime_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct Table {
    pub columns: &'static [&'static str],
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<String>>,
    /// What a terminal reads instead of no rows.
    pub empty: String,
}

/// Returns a cell of a table as it is shown: a stored text may hold line ends, tabs or terminal escapes, none of which belong
/// there.
pub fn cell(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().into()
}

impl Body {
    /// Returns a text of lines, each of which stays one line whatever its words hold: what a person is asked about is made of it.
    pub fn lines<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> Self {
        Body::Text(lines.into_iter().map(|line| marks::line(line.as_ref()).into_owned() + "\n").collect())
    }

    /// Appends its sentences and texts, each on lines of its own.
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
    /// Returns a reply of one sentence with data.
    pub fn sentence(text: impl Into<String>, data: Value) -> Self {
        Self::new(Body::Sentence(text.into()), data)
    }

    /// Returns a reply with another body.
    pub fn new(body: Body, data: Value) -> Self {
        let (hints, warnings, details) = Default::default();
        Self { body, data, json: None, meta: None, hints, warnings, details, differs: false, failed: false }
    }

    /// Returns the reply of what was shown as it came, and has nothing to add.
    pub fn emitted() -> Self {
        Self::new(Body::Several(Vec::new()), Value::Null)
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.data.is_null() && matches!(&self.body, Body::Several(bodies) if bodies.is_empty())
    }

    /// Returns a reply with data: for the shell as a value, for an agent as the JSON that it gets.
    pub fn written(context: &Context, body: Body, data: &impl Serialize) -> Result<Self> {
        let unwritable = |error| Error::internal("a response cannot be written as JSON").with_source(error);
        if context.is_shell() {
            return Ok(Self::new(body, serde_json::to_value(data).map_err(unwritable)?));
        }
        let json = serde_json::to_string(data).map_err(unwritable)?;
        Ok(Self { json: Some(json), ..Self::new(body, Value::Null) })
    }

    /// Returns what programs get of it as one value: its data, else its text.
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

    /// Adds what the user should know though it went well.
    #[must_use]
    pub fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}
