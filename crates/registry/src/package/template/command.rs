//! Tracks the words of a shell command, to detect constructs that would run a parameter's value as code: an inner
//! shell, or a builtin such as `eval`.

use super::is_parameter;

/// The state of the command that is being read.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The number of open parentheses.
    pub(super) depth: usize,
    /// The text of the current word outside of quotes.
    word: String,
    /// The current word as a program sees it, without quotes and expansions.
    unquoted: String,
    /// Whether the word contains a parameter.
    has_place: bool,
    /// Whether the word is empty, apart from quotes.
    is_empty: bool,
    /// Whether the next word is a program, because all words so far are assignments, keywords, or wrappers such as
    /// `env`.
    at_program: bool,
    program: String,
    /// The state of the inner shell, if the command starts one: `sh -c '...'`.
    shell: Option<InnerShell>,
    /// Whether a `--` ended the options.
    options_end: bool,
    /// The here-documents that start on the next line: each delimiter, and whether leading tabs are removed
    /// (`<<-`).
    documents: Vec<(String, bool)>,
}

/// A shell that a command starts, and where its script comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InnerShell {
    /// The script's source is not known yet. If the shell itself is the program, the default is standard input.
    Unsaid { is_program: bool },
    /// The script is the next word that is not an option.
    Text,
    /// The script's source was already seen: a file, a here-document, or a word without parameters.
    Said,
}

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"];

/// Programs that run the program named by the next word.
const WRAPPERS: [&str; 6] = ["command", "builtin", "exec", "env", "nohup", "time"];

/// Shell keywords after which a program name follows.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];

impl Words {
    pub(super) fn new() -> Self {
        Self { is_empty: true, at_program: true, ..Self::default() }
    }

    /// Returns whether the scanner is between words; quotes alone do not begin a word.
    pub(super) fn is_between(&self) -> bool {
        self.is_empty && self.word.is_empty()
    }

    /// Returns whether the current word is in program position and equals `word`.
    pub(super) fn is_program(&self, word: &str) -> bool {
        self.at_program && self.word == word
    }

    pub(super) fn push(&mut self, c: char) {
        self.word.push(c);
        self.fill(Some(c));
    }

    /// Records that the word is not empty. `seen` is the character that a program sees, if it is known.
    pub(super) fn fill(&mut self, seen: Option<char>) {
        self.is_empty = false;
        self.unquoted.extend(seen);
    }

    /// Adds a parameter to the word. Returns whether the parameter begins the word, so that a program may read its
    /// value as an option.
    pub(super) fn place(&mut self) -> bool {
        let begins = self.is_between() && !self.options_end;
        (self.is_empty, self.has_place) = (false, true);
        begins
    }

    /// Records a here-document that starts on the next line. If the command is an inner shell, the document is its
    /// script.
    pub(super) fn here_document(&mut self, delimiter: String, skips_tabs: bool) {
        self.documents.push((delimiter, skips_tabs));
        self.shell = self.shell.map(|_| InnerShell::Said);
    }

    /// Returns the here-documents that start on the next line, and clears the list.
    pub(super) fn begun_documents(&mut self) -> Vec<(String, bool)> {
        std::mem::take(&mut self.documents)
    }

    /// Ends a word. Returns the reason if the word makes parameters unsafe in this script.
    pub(super) fn end(&mut self) -> Option<&'static str> {
        let word = std::mem::take(&mut self.word);
        let unquoted = std::mem::take(&mut self.unquoted);
        let has_place = std::mem::take(&mut self.has_place);
        let is_empty = std::mem::replace(&mut self.is_empty, true);
        if is_empty && word.is_empty() {
            return None;
        }
        let found = match (self.at_program, unquoted.as_str()) {
            (_, "[[") => Some("`[[` may evaluate a value as an expression; use `test`"),
            (true, "function") => {
                Some("a shell function has its own parameters; move the function into a file of the package")
            }
            (true, "shift") => Some("`shift` would renumber the arguments that hold the values"),
            (true, "let" | "declare" | "typeset") => {
                Some("`let`, `declare` and `typeset` may evaluate a value as an expression")
            }
            (true, "eval") => Some("`eval` would run a value as a command"),
            (true, "trap") => Some("`trap` would run a value as a command"),
            (false, "--") if self.program == "set" => Some("`set --` would replace the arguments that hold the values"),
            _ => self.inner_shell(&unquoted, has_place),
        };
        self.options_end |= word == "--";
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_parameter(name));
        let is_wrapped = WRAPPERS.contains(&self.program.as_str()) && unquoted.starts_with('-');
        if self.at_program && !is_assignment && !is_wrapped && !KEYWORDS.contains(&word.as_str()) {
            self.at_program = WRAPPERS.contains(&unquoted.as_str());
            self.program = unquoted;
        }
        found
    }

    /// Checks whether a word starts an inner shell, and refuses a parameter inside a script that such a shell runs.
    fn inner_shell(&mut self, word: &str, has_place: bool) -> Option<&'static str> {
        let name = word.rsplit('/').next().unwrap_or_default();
        let is_option = word.starts_with(['-', '+']) && word != "-";
        self.shell = match self.shell {
            None if SHELLS.contains(&name) => Some(InnerShell::Unsaid { is_program: self.at_program }),
            None => None,
            Some(InnerShell::Unsaid { .. }) if is_option && !word.starts_with("--") && word.contains('c') => {
                Some(InnerShell::Text)
            }
            Some(shell) if is_option => Some(shell),
            Some(InnerShell::Text) if has_place => {
                return Some(
                    "a shell would run a value as a command; pass the value after the script, as in `sh -c 'echo \"$1\"' sh ${x}`",
                );
            }
            Some(_) => Some(InnerShell::Said),
        };
        None
    }

    /// Ends a command. Returns the reason if the command makes parameters unsafe in this script.
    pub(super) fn next_command(&mut self) -> Option<&'static str> {
        (self.at_program, self.options_end) = (true, false);
        self.program.clear();
        match self.shell.take() {
            Some(InnerShell::Unsaid { is_program: true }) => Some(
                "a shell would run a value from its standard input as a command; move the script into a file of the package",
            ),
            _ => None,
        }
    }
}
