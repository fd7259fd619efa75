//! An operation with its type erased, so that tables can list it for the shell, the servers, the reference pages and the
//! tests.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::{Changes, Context, Domains, Effect, Faces, MissingDatabase, Operation, Rate, Reply, Shape};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::projects::Selection;

/// An operation with its type erased.
#[derive(Clone, Copy)]
pub struct Entry {
    /// See [`Operation::TOOL`].
    pub tool: &'static str,
    /// See [`Operation::CLI`].
    pub cli: &'static [&'static str],
    /// See [`Operation::TITLE`].
    pub title: &'static str,
    /// See [`Operation::ABOUT`].
    pub about: &'static str,
    /// See [`Operation::USER_WORDS`].
    pub user_words: &'static str,
    /// See [`Operation::SEARCH_HINT`].
    pub search_hint: &'static str,
    /// See [`Operation::HELP`].
    pub help: &'static str,
    /// See [`Operation::EXAMPLES`].
    pub examples: &'static [&'static str],
    /// See [`Operation::ALIASES`].
    pub aliases: &'static [&'static str],
    /// See [`Operation::EFFECT`].
    pub effect: Effect,
    /// See [`Operation::OPEN_WORLD`].
    pub open_world: bool,
    /// See [`Operation::IDEMPOTENT`].
    pub idempotent: bool,
    /// See [`Operation::CHANGES`].
    pub changes: Changes,
    /// See [`Operation::ALWAYS_LISTED`].
    pub always_listed: bool,
    /// See [`Operation::WORKS`].
    pub works: fn(&Selection) -> bool,
    /// See [`Operation::ONE_AT_A_TIME`].
    pub one_at_a_time: bool,
    /// See [`Operation::LONG`].
    pub long: bool,
    /// See [`Operation::MAY_NEED_CONSENT`].
    pub may_need_consent: bool,
    /// See [`Operation::RATE`].
    pub rate: Option<Rate>,
    /// See [`Operation::RUNS_COMMANDS`].
    pub runs_commands: bool,
    /// See [`Operation::READS`].
    pub reads: fn(Domains, &Map<String, Value>) -> bool,
    /// See [`Operation::SHAPE`].
    pub shape: Shape,
    /// See [`Operation::GROUP`].
    pub group: &'static str,
    /// See [`Operation::FACES`].
    pub faces: Faces,
    /// See [`Operation::LISTS`].
    pub lists: Option<&'static str>,
    /// See [`Operation::STRUCTURED`].
    pub structured: bool,
    /// See [`Operation::CONTENT`].
    pub content: bool,
    schema: Option<&'static str>,
    added: &'static str,
    arguments: fn(clap::Command) -> clap::Command,
    input: fn() -> schemars::Schema,
    output: fn() -> schemars::Schema,
    from_shell: fn(&clap::ArgMatches) -> Result<Call, clap::Error>,
    from_agent: fn(&Value) -> Result<Call, serde_json::Error>,
    unprinted: fn(&Context, &Value, Error) -> Error,
}

/// The arguments that a tool accepts.
struct Takes {
    names: HashSet<String>,
    /// Whether the tool's schema forbids other arguments.
    is_closed: bool,
}

/// An operation with its arguments, ready to run.
pub struct Call {
    entry: Entry,
    subject: String,
    question: String,
    command: String,
    hot: bool,
    writes_files: bool,
    missing_database: MissingDatabase,
    operation: Box<dyn Runs>,
}

/// The interface of [`Call`] to the typed operation.
trait Runs: Send {
    fn look(&self, context: &Context) -> Result<()>;
    fn foresee(&self, context: &Context) -> Result<Vec<String>>;
    fn run(self: Box<Self>, context: &Context) -> Result<Reply>;
}

impl<O: Operation> Runs for O {
    fn look(&self, context: &Context) -> Result<()> {
        Operation::look(self, context)
    }

    fn foresee(&self, context: &Context) -> Result<Vec<String>> {
        Operation::foresee(self, context)
    }

    fn run(self: Box<Self>, context: &Context) -> Result<Reply> {
        Operation::run(*self, context)
    }
}

