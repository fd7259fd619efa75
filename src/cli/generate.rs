//! `mcpkg completions` and `mcpkg man`: written from the same tree that parses.

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_complete::env::{EnvCompleter, Fish, Zsh};

use super::complete;
use super::output::Output;
use crate::error::{Error, Result};

/// clap's own script for bash loses what stands before a `:` or a `=`, at which bash ends words.
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

/// Where zsh loads the script as a function, its first call has to complete already.
const ZSH_AUTOLOADED: &str = r#"
if [[ ${funcstack[1]} == _mcpkg ]]; then _clap_dynamic_completer_mcpkg "$@"; fi
"#;

/// Returns the two commands for the tree.
pub(super) fn commands() -> [Command; 2] {
    [
        Command::new("completions")
            .about("Print the completions of a shell")
            .after_help("Examples:\n  mcpkg completions bash > ~/.local/share/bash-completion/completions/mcpkg\n  mcpkg completions zsh > ~/.zfunc/_mcpkg\n  mcpkg completions fish > ~/.config/fish/completions/mcpkg.fish\n\nIn bash, zsh and fish the names of what the database holds are completed too.")
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

/// Writes the script of a shell that asks `mcpkg` itself; see [`complete`].
fn register(shell: &dyn EnvCompleter, script: &mut Vec<u8>) -> std::io::Result<()> {
    shell.write_registration(complete::VARIABLE, "mcpkg", "mcpkg", "mcpkg", script)
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
