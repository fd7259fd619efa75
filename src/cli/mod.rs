//! The shell face: parse, run one operation, render.
mod demo;
mod generate;
mod output;
mod serve;
mod tree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;

use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, MissingDatabase, Reply, Shape};
use crate::present;
use crate::redact::redact;
use crate::store::Store;
use crate::store::projects::Selection;

pub use tree::command;

use output::Output;

/// Runs the command line `arguments`, whose first is the program's name, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = match command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error, &arguments),
    };
    let globals = Globals::from(&matches);
    let output = Output::new(&globals);
    log(globals.verbose);
    match dispatch(&matches, &globals, &output) {
        Ok(status) => status,
        Err(error) => {
            output.error(&error);
            // A closed pipe is not an error: the reader, such as `head`, has read all that it needs.
            if output::is_closed_pipe(&error) { 0 } else { error.code().exit() }
        }
    }
}

/// The flags that every command takes.
pub(crate) struct Globals {
    pub(crate) db: Option<PathBuf>,
    pub(crate) project: Option<String>,
    pub(crate) project_by: &'static str,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: u8,
    pub(crate) color: clap::ColorChoice,
    pub(crate) yes: bool,
}

impl Globals {
    fn from(matches: &ArgMatches) -> Self {
        // Global flags stand at the level where they were written; the innermost has them all.
        let mut innermost = matches;
        while let Some((_, inner)) = innermost.subcommand() {
            innermost = inner;
        }
        let (project, project_by) = match innermost.get_one::<String>("project") {
            Some(name) => (Some(name.clone()), "--project"),
            None => (std::env::var("MCPKG_PROJECT").ok(), "MCPKG_PROJECT"),
        };
        Self {
            db: innermost.get_one("db").cloned().or_else(|| std::env::var_os("MCPKG_DB").map(PathBuf::from)),
            project: project.filter(|name| !name.is_empty()),
            project_by,
            json: innermost.get_flag("json"),
            quiet: innermost.get_flag("quiet"),
            verbose: innermost.get_count("verbose"),
            color: innermost.get_one::<clap::ColorChoice>("color").copied().unwrap_or(clap::ColorChoice::Auto),
            yes: innermost.get_flag("yes"),
        }
    }

    /// Opens the database that the flags name.
    fn open(&self) -> Result<Store> {
        Store::open(&self.database()?)
    }

    fn database(&self) -> Result<PathBuf> {
        self.db.clone().filter(|path| !path.as_os_str().is_empty()).or_else(crate::database::default_path).ok_or_else(
            || {
                Error::new(Code::Unavailable, "The user's data directory is not known, since HOME is not set")
                    .hint("name the database with --db PATH or MCPKG_DB")
            },
        )
    }

    /// Returns what the flags and the working directory say about the project.
    fn selection(&self) -> Selection {
        Selection {
            named: self.project.clone(),
            named_by: self.project_by,
            directory: working_directory().unwrap_or_default(),
        }
    }
}

/// The working directory as the database keeps it, links resolved.
fn working_directory() -> Option<String> {
    Selection::folder(&std::env::current_dir().ok()?.canonicalize().ok()?)
}

fn dispatch(matches: &ArgMatches, globals: &Globals, output: &Output) -> Result<u8> {
    let (name, inner) =
        matches.subcommand().ok_or_else(|| Error::internal("clap let an empty command line through"))?;
    match name {
        "serve" => return serve::run(inner, globals, output),
        "demo" => return demo::run(inner, output),
        "completions" => return generate::completions(inner, output),
        "man" => return generate::man(inner, output),
        _ => {}
    }
    let (entry, arguments) =
        tree::find(matches).ok_or_else(|| Error::internal(format!("`mcpkg {name}` has no operation")))?;
    let call = match entry.from_shell(arguments) {
        Ok(call) => call,
        Err(error) => return Err(Error::new(Code::InvalidArgument, error.to_string())),
    };
    if entry.effect == Effect::Destroy {
        output.confirm(Body::Several(Vec::new()), call.question(), globals.yes)?;
    }
    let database = globals.database()?;
    let missing = if database.exists() { MissingDatabase::Create } else { call.missing_database() };
    let stand_in = match missing {
        MissingDatabase::Create => None,
        MissingDatabase::StandIn => Some(stand_in()?),
        MissingDatabase::Refuse => {
            return Err(Error::new(Code::NotFound, format!("The database `{}` does not exist", database.display()))
                .hint("name it with --db, or make it with `mcpkg init`"));
        }
    };
    let opened = stand_in.as_ref().map_or_else(|| database.clone(), |folder| folder.path().join("mcpkg.db"));
    let mut context = Context::shell(Store::open(&opened)?, globals.selection());
    context.stands_for = stand_in.as_ref().and_then(|_| std::path::absolute(&database).ok());
    context.max_answer = u64::MAX;
    context.progress = output.progress();
    context.emit = output.emitter();
    context.ask = output.asker(globals.yes);
    context.confirmation = output::confirmation(globals.yes);
    cancel_on_interrupt(&context);
    recover(&context);
    let command = call.command().to_owned();
    let outcome = call.run(&context);
    if globals.json && entry.shape != Shape::Sentence {
        return object(entry.shape, &command, outcome, output);
    }
    let reply = outcome?;
    let status = status(&reply);
    let data = reply.data.clone();
    output.reply(reply).map_err(|error| entry.unprinted(&context, &data, error))?;
    Ok(status)
}

