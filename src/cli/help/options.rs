//! Shows the global options in help texts.

use std::sync::LazyLock;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command};

use super::super::globals;
use super::page::header;

/// The heading above the global options.
pub(crate) const GLOBALS: &str = "Global options:";

/// The maximum width of the lines that name the global options, so that they fit into a narrow terminal.
const ROOM: usize = 74;

pub(crate) fn flag() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .global(true)
        .help_heading("Global options")
        .hide_short_help(true)
        .hide_long_help(true)
        .help("Print help: a summary with -h, everything with --help")
}

/// The names of the global options, several per line. The help of each command contains them.
pub(super) static IN_SHORT: LazyLock<String> = LazyLock::new(|| {
    let style = header();
    let options = globals::args().into_iter().chain([flag()]).map(|option| {
        let short = option.get_short().map_or(String::new(), |short| format!("-{short}, "));
        let value = option.get_value_names().map_or(String::new(), |names| format!(" <{}>", names.join(" ")));
        format!("{short}--{}{value}", option.get_long().unwrap_or_default())
    });
    let mut lines = vec![String::new()];
    for option in options {
        match lines.last_mut().filter(|line| line.is_empty() || line.len() + option.len() < ROOM) {
            Some(line) => line.extend(["  ", &option]),
            None => lines.push(format!("  {option}")),
        }
    }
    format!("{style}{GLOBALS}{style:#} (`mcpkg help options` explains them)\n{}", lines.join("\n"))
});

/// Returns the global options with their descriptions, one per line.
pub fn options(width: u16) -> StyledStr {
    let shown = |option: Arg| option.global(false).hide_short_help(false).hide_long_help(false);
    let options = globals::args().into_iter().chain([flag()]).map(shown);
    Command::new("mcpkg")
        .disable_help_flag(true)
        .args(options)
        .help_template("{all-args}")
        .term_width(width.into())
        .render_help()
}