impl Entry {
    /// Erases the type of the operation `O`.
    pub const fn of<O: Operation>() -> Self {
        Self {
            tool: O::TOOL,
            cli: O::CLI,
            title: O::TITLE,
            about: O::ABOUT,
            user_words: O::USER_WORDS,
            search_hint: O::SEARCH_HINT,
            help: O::HELP,
            examples: O::EXAMPLES,
            aliases: O::ALIASES,
            effect: O::EFFECT,
            open_world: O::OPEN_WORLD,
            idempotent: O::IDEMPOTENT,
            changes: O::CHANGES,
            always_listed: O::ALWAYS_LISTED,
            works: O::WORKS,
            one_at_a_time: O::ONE_AT_A_TIME,
            long: O::LONG,
            may_need_consent: O::MAY_NEED_CONSENT,
            rate: O::RATE,
            runs_commands: O::RUNS_COMMANDS,
            reads: O::READS,
            shape: O::SHAPE,
            group: O::GROUP,
            faces: O::FACES,
            lists: O::LISTS,
            structured: O::STRUCTURED,
            content: O::CONTENT,
            schema: O::SCHEMA,
            added: O::ADDED,
            arguments: |command| {
                super::for_shell(O::augment_args(command)).about(super::first_clause(O::ABOUT)).long_about(O::ABOUT)
            },
            input: crate::schema::generate::<O>,
            output: crate::schema::generate::<O::Output>,
            from_shell: |matches| O::from_arg_matches(matches).map(|operation| Call::new(Self::of::<O>(), operation)),
            from_agent: |arguments| O::deserialize(arguments).map(|operation| Call::new(Self::of::<O>(), operation)),
            unprinted: O::unprinted,
        }
    }

    /// Returns the tool's description for a server that uses mcpkg's own name.
    pub fn description(&self) -> String {
        match self.user_words {
            "" => self.about.to_owned(),
            words => format!("{}. {words}", self.about.trim_end_matches('.')),
        }
    }

    /// Returns the operation's name in the audit trail and the log, such as `prompt.create`.
    pub fn kind(&self) -> String {
        self.cli.join(".")
    }

    /// Whether `kind` is the operation's name in the audit trail.
    pub fn is_kind(&self, kind: &str) -> bool {
        self.cli.iter().copied().eq(kind.split('.'))
    }

    /// Takes back a result that is useless if the user did not see the reply; see [`Operation::unprinted`]. `data` is the
    /// reply's data.
    pub fn unprinted(&self, context: &Context, data: &Value, error: Error) -> Error {
        (self.unprinted)(context, data, error)
    }

    /// Adds the arguments to a shell command, lazily: a run of mcpkg uses only one of its many commands.
    pub fn augment(&self, command: clap::Command) -> clap::Command {
        command.defer(self.arguments)
    }

