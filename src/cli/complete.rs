//! Completes a command line while the user types it. The scripts of `mcpkg completions` call this.
//!
//! A script starts `MCPKG_COMPLETE=SHELL mcpkg -- WORDS`, with the index of the current word in `_CLAP_COMPLETE_INDEX`.
//! Commands and flags come from clap's own engine, names from the database. Nothing is created or written. If names
//! cannot be read, no error is shown, because it would appear in the middle of the line that the user types.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use clap::Command;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use super::generate::VARIABLE;
use super::globals::Globals;
use super::tree;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Name, Names, Typed};
use mcpkg_store::projects::Selection;

/// The environment variable in which the scripts pass the index of the word to complete.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// The maximum number of names to offer; nobody reads a longer list.
const MOST: usize = 1000;

/// The separators, in addition to spaces, at which bash splits a word.
const BASH_BREAKS: [&str; 3] = [":", "=", "::"];

/// Answers a completion script. Returns whether the call came from one.
pub(super) fn answer(arguments: &[OsString]) -> bool {
    let shell = std::env::var(VARIABLE).ok().and_then(|name| name.parse::<Shell>().ok());
    let (Some(shell), Some(words)) = (shell, words(arguments)) else { return false };
    let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
    let line = Line::of(shell, words, index.unwrap_or(words.len().saturating_sub(1)));
    // A closed pipe means that the shell no longer waits.
    let _ = std::io::stdout().lock().write_all(shown(shell, &line).as_bytes());
    true
}

/// Returns the words of the command line, which follow `--`.
fn words(arguments: &[OsString]) -> Option<&[OsString]> {
    arguments.get(1).filter(|word| *word == "--").and(arguments.get(2..))
}

/// A command line that is being typed.
struct Line {
    /// The words up to and including the one to complete.
    words: Vec<OsString>,
    /// How many bytes at the start of the last word the shell keeps. It replaces the rest.
    kept: usize,
}

impl Line {
    fn of(shell: Shell, words: &[OsString], index: usize) -> Self {
        let mut words: Vec<OsString> = words.iter().take(index + 1).cloned().collect();
        words.resize(index + 1, OsString::new());
        match shell {
            Shell::Bash => Self::joined(words),
            _ => Self { words, kept: 0 },
        }
    }

    /// Joins words that bash split. For example, `skill:review` arrives as three words, and bash replaces only the last
    /// of them.
    fn joined(words: Vec<OsString>) -> Self {
        let is_break = |word: &OsStr| BASH_BREAKS.iter().any(|text| word == *text);
        let mut joined: Vec<OsString> = Vec::new();
        let (mut kept, mut after_break) = (0, false);
        for (position, word) in words.iter().enumerate() {
            let breaks = is_break(word);
            match joined.last_mut().filter(|_| position > 1 && (breaks || after_break)) {
                Some(last) => {
                    kept = last.len();
                    last.push(word);
                    if breaks {
                        kept = last.len();
                    }
                }
                None => {
                    kept = 0;
                    joined.push(word.clone());
                }
            }
            after_break = breaks;
        }
        Self { words: joined, kept }
    }

    fn last(&self) -> &OsStr {
        self.words.last().map_or(OsStr::new(""), OsString::as_os_str)
    }
}

/// Returns the completions of a line, in the format that the shell's script reads.
fn shown(shell: Shell, line: &Line) -> String {
    let mut text = String::new();
    for candidate in candidates(line) {
        let value = candidate.get_value().to_string_lossy();
        let about = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        let about = mcpkg_base::marks::line(about.lines().next().unwrap_or_default()).into_owned();
        // Writing to a String does not fail.
        let _ = match shell {
            Shell::Zsh => {
                let value = value.replace('\\', "\\\\").replace(':', "\\:");
                writeln!(text, "{value}:{}", about.replace('\\', "\\\\"))
            }
            Shell::Fish => writeln!(text, "{value}\t{about}"),
            _ => writeln!(text, "{}", value.get(line.kept..).unwrap_or_default()),
        };
    }
    text
}

