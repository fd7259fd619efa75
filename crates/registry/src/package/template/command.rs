//! What of a command was read, and which words of it keep parameters from a text: a shell that it starts, or a builtin that
//! reads a value as a command or an expression.

use super::is_parameter;

/// What of a command was read.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Parentheses that are open.
    pub(super) depth: usize,
    /// The plain text of the word so far.
    word: String,
    /// The word so far as a program sees it: without its quotes, and without what the shell fills in.
    unquoted: String,
    /// Whether the word contains a parameter.
    has_place: bool,
    /// Whether the word has nothing in it, quotes aside.
    is_empty: bool,
    /// Whether the words so far are only assignments and keywords, so that the next one is a program.
    at_program: bool,
    program: String,
    /// What of a shell of its own was read, where the command starts one.
    shell: Option<InnerShell>,
    /// Whether a `--` ended the options.
    options_end: bool,
    /// Delimiters of here-documents that begin with the next line, and whether tabs before them are skipped.
    documents: Vec<(String, bool)>,
}

/// A shell that a command starts, and where what it runs stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InnerShell {
    /// Nothing was said yet. One that is the command's own program reads its standard input then.
    Unsaid { is_program: bool },
    /// In the next word that is not an option.
    Text,
    /// Behind: in a file, a here-document, or a text that was read.
    Said,
}

/// The names of shells.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"];

/// Programs that run the one that is named behind them.
const WRAPPERS: [&str; 6] = ["command", "builtin", "exec", "env", "nohup", "time"];

/// Words that are followed by a program's name.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];

impl Words {
    pub(super) fn new() -> Self {
        Self { is_empty: true, at_program: true, ..Self::default() }
    }

    /// Whether no word has begun since the last one ended; quotes alone begin none.
    pub(super) fn is_between(&self) -> bool {
        self.is_empty && self.word.is_empty()
    }

    /// Whether the word so far is this one, where a program stands.
    pub(super) fn is_program(&self, word: &str) -> bool {
        self.at_program && self.word == word
    }

    /// Adds a character of plain text to the word.
    pub(super) fn push(&mut self, c: char) {
        self.word.push(c);
        self.fill(Some(c));
    }

    /// Notes that something is in the word: a character that a program sees, where it is known.
    pub(super) fn fill(&mut self, seen: Option<char>) {
        self.is_empty = false;
        self.unquoted.extend(seen);
    }

    /// Adds a parameter to the word, and returns whether its value begins a word that a program may read as an option.
    pub(super) fn place(&mut self) -> bool {
        let begins = self.is_between() && !self.options_end;
        (self.is_empty, self.has_place) = (false, true);
        begins
    }

    /// Notes a here-document that begins with the next line: it is what a shell of the command's reads.
    pub(super) fn here_document(&mut self, delimiter: String, skips_tabs: bool) {
        self.documents.push((delimiter, skips_tabs));
        self.shell = self.shell.map(|_| InnerShell::Said);
    }

    /// Returns the here-documents that begin with the line that comes now, and forgets them.
    pub(super) fn begun_documents(&mut self) -> Vec<(String, bool)> {
        std::mem::take(&mut self.documents)
    }

    /// Ends a word, and returns what in it keeps parameters from the text.
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

    /// Looks at a word for a shell of the command's own, and refuses a parameter in a text that such a shell reads.
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

    /// Ends a command, and returns what in it keeps parameters from the text.
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
