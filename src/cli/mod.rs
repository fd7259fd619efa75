//! Implements the command line interface: parses the arguments, runs one operation and prints the result.

mod ask;
mod called;
mod complete;
mod console;
mod demo;
mod explain;
mod generate;
mod globals;
mod help;
mod hints;
mod log;
mod output;
mod panicked;
mod pick;
mod plain;
mod serve;
mod styled_text;
mod tree;
mod version;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::Arc;

use clap::ArgMatches;
use serde_json::Value;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Entry, MissingDatabase, Reply, Shape, noted};
use mcpkg_core::present;
use mcpkg_store::Store;

pub use explain::all as commands;
pub use help::{HEADINGS, options};
pub use tree::command;

use called::Called;
use globals::Globals;
use log::log;
use output::Output;
use panicked::unless_panicked;

/// Runs a command line and returns the exit status. The first argument is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let called = Called::by(&arguments);
    if let Some(status) = mcpkg_base::process::starter::answer(&arguments) {
        return status;
    }
    if complete::answer(&arguments) {
        return 0;
    }
    let arguments = called.spelled_out(arguments);
    if arguments.len() <= 1 {
        return unparsed(Output::of_unparsed(&arguments).styled(&explain::screen()));
    }
    // Errors and help come from the complete clap tree, because it also knows the flags of other commands.
    let matches = tree::of_line(&arguments).try_get_matches_from(&arguments);
    let whole = |error: clap::Error| {
        // Both trees print the same version.
        if error.kind() == clap::error::ErrorKind::DisplayVersion {
            return Err(error);
        }
        let width = Output::of_unparsed(&arguments).width().min(help::WIDEST);
        command().term_width(width.into()).try_get_matches_from(&arguments)
    };
    let matches = match matches.or_else(whole) {
        Ok(matches) => matches,
        Err(mut error) => {
            point_to_option(&mut error, &arguments);
            point_to_command(&mut error, &arguments);
            name_a_number(&mut error);
            if error.kind() == clap::error::ErrorKind::MissingSubcommand && globals::first_word(&arguments).is_none() {
                return unparsed(Output::of_unparsed(&arguments).styled(&explain::screen()));
            }
            return usage(&error, &arguments);
        }
    };
    let globals = Globals::from(&matches);
    let output = Output::new(&globals);
    // The console draws on the same terminal, and a log line would disturb its screen.
    let is_quiet = matches.subcommand_name() == Some("console") && std::io::stderr().is_terminal();
    let logged = match is_quiet {
        true => Ok(()),
        false => log(globals.verbose, serve::identity(&matches, called), serve::calls(&matches)),
    };
    let dispatched = logged.and_then(|()| unless_panicked(|| dispatch(&matches, &globals, &output, called)));
    crate::DOMAINS.iter().for_each(|domain| (domain.ending)());
    match dispatched.map_err(|error| globals.flags.in_error(error)) {
        Ok(status) => status,
        Err(error) => {
            match globals.json && !is_protocol(&arguments) {
                true => output::json_error(&error),
                false => output.error(&error),
            }
            // A closed pipe is not an error: the reader, such as `head`, has read all it needs.
            if output::is_closed_pipe(&error) { 0 } else { called.failed(&error) }
        }
    }
}

