//! `mcpkg completions` and `mcpkg man`: written from the same tree that parses.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use super::output::Output;
use crate::error::{Error, Result};

/// Returns the two commands for the tree.
pub(super) fn commands() -> [Command; 2] {
    [
        Command::new("completions")
            .about("Print the completions of a shell")
            .after_help("Examples:\n  mcpkg completions bash > ~/.local/share/bash-completion/completions/mcpkg\n  mcpkg completions fish > ~/.config/fish/completions/mcpkg.fish")
            .arg(Arg::new("shell").required(true).value_parser(value_parser!(Shell)).help("Shell to complete for")),
        Command::new("man")
            .about("Write the man pages into a folder")
            .after_help("Examples:\n  mcpkg man ~/.local/share/man/man1")
            .arg(Arg::new("folder").required(true).value_name("DIR").value_parser(value_parser!(PathBuf)).help("Folder to write to")),
    ]
}

/// Runs `mcpkg completions`; `tree` is the whole command line.
pub(super) fn completions(matches: &ArgMatches, mut tree: Command, output: &Output) -> Result<u8> {
    let shell = matches.get_one::<Shell>("shell").copied().unwrap_or(Shell::Bash);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree, "mcpkg", &mut script);
    output.print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Runs `mcpkg man`; `tree` is the whole command line.
pub(super) fn man(matches: &ArgMatches, tree: Command, output: &Output) -> Result<u8> {
    let folder = matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
    let failed = |error| Error::file("write man pages into", &folder, error);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    clap_mangen::generate_to(tree, &folder).map_err(failed)?;
    output.print(&format!("Wrote the man pages into {}\n", folder.display()))?;
    Ok(0)
}
