//! `mcpkg completions` and `mcpkg man`: print completion scripts and write man pages. Both use the clap tree that
//! parses the command line.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_complete::env::{EnvCompleter, Fish, Zsh};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::help;
use super::output::Output;
use mcpkg_base::error::{Error, Result};

/// The environment variable that names the shell asking for completions.
pub(super) const VARIABLE: &str = "MCPKG_COMPLETE";

/// Our script for bash. clap's own script loses the text before a `:` or a `=`, where bash splits words.
const BASH: &str = r#"_mcpkg() {
    local words=("${COMP_WORDS[@]}") line
    [[ -n $2 ]] && words[COMP_CWORD]=$2
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(MCPKG_COMPLETE=bash _CLAP_COMPLETE_INDEX="$COMP_CWORD" mcpkg -- "${words[@]}" 2>/dev/null)
    [[ ${COMPREPLY-} == *[/=:] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o bashdefault -o nosort -F _mcpkg mcpkg 2>/dev/null || complete -o bashdefault -F _mcpkg mcpkg
"#;

/// An addition to the script for zsh. If zsh autoloads the script as a function, even the first call must return
/// completions.
const ZSH_AUTOLOADED: &str = r#"
if [[ ${funcstack[1]} == _mcpkg ]]; then _clap_dynamic_completer_mcpkg "$@"; fi
"#;

pub(super) fn completions_command() -> Command {
    let command = Command::new("completions").arg(
        Arg::new("shell")
            .required(true)
            .value_name("SHELL")
            .value_parser(value_parser!(Shell))
            .help("Shell to print the script for"),
    );
    let notes = "In bash, zsh and fish, the script also completes names from the database.";
    let examples = [
        "mcpkg completions bash > ~/.local/share/bash-completion/completions/mcpkg",
        "mcpkg completions zsh > ~/.zfunc/_mcpkg",
        "mcpkg completions fish > ~/.config/fish/completions/mcpkg.fish",
    ];
    help::finished(command, "Print a shell's completion script", &["completions"], notes, &examples)
}

pub(super) fn man_command() -> Command {
    let command = Command::new("man").arg(
        Arg::new("folder")
            .required(true)
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
            .help("Folder to write the man pages to"),
    );
    help::finished(command, "Write the man pages to a folder", &["man"], "", &["mcpkg man ~/.local/share/man/man1"])
}

/// Runs `mcpkg completions`; `tree` is the whole command line.
pub(super) fn completions(matches: &ArgMatches, mut tree: Command, output: &Output) -> Result<u8> {
    let shell = matches.get_one::<Shell>("shell").copied().unwrap_or(Shell::Bash);
    let mut script = Vec::new();
    let written = match shell {
        Shell::Bash => script.write_all(BASH.as_bytes()),
        Shell::Zsh => register(&Zsh, &mut script).and_then(|()| script.write_all(ZSH_AUTOLOADED.as_bytes())),
        Shell::Fish => register(&Fish, &mut script),
        other => {
            clap_complete::generate(other, &mut tree, "mcpkg", &mut script);
            Ok(())
        }
    };
    written.map_err(|error| Error::internal("a script could not be written to memory").with_source(error))?;
    output.print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Writes the completion script of a shell. The script calls `mcpkg` itself, and `complete.rs` answers.
fn register(shell: &dyn EnvCompleter, script: &mut Vec<u8>) -> std::io::Result<()> {
    shell.write_registration(VARIABLE, "mcpkg", "mcpkg", "mcpkg", script)
}

/// Runs `mcpkg man`; `tree` is the whole command line.
pub(super) fn man(matches: &ArgMatches, tree: Command, output: &Output) -> Result<u8> {
    let folder = matches.get_one::<PathBuf>("folder").cloned().unwrap_or_default();
    let failed = |error| Error::file("write man pages to", &folder, error);
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut tree = tree.disable_help_subcommand(true);
    tree.build();
    pages(tree, &folder).map_err(failed)?;
    output.print(&format!("Wrote the man pages to {}\n", folder.display()))?;
    Ok(0)
}

/// Writes the man pages of a command and of its visible subcommands.
fn pages(command: Command, folder: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()).cloned() {
        pages(below, folder)?;
    }
    let more = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let more = more.split(help::GLOBALS).next().unwrap_or_default();
    let (notes, examples) = more.split_once(help::EXAMPLES).unwrap_or((more, ""));
    let has_commands = command.has_subcommands();
    let has_version = command.get_version().is_some();
    let man = Man::new(command);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    // On the root command's page, the lines below the examples are a separate block.
    let (examples, after) = examples.split_once("\n\n").unwrap_or((examples, ""));
    let mut roff = Roff::new();
    section(&mut roff, "NOTES", notes, false);
    section(&mut roff, "EXAMPLES", examples, true);
    if let Some((heading, lines)) = after.split_once(":\n") {
        section(&mut roff, &heading.to_uppercase(), lines, true);
    }
    roff.to_writer(&mut page)?;
    if has_version {
        man.render_version_section(&mut page)?;
    }
    std::fs::write(folder.join(man.get_filename()), page)
}

/// Adds a section unless its text is empty, either as paragraphs or with its lines unchanged.
fn section(roff: &mut Roff, heading: &str, text: &str, as_it_is: bool) {
    let text = text.trim_matches('\n');
    if text.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    if as_it_is {
        roff.control("nf", []);
        for line in text.lines() {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("fi", []);
        return;
    }
    for (place, paragraph) in text.split("\n\n").enumerate() {
        if place > 0 {
            roff.control("PP", []);
        }
        roff.text([roman(paragraph)]);
    }
}
