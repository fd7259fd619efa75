//! Scans a shell script to find out how each `${param}` in it is quoted.

use super::command::Words;
use super::is_parameter;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Place(Place),
}

/// A parameter in the script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) quote: Quote,
    /// Whether the parameter is written as `${param:raw}`.
    pub(super) raw: bool,
    /// Whether the parameter's value begins a word, so that a program may read it as an option.
    pub(super) begins_word: bool,
}

/// The ways in which a parameter can be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Bare,
    Double,
    Single,
}

#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub(super) parts: Vec<Part>,
    /// The reason why a parameter is not allowed in its position.
    pub(super) refused: Option<String>,
    /// The reason why this script cannot contain parameters at all.
    pub(super) obstacle: Option<String>,
    /// Parameters that are written as `$param` by mistake: the shell reads them as variables, which are empty.
    pub(super) unbraced: Vec<String>,
}

/// Decides which names are parameters.
pub(super) struct Declared<'a> {
    pub(super) is_parameter: &'a dyn Fn(&str) -> bool,
    /// Whether a schema lists the parameters. If not, only `${name}` and `${name:raw}` are parameters, and every other
    /// `${name...}` belongs to the shell.
    pub(super) by_schema: bool,
}

/// A syntactic context in the script. Contexts can be nested.
#[derive(Debug)]
enum Frame {
    /// Commands: the whole script, or the inside of `$(...)`.
    Commands(Words),
    Double,
    Single,
    /// The shell's own `${variable...}`.
    Expansion,
    Arithmetic {
        depth: usize,
    },
    Backticks,
}

struct Scanner<'a> {
    rest: &'a str,
    declared: &'a Declared<'a>,
    frames: Vec<Frame>,
    scanned: Scanned,
}

pub(super) fn scan(text: &str, declared: &Declared<'_>) -> Scanned {
    let frames = vec![Frame::Commands(Words::new())];
    let mut scanner = Scanner { rest: text, declared, frames, scanned: Scanned::default() };
    while !scanner.rest.is_empty() {
        scanner.step();
    }
    if let Some(Frame::Commands(words)) = scanner.frames.last_mut() {
        let found = words.end().or(words.next_command());
        scanner.note(found);
    }
    if scanner.frames.len() > 1 {
        scanner.obstacle("a quote or a bracket is not closed");
    }
    scanner.scanned
}