    /// Returns the JSON Schema of the arguments, including mcpkg's additions to a contract.
    pub fn input_schema(&self) -> Map<String, Value> {
        let mut schema = self.contract_schema();
        let added: Map<String, Value> = serde_json::from_str(self.added).unwrap_or_default();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.extend(added);
        }
        schema
    }

    /// Returns the JSON Schema of the arguments without mcpkg's additions to a contract.
    pub fn contract_schema(&self) -> Map<String, Value> {
        match self.schema {
            Some(schema) => serde_json::from_str(schema).unwrap_or_default(),
            None => crate::schema::contract_form((self.input)()),
        }
    }

    /// Whether the schema of the arguments is a contract's own text.
    pub fn has_contract_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Returns the JSON Schema of the data, if agents get the data.
    pub fn output_schema(&self) -> Option<Map<String, Value>> {
        self.structured.then(|| crate::schema::contract_form((self.output)()))
    }

    /// Parses the arguments of a shell command.
    ///
    /// If the arguments are invalid, the error is clap's usage error.
    pub fn from_shell(&self, matches: &clap::ArgMatches) -> Result<Call, clap::Error> {
        (self.from_shell)(matches)
    }

    /// Parses the arguments of a tool call.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` with the mistake and the arguments that the tool accepts; `E_SCHEMA_VERSION`.
    pub fn from_agent(&self, arguments: Value) -> Result<Call> {
        let invalid = |why: String| {
            let schema = self.input_schema();
            let takes: Vec<_> = schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
            Error::new(Code::InvalidArgument, format!("Invalid arguments for {}: {why}", self.tool)).hint(
                if takes.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", takes.join(", ")) },
            )
        };
        self.check_version(&arguments)?;
        if let Some(unknown) = self.unknown(&arguments) {
            let near = self.nearest_argument(&unknown).map(|near| format!(", did you mean `{near}`?"));
            return Err(invalid(format!("unknown field `{unknown}`{}", near.unwrap_or_default())));
        }
        (self.from_agent)(&arguments).map_err(|error| {
            // serde does not report which field is wrong.
            let misfit = self.misfit(&arguments).map_or(String::new(), |name| format!("`{name}`: "));
            invalid(format!("{misfit}{error}"))
        })
    }

    /// Parses the arguments of a tool call, ignoring unknown ones.
    pub fn from_lenient_agent(&self, mut arguments: Value) -> Result<Call> {
        while let (Some(unknown), Some(given)) = (self.unknown(&arguments), arguments.as_object_mut()) {
            given.shift_remove(&unknown);
        }
        self.from_agent(arguments)
    }

    /// Returns an argument whose value does not match its schema's type or list of allowed values.
    fn misfit(&self, arguments: &Value) -> Option<String> {
        let schema = self.input_schema();
        let wrong = |(name, value): &(&String, &Value)| {
            let property = &schema["properties"][name.as_str()];
            let of_type = match property["type"].as_str() {
                Some("string") => value.is_string(),
                Some("boolean") => value.is_boolean(),
                Some("integer") => value.is_i64() || value.is_u64(),
                Some("number") => value.is_number(),
                Some("array") => value.is_array(),
                Some("object") => value.is_object(),
                _ => property.get("const").is_none_or(|only| value.is_boolean() || only == *value),
            };
            let items = property["items"]["enum"].as_array();
            let among = match value {
                Value::Array(values) => items.is_none_or(|known| values.iter().all(|value| known.contains(value))),
                _ => property["enum"].as_array().is_none_or(|known| known.contains(value)),
            };
            !(of_type && among)
        };
        let wrong: Vec<_> = arguments.as_object()?.iter().filter(wrong).collect();
        // Prefer an argument that is not null: many fields accept null although their schemas do not say so.
        wrong.iter().find(|(_, value)| !value.is_null()).or(wrong.first()).map(|(name, _)| (*name).clone())
    }

    /// Refuses a `schema_version` whose major version differs from that of the operation's answers. The minor version may
    /// differ.
    fn check_version(&self, arguments: &Value) -> Result<()> {
        let (Shape::Json(Some(ours)), Some(given)) = (self.shape, arguments.get("schema_version")) else {
            return Ok(());
        };
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if given.as_str().is_some_and(|given| major(given) == major(ours)) {
            return Ok(());
        }
        Err(Error::new(Code::SchemaVersion, format!("Arguments of schema_version {given} are not supported"))
            .hint(format!("leave out schema_version, or write the arguments as \"{ours}\" defines them"))
            .with_details(serde_json::json!({ "schema_version": given, "supported": [ours] })))
    }

    /// Returns the known argument that is most similar to a mistyped one.
    fn nearest_argument(&self, unknown: &str) -> Option<String> {
        let schema = self.input_schema();
        let known = schema["properties"].as_object()?;
        mcpkg_base::error::nearest(unknown, known.keys().map(String::as_str)).map(str::to_owned)
    }

    /// Returns the first argument that the tool does not know and must refuse. The tools of contract 003 (smctl) refuse
    /// all unknown arguments, although their schemas do not say so: a mistyped `no_delete` must not delete. The tools
    /// of contracts 002 (`enact__*`) and 004 (workflows) do the same if they take any arguments: `arguments` instead of
    /// `args` would run a tool without its arguments. Other tools refuse unknown arguments only if their schemas forbid
    /// them.
    fn unknown(&self, arguments: &Value) -> Option<String> {
        let given = arguments.as_object().filter(|given| !given.is_empty())?;
        if self.schema.is_none() && !matches!(self.shape, Shape::Json(_)) {
            return None;
        }
        let takes = self.takes();
        let is_closed = match self.shape {
            Shape::Rpc => true,
            Shape::Json(_) => !takes.names.is_empty(),
            Shape::Sentence | Shape::Envelope | Shape::Output => takes.is_closed,
        };
        let has_version = matches!(self.shape, Shape::Json(_));
        let is_known = |name: &str| takes.names.contains(name) || (has_version && name == "schema_version");
        given.keys().find(|name| is_closed && !is_known(name)).cloned()
    }

    /// Returns the arguments that the tool accepts. The tool's schema is read only once.
    fn takes(&self) -> Arc<Takes> {
        static READ: LazyLock<Mutex<HashMap<&'static str, Arc<Takes>>>> = LazyLock::new(Mutex::default);
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let takes = read.entry(self.tool).or_insert_with(|| {
            let schema = self.input_schema();
            let own = crate::schema::contract_form((self.input)());
            let both = [&schema, &own].map(|schema| schema.get("properties").and_then(Value::as_object));
            let names = both.into_iter().flatten().flat_map(Map::keys).cloned().collect();
            Arc::new(Takes { names, is_closed: schema.get("additionalProperties") == Some(&Value::Bool(false)) })
        });
        Arc::clone(takes)
    }

    /// Appends the event of a call whose arguments were invalid, if the operation changes something.
    pub fn refused(&self, context: &Context, error: &Error) {
        if self.effect.changes() {
            context.refused(&self.kind(), "", error);
        }
    }
}