/// Returns the completions of the last word. Flags are offered only if the word begins with `-` or nothing else fits.
fn candidates(line: &Line) -> Vec<CompletionCandidate> {
    let globals = Globals::of_unfinished(&line.words);
    let source = Arc::new(Source { globals, selection: std::sync::OnceLock::new() });
    let mut tree = tree::command();
    tree.build();
    let mut tree = with_names(tree, &source);
    let index = line.words.len().saturating_sub(1);
    let folder = std::env::current_dir().ok();
    let mut found = complete(&mut tree, line.words.clone(), index, folder.as_deref()).unwrap_or_default();
    let is_flag = |candidate: &CompletionCandidate| candidate.get_value().as_encoded_bytes().starts_with(b"-");
    if !line.last().as_encoded_bytes().starts_with(b"-") && !found.iter().all(is_flag) {
        found.retain(|candidate| !is_flag(candidate));
    }
    found
}

/// Adds a completer to each argument that has [`Names`]. The completer gets the names from `source`.
fn with_names(command: Command, source: &Arc<Source>) -> Command {
    let command = command.mut_args(|arg| match arg.get::<Names>().copied() {
        Some(names) => {
            let source = Arc::clone(source);
            arg.add(ArgValueCompleter::new(move |typed: &OsStr| source.names(names, typed)))
        }
        None => arg,
    });
    command.mut_subcommands(|below| with_names(below, source))
}

/// Reads the names that complete an argument.
struct Source {
    globals: Globals,
    selection: std::sync::OnceLock<Selection>,
}

impl Source {
    fn names(&self, names: Names, typed: &OsStr) -> Vec<CompletionCandidate> {
        let Some(prefix) = typed.to_str() else { return Vec::new() };
        let found = match names {
            Names::Known(all) => {
                all(crate::DOMAINS).into_iter().filter(|name| name.starts_with(prefix)).map(Name::from).collect()
            }
            // If the names cannot be read, the command itself reports the reason when it runs.
            Names::Stored(find) => self.stored(find, prefix).unwrap_or_default(),
        };
        let candidate = |(place, named): (usize, Name)| {
            let about = named.about.map(Into::into);
            CompletionCandidate::new(named.name).help(about).display_order(Some(place))
        };
        found.into_iter().enumerate().map(candidate).collect()
    }

    fn stored(&self, find: fn(&Typed<'_>) -> Result<Vec<Name>>, prefix: &str) -> Result<Vec<Name>> {
        let store = self.globals.open_as_it_is()?;
        let selection = self.selection.get_or_init(|| self.globals.selection());
        // Read without a pool and without a transaction. Names from two slightly different states of the database do no harm.
        store.read_once(|db| find(&Typed { db, selection, prefix, limit: MOST }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &[&str]) -> (Vec<String>, usize) {
        let line = Line::of(Shell::Bash, &words.iter().map(OsString::from).collect::<Vec<_>>(), words.len() - 1);
        (line.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(), line.kept)
    }

    #[test]
    fn words_that_bash_split_are_joined() {
        let whole = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        for (given, expected, kept) in [
            (&["mcpkg", "prompt", "show", "re"][..], &["mcpkg", "prompt", "show", "re"][..], 0),
            (&["mcpkg", "module", "show", "skill", ":", "re"], &["mcpkg", "module", "show", "skill:re"], 6),
            (&["mcpkg", "module", "show", "skill", ":"], &["mcpkg", "module", "show", "skill:"], 6),
            (&["mcpkg", "--project", "=", "au"], &["mcpkg", "--project=au"], 10),
            (&["mcpkg", "--project", "=", "au", "prompt", ""], &["mcpkg", "--project=au", "prompt", ""], 0),
            (&["mcpkg", "resource", "show", "file", ":", "///a"], &["mcpkg", "resource", "show", "file:///a"], 5),
        ] {
            assert_eq!(joined(given), (whole(expected), kept), "{given:?}");
        }
    }

    #[test]
    fn a_missing_last_word_is_empty() {
        let line = Line::of(Shell::Zsh, &["mcpkg".into(), "prompt".into()], 2);
        assert_eq!(line.words, ["mcpkg", "prompt", ""]);
    }
}