impl Scanner<'_> {
    fn step(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::Commands(_)) | None => self.commands(),
            Some(Frame::Single) => match self.rest.starts_with('\'') {
                true => self.close(1),
                false if self.rest.starts_with("${") => self.dollar(),
                false => self.take_inside(),
            },
            Some(Frame::Double) => self.quoted(Some('"')),
            Some(Frame::Expansion) => self.quoted(Some('}')),
            Some(Frame::Backticks) => match self.rest.chars().next() {
                Some('`') => self.close(1),
                Some('\\') => self.escaped(),
                Some('$') if self.rest.starts_with("${") => self.dollar(),
                _ => self.take_inside(),
            },
            Some(Frame::Arithmetic { depth }) => match self.rest.chars().next() {
                Some(')') if *depth == 0 => {
                    let length = if self.rest.starts_with("))") { 2 } else { 1 };
                    self.close(length);
                }
                Some(')') => {
                    *depth -= 1;
                    self.take(1);
                }
                Some('(') => {
                    *depth += 1;
                    self.take(1);
                }
                _ => self.quoted(None),
            },
        }
    }

    /// Reads the next part in a context where blanks do not separate words. `closing` ends the context.
    fn quoted(&mut self, closing: Option<char>) {
        let is_expansion = matches!(self.frames.last(), Some(Frame::Expansion));
        match self.rest.chars().next() {
            c if c == closing => self.close(1),
            Some('\\') => self.escaped(),
            Some('$') => self.dollar(),
            Some('`') => self.open(Frame::Backticks, 1),
            Some('"') if is_expansion => self.open(Frame::Double, 1),
            Some('\'') if is_expansion && !self.is_in_double() => self.open(Frame::Single, 1),
            _ => self.take_inside(),
        }
    }

    /// Returns whether a double quote is open inside the innermost commands.
    fn is_in_double(&self) -> bool {
        let inner = self.frames.iter().rev().take_while(|frame| !matches!(frame, Frame::Commands(_)));
        inner.into_iter().any(|frame| matches!(frame, Frame::Double))
    }

    fn commands(&mut self) {
        let Some(c) = self.rest.chars().next() else { return };
        let begins_word = self.words().is_some_and(|words| words.is_between());
        match c {
            '\\' => self.escaped(),
            '\'' => self.open(Frame::Single, 1),
            '"' => self.open(Frame::Double, 1),
            '`' => self.open(Frame::Backticks, 1),
            '$' => self.dollar(),
            '#' if begins_word => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            }
            '<' if self.rest.starts_with("<<<") => self.divide(3),
            '<' if self.rest.starts_with("<<") => self.here_document(),
            '(' if begins_word && self.rest.starts_with("((") => {
                self.obstacle("`((` may evaluate a value as an expression");
                self.divide(1);
            }
            '(' => {
                if !begins_word && self.rest[1..].trim_start_matches([' ', '\t']).starts_with(')') {
                    self.obstacle(
                        "a shell function has its own parameters; move the function into a file of the package",
                    );
                }
                self.divide(1);
                self.end_command();
                if let Some(words) = self.words() {
                    words.depth += 1;
                }
            }
            ')' if self.frames.len() > 1 && self.words().is_some_and(|words| words.depth == 0) => {
                self.end_word();
                self.end_command();
                self.close(1);
            }
            ')' | ';' | '&' | '|' | '\n' => {
                self.divide(1);
                self.end_command();
                let documents = self.words().map(|words| {
                    words.depth = words.depth.saturating_sub(usize::from(c == ')'));
                    if c == '\n' { words.begun_documents() } else { Vec::new() }
                });
                self.read_documents(documents.unwrap_or_default());
            }
            c if c.is_ascii_whitespace() || matches!(c, '<' | '>') => self.divide(1),
            _ => {
                self.take(c.len_utf8());
                if let Some(words) = self.words() {
                    words.push(c);
                }
            }
        }
    }

    /// Reads a `$` in any context.
    fn dollar(&mut self) {
        if let Some(inside) = self.rest.strip_prefix("${") {
            let end = inside.find('}').unwrap_or(inside.len());
            let (name, raw) = match inside[..end].strip_suffix(":raw") {
                Some(name) => (name, true),
                None => (&inside[..end], false),
            };
            if end < inside.len() && is_parameter(name) && self.is_declared(name) {
                let name = name.to_owned();
                return self.place(name, raw, end + 3);
            }
            if matches!(self.frames.last(), Some(Frame::Single | Frame::Backticks)) {
                return self.take(2);
            }
            let inside = inside.trim_start_matches('#');
            let length = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
            if self.declared.by_schema && self.is_declared(&inside[..length]) {
                let name = &inside[..length];
                self.refuse(format!("write the parameter '{name}' as `${{{name}}}` or `${{{name}:raw}}`"));
            }
            self.open(Frame::Expansion, 2);
        } else if self.rest.starts_with("$((") {
            self.open(Frame::Arithmetic { depth: 0 }, 3);
        } else if self.rest.starts_with("$(") {
            self.open(Frame::Commands(Words::new()), 2);
        } else {
            if self.rest.starts_with("$'") && matches!(self.frames.last(), Some(Frame::Commands(_))) {
                self.obstacle("not every shell supports `$'`; use another kind of quote");
            }
            let after = &self.rest[1..];
            let length = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            if self.declared.by_schema && self.is_declared(&after[..length]) {
                self.scanned.unbraced.push(after[..length].to_owned());
            }
            self.take_inside();
        }
    }

    fn place(&mut self, name: String, raw: bool, length: usize) {
        let quote = match self.frames.last() {
            Some(Frame::Double) => Quote::Double,
            Some(Frame::Single) => Quote::Single,
            Some(Frame::Commands(_)) | None => Quote::Bare,
            Some(Frame::Expansion) => return self.refuse_place(&name, "inside another `${...}`", length),
            Some(Frame::Arithmetic { .. }) => {
                return self.refuse_place(
                    &name,
                    "inside `$((...))`, where the shell would evaluate its value as an expression",
                    length,
                );
            }
            Some(Frame::Backticks) => return self.refuse_place(&name, "in backticks; write `$(...)`", length),
        };
        let words = self.frames.iter_mut().rev().find_map(|frame| match frame {
            Frame::Commands(words) => Some(words),
            _ => None,
        });
        let begins_word = words.is_some_and(Words::place);
        self.scanned.parts.push(Part::Place(Place { name, quote, raw, begins_word }));
        self.rest = &self.rest[length..];
    }

    fn refuse_place(&mut self, name: &str, why: &str, length: usize) {
        self.refuse(format!("`${{{name}}}` is not allowed {why}"));
        self.take(length);
    }

    fn is_declared(&self, name: &str) -> bool {
        (self.declared.is_parameter)(name)
    }

    fn refuse(&mut self, why: String) {
        self.scanned.refused.get_or_insert(why);
    }

    /// Reads a `<<`; its document starts on the next line.
    fn here_document(&mut self) {
        let skips_tabs = self.rest.starts_with("<<-");
        self.divide(if skips_tabs { 3 } else { 2 });
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.take(blanks);
        let divides = |c: char| c.is_ascii_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')');
        let end = self.rest.find(divides).unwrap_or(self.rest.len());
        let delimiter = self.rest[..end].replace(['\'', '"', '\\'], "");
        self.take(end);
        if let Some(words) = self.words() {
            words.here_document(delimiter, skips_tabs);
        }
    }

    fn read_documents(&mut self, documents: Vec<(String, bool)>) {
        for (delimiter, skips_tabs) in documents {
            while !self.rest.is_empty() {
                let line = self.rest.split_inclusive('\n').next().unwrap_or_default();
                let text = line.trim_end_matches('\n');
                let is_end = delimiter == if skips_tabs { text.trim_start_matches('\t') } else { text };
                let names = line.split("${").skip(1).filter_map(|after| after.split_once('}'));
                let declared = names.map(|(name, _)| name.strip_suffix(":raw").unwrap_or(name));
                if let Some(name) = declared.filter(|name| is_parameter(name)).find(|name| self.is_declared(name)) {
                    self.refuse(format!("`${{{name}}}` is not allowed in a here-document; pipe it from `printf`"));
                }
                self.take(line.len());
                if is_end {
                    break;
                }
            }
        }
    }

    fn words(&mut self) -> Option<&mut Words> {
        match self.frames.last_mut() {
            Some(Frame::Commands(words)) => Some(words),
            _ => None,
        }
    }

    fn open(&mut self, frame: Frame, length: usize) {
        self.take(length);
        // A substitution may produce text, so it makes the word non-empty; quotes alone do not.
        if !matches!(frame, Frame::Double | Frame::Single) {
            self.fill_word(None);
        }
        self.frames.push(frame);
    }

    fn close(&mut self, length: usize) {
        self.take(length);
        self.frames.pop();
    }

    /// Reads one character of a word.
    fn take_inside(&mut self) {
        let is_quoted = matches!(self.frames.last(), Some(Frame::Single | Frame::Double));
        self.fill_word(self.rest.chars().next().filter(|_| is_quoted));
        self.take(self.rest.chars().next().map_or(0, char::len_utf8));
    }

    fn escaped(&mut self) {
        self.fill_word(self.rest.chars().nth(1).filter(|c| *c != '\n'));
        let length = self.rest.chars().take(2).map(char::len_utf8).sum();
        self.take(length);
    }

    /// Records that the word is not empty. `seen` is the character that a program sees, if it is known.
    fn fill_word(&mut self, seen: Option<char>) {
        let words = self.frames.iter_mut().rev().find_map(|frame| match frame {
            Frame::Commands(words) => Some(words),
            _ => None,
        });
        if let Some(words) = words {
            words.fill(seen);
        }
    }

    /// Reads a separator between words.
    fn divide(&mut self, length: usize) {
        self.end_word();
        self.take(length);
    }

    fn end_word(&mut self) {
        let in_substitution = self.frames.len() > 1;
        let Some(words) = self.words() else { return };
        let is_case = in_substitution && words.is_program("case");
        let found = words.end().or(is_case.then_some("a `case` inside `$(...)` is not supported"));
        self.note(found);
    }

    fn end_command(&mut self) {
        let found = self.words().and_then(Words::next_command);
        self.note(found);
    }

    fn take(&mut self, length: usize) {
        let (text, rest) = self.rest.split_at(length);
        match self.scanned.parts.last_mut() {
            Some(Part::Text(before)) => before.push_str(text),
            _ => self.scanned.parts.push(Part::Text(text.to_owned())),
        }
        self.rest = rest;
    }

    fn note(&mut self, found: Option<&str>) {
        if let Some(found) = found {
            self.obstacle(found);
        }
    }

    fn obstacle(&mut self, why: &str) {
        self.scanned.obstacle.get_or_insert_with(|| why.to_owned());
    }
}