impl Call {
    fn new<O: Operation>(entry: Entry, operation: O) -> Self {
        Self {
            entry,
            subject: operation.subject(),
            question: operation.question(),
            command: operation.command(),
            hot: operation.is_hot(),
            writes_files: operation.writes_files(),
            missing_database: operation.missing_database(),
            operation: Box::new(operation),
        }
    }

    /// Returns the question that a terminal asks before an [`Effect::Destroy`].
    pub fn question(&self) -> &str {
        &self.question
    }

    /// Fails if the thing to change does not exist; see [`Operation::look`].
    pub fn look(&self, context: &Context) -> Result<()> {
        self.operation.look(&context.reading())
    }

    /// Returns the effects of the call, for a person who is asked to consent; see [`Operation::foresee`].
    pub fn foresee(&self, context: &Context) -> Result<Vec<String>> {
        self.operation.foresee(&context.reading())
    }

    /// Returns the name of the command for an envelope; see [`Operation::command`].
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Whether a server may answer the call on its reading thread; see [`Operation::is_hot`].
    pub fn is_hot(&self) -> bool {
        self.hot
    }

    /// Whether the call writes files of the user although it only reads the database; see [`Operation::writes_files`].
    pub fn writes_files(&self) -> bool {
        self.writes_files
    }

    /// Returns the shell's reaction if the database file does not exist.
    pub fn missing_database(&self) -> MissingDatabase {
        self.missing_database
    }

    /// Runs an operation that was told to change nothing, such as a dry run, with a database handle that cannot write.
    /// A failure is not recorded in the audit trail, because the caller wanted no change.
    pub fn preview(self, context: &Context) -> Result<Reply> {
        self.operation.run(&context.reading())
    }

    /// Runs the operation, and records a refused change in the audit trail.
    ///
    /// # Errors
    /// `E_READ_ONLY` in a read-only console, if the call changes stored data or writes files.
    pub fn run(self, context: &Context) -> Result<Reply> {
        if context.is_read_only && (self.writes_files || !self.entry.effect.reads()) {
            return Err(super::read_only());
        }
        let (entry, subject) = (self.entry, self.subject);
        let result = match entry.effect.reads() {
            true => self.operation.run(&context.reading()),
            false => self.operation.run(context),
        };
        if let Err(error) = &result
            && entry.effect.changes()
        {
            context.refused(&entry.kind(), &subject, error);
        }
        result
    }
}