fn dispatch(matches: &ArgMatches, globals: &Globals, output: &Output, called: Called) -> Result<u8> {
    if let Some(words) = explain::topic_words(matches) {
        return explain::run(&words, output);
    }
    let (name, inner) = matches.subcommand().ok_or_else(|| Error::internal("clap accepted an empty command line"))?;
    match name {
        "serve" => return serve::run(inner, serve::identity(matches, called), globals, output),
        "console" => return console::run(inner, globals, output),
        "demo" => return demo::run(inner, globals, output),
        "version" => return version::run(globals, output),
        "completions" => return generate::completions(inner, command(), output),
        "man" => return generate::man(inner, command(), output),
        _ => {}
    }
    let (entry, arguments) =
        tree::find(matches).ok_or_else(|| Error::internal(format!("`mcpkg {name}` has no operation")))?;
    let call = match entry.from_shell(arguments) {
        Ok(call) => call,
        Err(error) => return Err(Error::new(Code::InvalidArgument, error.to_string())),
    };
    let database = globals.database()?;
    let existed = Store::is_at(&database);
    let missing = match call.missing_database() {
        _ if existed => MissingDatabase::Create,
        MissingDatabase::StandInUnlessNamed if globals.names_database() => MissingDatabase::Refuse,
        MissingDatabase::StandInUnlessNamed => MissingDatabase::StandIn,
        missing => missing,
    };
    let stand_in = match missing {
        MissingDatabase::Create => None,
        MissingDatabase::StandIn | MissingDatabase::StandInUnlessNamed => Some(stand_in()?),
        MissingDatabase::Refuse => {
            return Err(Error::new(Code::NotFound, format!("The database `{}` does not exist", database.display()))
                .hint("choose another database with --db, or create this one with `mcpkg init`"));
        }
    };
    let opened = stand_in.as_ref().map_or_else(|| database.clone(), |folder| folder.path().join("mcpkg.db"));
    let opened = globals::resolved(&opened)?;
    // On a database server, only `mcpkg init` upgrades the schema.
    let store = if name == "init" { Store::open_up_to_date(&opened) } else { Store::open(&opened) };
    let mut context = Context::shell(crate::DOMAINS, store?, globals.selection());
    context.stands_for = stand_in.as_ref().and_then(|_| std::path::absolute(&database).ok());
    context.max_answer = u64::MAX;
    context.shows_data = globals.json;
    context.progress = output.progress();
    context.emit = output.emitter();
    context.ask = output.asker(globals.yes, &context.cancelled);
    context.choose = output.chooser(globals.yes, &context.cancelled);
    context.line = output.line_reader(&context.cancelled);
    context.confirmation = ask::confirmation(globals.yes);
    Arc::make_mut(&mut context.surface).no_execute = globals.no_execute;
    cancel_on_interrupt(&context);
    serve::recover(&context);
    // Report missing things before asking. A database that was just created has nothing to lose, so do not ask.
    if entry.effect == Effect::Destroy {
        call.look(&context)?;
        if existed {
            output.confirm(Body::Several(Vec::new()), call.question(), globals.yes, &context.cancelled)?;
        }
    }
    let command = call.command().to_owned();
    let outcome = noted(call.run(&context), &context.take_notes()).map_err(|error| globals.flags.in_error(error));
    // Dropping the old function clears a remaining progress bar before the answer is written to the same terminal.
    context.progress = Arc::new(|_, _, _| {});
    if let (true, Err(error)) = (globals.json, &outcome) {
        output.json(&format!("{:#}\n", failure(entry.shape, &command, error)))?;
        return Ok(called.failed(error));
    }
    let mut reply = globals.flags.in_reply(outcome?);
    let status = called.done(&reply);
    let json = (globals.json && !reply.is_empty()).then(|| format!("{:#}\n", success(entry.shape, &command, &reply)));
    let data = std::mem::take(&mut reply.data);
    let shown = match json {
        Some(json) => output.json(&json),
        None => output.reply(reply),
    };
    shown.map_err(|error| entry.unprinted(&context, &data, error))?;
    Ok(status)
}

fn stand_in() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("mcpkg-").tempdir().map_err(|error| {
        Error::new(Code::FileFailed, format!("Cannot create a temporary folder: {error}")).with_source(error)
    })
}

/// Returns the `--json` output for a reply, in the command's JSON shape and with the warnings.
fn success(shape: Shape, command: &str, reply: &Reply) -> Value {
    let mut object = present::object(shape, command, reply);
    if let (Some(object), false) = (object.as_object_mut(), reply.warnings.is_empty()) {
        object.entry("warnings").or_insert_with(|| reply.warnings.clone().into());
    }
    object
}

/// Returns the `--json` output for a failure, in the command's JSON shape. In every shape, the `error` member also has
/// the fields that all failures share.
fn failure(shape: Shape, command: &str, error: &Error) -> Value {
    let mut object = present::failure(shape, command, error);
    let mut common = present::error(error);
    if let (Some(object), Some(common)) = (object.as_object_mut(), common.get_mut("error")) {
        match object.get_mut("error").and_then(Value::as_object_mut) {
            Some(own) => common.as_object().into_iter().flatten().for_each(|(key, value)| {
                own.entry(key).or_insert_with(|| value.clone());
            }),
            None => drop(object.insert("error".to_owned(), common.take())),
        }
    }
    object
}

/// Lets Ctrl-C or a closed terminal cancel the command, so that it stops without leaving anything half done. A second
/// signal ends the process at once.
fn cancel_on_interrupt(context: &Context) {
    let cancelled = context.cancelled.clone();
    let _ = mcpkg_base::process::on_ending(130, move || cancelled.cancel());
}

/// Returns whether stdout carries a protocol. Failures must then go to stderr.
fn is_protocol(arguments: &[OsString]) -> bool {
    tree::meant(arguments).is_none() && arguments.iter().any(|word| word == "serve" || word == "start")
}

