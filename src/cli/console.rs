//! `mcpkg console`: starts the console in this terminal, or in a browser.

use std::io::{IsTerminal, stdin, stdout};

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::globals::{self, Globals};
use super::help;
use super::output::Output;
use super::pick;
use super::plain::Plain;
use crate::{tui, web};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Caller, Confirmation, Context};
use mcpkg_store::Store;

/// The address of `mcpkg serve --http` on this machine. Browsers have passkeys for this name, but not for 127.0.0.1.
const SERVER: &str = "http://localhost:3000";

pub(super) fn command() -> Command {
    let about = "Show what agents did and ask for, and decide, in this terminal";
    let notes = "The first screen is the inbox. Press `?` for the keys of a screen, and `:` to find anything. Without a \
        terminal, `mcpkg inbox`, `mcpkg events` and the other commands print the same.";
    let command = Command::new("console")
        .visible_alias("ui")
        .arg(Arg::new("read-only").long("read-only").action(ArgAction::SetTrue).help("Show everything, change nothing"))
        .arg(
            Arg::new("plain")
                .long("plain")
                .action(ArgAction::SetTrue)
                .help("Print lines instead of drawing screens, for screen readers; also the default if TERM is dumb"),
        )
        .arg(Arg::new("ascii").long("ascii").action(ArgAction::SetTrue).help("Draw lines with ASCII characters"))
        .arg(
            Arg::new("web")
                .long("web")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["plain", "ascii"])
                .help("Show the console in a browser on this machine: print a link that works once"),
        )
        .arg(
            Arg::new("link")
                .long("link")
                .value_name("URL")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value(SERVER)
                .conflicts_with_all(["plain", "ascii", "web", "read-only"])
                .help(
                    "Print a link that works once, to the console of `mcpkg serve --http --console` at this address \
                     [default: http://localhost:3000]",
                ),
        );
    let examples = &["mcpkg console", "mcpkg console --web", "mcpkg console --link=https://mcp.example.com"];
    help::finished(command, about, &["console"], notes, examples)
}

pub(super) fn run(matches: &ArgMatches, globals: &Globals, output: &Output) -> Result<u8> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        return Err(Error::new(Code::TerminalRequired, "The console needs a terminal")
            .hint("without a terminal, `mcpkg inbox` and `mcpkg events` print the same"));
    }
    let store = Store::open(&globals::resolved(&globals.database()?)?)?;
    let mut context = Context::new(crate::DOMAINS, Caller::CONSOLE, store, globals.selection());
    if let Some(url) = matches.get_one::<String>("link") {
        let link = web::link(&context, url)?;
        output.print(&format!("Open this link in a browser. It works once, within five minutes:\n\n  {link}\n"))?;
        return Ok(0);
    }
    let is_read_only = matches.get_flag("read-only");
    context.is_read_only = is_read_only;
    if matches.get_flag("web") {
        let cancelled = context.cancelled.clone();
        let _ = mcpkg_base::process::on_ending(130, move || cancelled.cancel());
        // `ask` and `line` are not set here: the web console sets them for each operation.
        context.shows_data = false;
        let output = *output;
        return web::run(context, is_read_only, move |links| print_links(&output, links)).map(|()| 0);
    }
    // An operation that takes over the terminal, such as `prompt edit`, asks its questions as in the shell.
    context.ask = output.asker(false, &context.cancelled);
    context.line = output.line_reader(&context.cancelled);
    context.confirmation = Confirmation::Ask;
    // The console shows replies as text. An operation that had to show its data as JSON would not ask for missing
    // inputs.
    context.shows_data = false;
    if matches.get_flag("plain") || pick::is_plain() {
        context.progress = output.progress();
        Plain { output, context, is_read_only, notes: Default::default() }.run()?;
        return Ok(0);
    }
    let options = tui::Options { is_read_only, is_ascii: matches.get_flag("ascii") };
    tui::run(context, &options)?;
    Ok(0)
}

/// Prints a link, and another one each time you press Enter.
fn print_links(output: &Output, links: web::Links) -> Result<()> {
    let link = links.next()?;
    output.print(&format!(
        "Open this link in a browser on this machine. It works once, within five minutes:\n\n  {link}\n\nIf the browser does \
         not find the host, open this one:\n\n  {}\n\nPress Enter for another link, Ctrl-C to end the console.\n",
        links.by_address(&link)
    ))?;
    let output = *output;
    std::thread::spawn(move || {
        while stdin().lines().next().is_some_and(|line| line.is_ok()) {
            let printed = links.next().and_then(|link| output.print(&format!("\n  {link}\n")));
            if printed.is_err() {
                return;
            }
        }
    });
    Ok(())
}