/// Puts right what an earlier process left half done.
fn recover(context: &Context) {
    crate::DOMAINS.iter().for_each(|domain| (domain.recover)(context));
}

fn stand_in() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("mcpkg-").tempdir().map_err(|error| {
        Error::new(Code::FileFailed, format!("No temporary folder can be made: {error}")).with_source(error)
    })
}

/// One object on standard output, whatever came of it, as the shape has it.
fn object(shape: Shape, command: &str, outcome: Result<Reply>, output: &Output) -> Result<u8> {
    let (object, status) = match outcome {
        Ok(reply) => (present::object(shape, command, &reply), status(&reply)),
        Err(error) => (present::failure(shape, command, &error), error.code().exit()),
    };
    output.print(&format!("{object:#}\n"))?;
    Ok(status)
}

/// 3 where something differs and `--check` asked, as `diff` and `git diff --exit-code` tell it by their status; 1 where
/// what was looked at is not well.
fn status(reply: &Reply) -> u8 {
    match (reply.failed, reply.differs) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    }
}

/// Ctrl-C asks long work to end before anything is half done; a second one ends the process.
fn cancel_on_interrupt(context: &Context) {
    const SIGNALS: [i32; 2] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
    let again = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // Registered in this order, the first signal finds the flag still unset and only sets it.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&again));
        let _ = signal_hook::flag::register(signal, Arc::clone(&again));
    }
    let Ok(mut signals) = signal_hook::iterator::Signals::new(SIGNALS) else { return };
    let cancelled = context.cancelled.clone();
    // Cancelling wakes what waits, which a signal's handler may not do.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            cancelled.cancel();
        }
    });
}

/// Usage errors, help and version. `--json` is looked for by hand: parsing has failed.
fn usage(error: &clap::Error, arguments: &[OsString]) -> u8 {
    use clap::error::ErrorKind;
    let shown = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let color = tree::color_of(arguments);
    if shown {
        let missing = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        output::clap_text(error, color, missing);
        return if missing { Code::InvalidArgument.exit() } else { 0 };
    }
    if arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        let error = usage_error(error);
        match tree::meant(arguments).filter(|entry| entry.shape != Shape::Sentence) {
            Some(entry) => drop(object(entry.shape, &entry.cli.join(" "), Err(error), &Output::json())),
            None => output::json_error(&present::error(&error)),
        }
    } else {
        output::clap_text(error, color, true);
    }
    Code::InvalidArgument.exit()
}

/// What clap found wrong as an error of ours: its lines up to the usage are the message, its tips the hints.
fn usage_error(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let (tips, message): (Vec<&str>, Vec<&str>) = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .partition(|line| line.starts_with("tip: "));
    let usage = Error::new(Code::InvalidArgument, message.join(" ").trim_start_matches("error: "));
    tips.iter().fold(usage, |usage, tip| usage.hint(tip.trim_start_matches("tip: ")))
}

/// Where logs go: stderr, without the secrets that a text may hold. Each event comes as one write.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        std::io::stderr().write_all(redact(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Logs go to stderr. `MCPKG_LOG` is a filter as in `info` or `mcpkg=debug`; rmcp stays at info at most, since at
/// debug it formats whole results.
fn log(verbose: u8) {
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::filter::LevelFilter;
    let default = match verbose {
        // rmcp tells each protocol error at warn; the client hears of it anyway.
        0 => "warn,rmcp=error",
        1 => "info",
        _ => "mcpkg=debug,info",
    };
    let wanted = std::env::var("MCPKG_LOG").ok().filter(|filter| !filter.is_empty());
    let mut filter =
        wanted.as_deref().and_then(|filter| EnvFilter::try_new(filter).ok()).unwrap_or_else(|| EnvFilter::new(default));
    let loud = filter.max_level_hint().is_none_or(|level| level > LevelFilter::INFO);
    if loud && let Ok(cap) = "rmcp=info".parse() {
        filter = filter.add_directive(cap);
    }
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Log)
        .with_ansi(false)
        .with_target(false)
        .try_init();
}