/// Adds a hint to two kinds of parse errors. For a word such as `region=eu`, the hint names the option that takes it.
/// For an unknown flag such as `-rf`, the hint shows how to pass it as a value.
fn point_to_option(error: &mut clap::Error, arguments: &[OsString]) {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return };
    // For `-rf`, clap names only the first letter that it does not know.
    let is_first = |given: &&str| word.len() == 2 && given.len() > 2 && given.starts_with(word.as_str());
    let whole = arguments.iter().filter_map(|given| given.to_str()).find(is_first);
    if error.kind() == ErrorKind::UnknownArgument && word.starts_with('-') && !word.starts_with("--") {
        if let Some(whole) = whole {
            let tip = format!("to pass '{whole}' as a value, use '-- {whole}'").into();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        }
        return;
    }
    if error.kind() != ErrorKind::UnknownArgument || word.starts_with('-') || !word.contains('=') {
        return;
    }
    let Some(mut command) = tree::meant(arguments).map(tree::leaf) else { return };
    command.build();
    let takes_pairs =
        |option: &&clap::Arg| option.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains('=')));
    if let Some(option) = command.get_arguments().find(takes_pairs).and_then(clap::Arg::get_long) {
        let tip = format!("write '--{option} {word}'").into();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Replaces Rust's messages for text that is not a number, such as "invalid digit found in string".
fn name_a_number(error: &mut clap::Error) {
    use clap::error::{ContextKind, ContextValue, Error};
    let source = std::error::Error::source(error);
    let whole = source.is_some_and(|source| source.is::<std::num::ParseIntError>());
    let expected = match whole {
        true => "write a whole number",
        false if source.is_some_and(|source| source.is::<std::num::ParseFloatError>()) => "write a number",
        false => return,
    };
    // clap cannot remove the source of an error, so a new error is built.
    let mut named = Error::new(error.kind());
    for (kind, value) in error.context() {
        named.insert(kind, value.clone());
    }
    named.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![expected.into()]));
    *error = named;
}

/// The maximum number of commands that a hint suggests for a word.
const NAMED: usize = 4;

/// Adds a hint for an unknown word such as `install`. The hint suggests the commands that end with this word, because
/// mcpkg's commands begin with a noun. After a noun, as in `gate list`, it suggests only commands of that noun, unless
/// just one command of any noun ends with the word. If the noun has a command that means the same, the hint suggests this
/// command instead: `catalog import` for `catalog add`.
fn point_to_command(error: &mut clap::Error, arguments: &[OsString]) {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let group = tree::group_before(arguments, word);
    let meant = if group.is_empty() { Vec::new() } else { tree::meaning(group, word) };
    let mut named: Vec<_> = tree::ending_with(word).collect();
    if let [alone] = named[..] {
        // Skip aliases of another noun's commands: `evolve apply` does not mean `spec apply`.
        named.retain(|_| group.is_empty() || alone.cli.last().is_some_and(|last| last == word));
    } else {
        named.retain(|entry| group.iter().zip(entry.cli).all(|(given, known)| given == known));
    }
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    if named.is_empty() && meant.is_empty() {
        // clap puts the most similar word last.
        if let Some(ContextValue::Strings(mut similar)) = error.remove(ContextKind::SuggestedSubcommand) {
            similar.reverse();
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(similar));
        }
        return;
    }
    let shown = |entries: &[&Entry]| {
        let commands = entries.iter().map(|entry| format!("'mcpkg {}'", entry.cli.join(" ")));
        commands.collect::<Vec<_>>().join(", ")
    };
    let tip = if meant.is_empty() {
        let more = if named.len() > NAMED { format!(", and {} more", named.len() - NAMED) } else { String::new() };
        format!("commands begin with a noun: {}{more}", shown(&named[..named.len().min(NAMED)]))
    } else {
        format!("did you mean {}?", shown(&meant))
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// Returns the exit status after help was shown. A failed write counts as success, as in `mcpkg help | head -1`.
fn unparsed(shown: Result<()>) -> u8 {
    let _ = shown;
    0
}

/// Prints usage errors, help and the version. Searches the arguments for `--json` by hand, because parsing has failed.
fn usage(error: &clap::Error, arguments: &[OsString]) -> u8 {
    use clap::error::ErrorKind;
    let shown = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let output = Output::of_unparsed(arguments);
    if shown {
        let missing = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if missing {
            output::clap_error(error, globals::color_of(arguments));
            return Code::InvalidArgument.exit();
        }
        let is_of_root = error.kind() == ErrorKind::DisplayHelp && globals::first_word(arguments).is_none();
        return unparsed(output.styled(&match is_of_root {
            true if arguments.iter().any(|word| word == "--help") => explain::all(output.width()),
            true => explain::screen(),
            false => error.render().ansi().to_string(),
        }));
    }
    if arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json") {
        let error = usage_error(error);
        match tree::meant(arguments) {
            Some(entry) => output::json(&failure(entry.shape, &entry.cli.join(" "), &error)),
            None if is_protocol(arguments) => output::json_to_stderr(&present::error(&error)),
            None => output::json_error(&error),
        }
    } else {
        output::clap_error(error, globals::color_of(arguments));
    }
    Code::InvalidArgument.exit()
}

/// Converts a clap error: its lines up to the usage become the message, and its tips become hints.
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
