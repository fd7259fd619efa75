//! Writes the arguments of a command as another agent reads them. For agents that do not fill in arguments, each
//! placeholder becomes a name in braces, and a list above the text explains the names. VS Code gets `${input:...}`
//! instead, and asks the user for the value. OpenCode gets numbers, and Gemini gets `{{args}}` for the whole typed
//! line.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::dialect::{self, Dialect, Piece, Placeholder};
use super::shell_lines::{shell_from_gemini, shell_to_gemini};
use super::word_names::LINE;
use crate::forms::matter;
use mcpkg_store::prompts::Argument;

/// How a command's arguments are written for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `{topic}`, with a list of the arguments above the text.
    Words,
    /// `${input:topic:What to explain}`, for VS Code.
    Inputs,
    /// `$1`, for OpenCode, which counts from one.
    Numbers,
    /// `{topic}`, for Gemini. The list above the text also contains the whole typed line as `{{args}}`.
    OneLine,
}

/// A command in Claude Code's form, parsed.
struct Command<'f> {
    front: &'f str,
    body: &'f str,
    names: Vec<String>,
    hint: Option<String>,
    /// The prompt's arguments. Their descriptions may be missing in the file.
    known: &'f [Argument],
}

/// Returns a command's file, front matter included, with its arguments written in this form.
pub fn spell<'f>(file: &'f str, known: &[Argument], spelling: Spelling) -> Cow<'f, str> {
    // Most files have no placeholders.
    if !file.contains('$') {
        return file.into();
    }
    let command = Command::of(file, known);
    format!("{}{}", command.front, command.spelled(spelling)).into()
}

/// Like [`spell`], but returns only the text, without front matter.
pub fn text<'f>(file: &'f str, known: &[Argument], spelling: Spelling) -> Cow<'f, str> {
    if !file.contains('$') && spelling != Spelling::OneLine {
        return body(file).into();
    }
    Command::of(file, known).spelled(spelling).into()
}

/// Returns the text of a command's file without its front matter.
pub fn body(file: &str) -> &str {
    matter::split(file).ok().flatten().map_or(file, |(_, body)| body)
}

/// Returns the meanings of the placeholders in a command's file, in order.
pub fn places_of(file: &str) -> Vec<Placeholder> {
    Command::of(file, &[]).pieces().iter().filter_map(Piece::place).collect()
}

/// Converts a file that [`spell`] wrote and somebody edited back to a command's file. [`spell`] turns the result into exactly the
/// edited file. The error is the reason, for people, why that is impossible.
pub fn unspell(file: &str, known: &[Argument], spelling: Spelling, edited: &str) -> Result<String, String> {
    let text = matter::split(edited).ok().flatten().map_or(edited, |(_, text)| text);
    back(file, known, spelling, &edited[..edited.len() - text.len()], text)
}

/// Like [`unspell`], for an edited text without front matter; `front` is the front matter of the resulting file.
pub fn back(file: &str, known: &[Argument], spelling: Spelling, front: &str, edited: &str) -> Result<String, String> {
    let command = Command::of(file, known);
    if command.spelled(spelling) == edited {
        return Ok(format!("{front}{}", command.body));
    }
    let Some(mut rest) = edited.strip_prefix(&command.list(spelling)) else {
        return Err("the argument list was edited; edit the prompt instead".to_owned());
    };
    let places = command.places(spelling);
    let bare = shell_from_gemini(rest);
    if spelling == Spelling::OneLine {
        rest = &bare;
    }
    let mut body = String::new();
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let found = places.iter().find(|(spelled, _)| matches!(c, '{' | '$') && rest.starts_with(spelled.as_str()));
        match found {
            Some((spelled, typed)) => {
                body += &dialect::escape(&std::mem::take(&mut plain), &command.names);
                body += typed;
                rest = &rest[spelled.len()..];
            }
            None => {
                plain.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    body += &dialect::escape(&plain, &command.names);
    let back = format!("{front}{body}");
    if text(&back, known, spelling) == edited {
        Ok(back)
    } else {
        Err("the prompt's arguments can no longer be distinguished from its text; edit the prompt instead".to_owned())
    }
}

/// Returns whether Claude Code runs shell code in a command before the model sees it: `` !`date` `` at the start of a line or
/// after a space.
pub fn runs_something(file: &[u8]) -> bool {
    let begins = |at: usize| at == 0 || file[at - 1].is_ascii_whitespace();
    memchr::memmem::find_iter(file, b"!`").any(begins)
}

/// Adds a space to each part of a text that the agent would read as a placeholder, because the agent has no escape
/// for placeholders.
fn as_text(text: &str, spelling: Spelling) -> Cow<'_, str> {
    match spelling {
        Spelling::Words => text.into(),
        Spelling::Inputs => text.replace("${", "$ {").into(),
        Spelling::Numbers => {
            let mut out = String::new();
            for (at, part) in text.split('$').enumerate() {
                let is_read = part.starts_with("ARGUMENTS") || part.starts_with(|c: char| c.is_ascii_digit());
                out.push_str(if at == 0 { "" } else { "$" });
                out.push_str(if at > 0 && is_read { " " } else { "" });
                out.push_str(part);
            }
            out.into()
        }
        Spelling::OneLine => text.replace("{{args}}", "{ {args}}").replace("!{", "! {").replace("@{", "@ {").into(),
    }
}

/// Returns whether [`text`] breaks up a part of a command's text so that the agent does not read it as a placeholder.
pub fn breaks_up(file: &str, spelling: Spelling) -> bool {
    let command = Command::of(file, &[]);
    let is_changed = |piece: &Piece<'_>| matches!(piece, Piece::Text(text) if as_text(text, spelling) != *text);
    command.pieces().iter().any(is_changed)
}

impl<'f> Command<'f> {
    fn of(file: &'f str, known: &'f [Argument]) -> Self {
        let (yaml, body) = matter::split(file).ok().flatten().unwrap_or(("", file));
        let front = &file[..file.len() - body.len()];
        let hint = matter::parse(yaml).ok().and_then(|matter| matter.hint);
        Self { front, body, names: matter::names(yaml), hint, known }
    }

    fn pieces(&self) -> Vec<Piece<'f>> {
        dialect::pieces(Dialect::Claude, self.body, &self.names)
    }

    fn spelled(&self, spelling: Spelling) -> String {
        let mut text = String::new();
        for piece in self.pieces() {
            match piece {
                Piece::Text(plain) => text.push_str(&as_text(plain, spelling)),
                Piece::Placeholder(_, place) => {
                    let written = self.place(place, spelling);
                    // Gemini would read `!{{args}}` as shell code, and `@{{args}}` as a file.
                    if spelling == Spelling::OneLine && text.ends_with(['!', '@', '{']) && written.starts_with('{') {
                        text.push(' ');
                    }
                    text.push_str(&written);
                }
            }
        }
        self.list(spelling) + &if spelling == Spelling::OneLine { shell_to_gemini(&text) } else { text }
    }

    fn place(&self, place: Placeholder, spelling: Spelling) -> String {
        let name = self.name(place);
        match spelling {
            Spelling::Numbers => match place {
                Placeholder::Word(word) => format!("${}", word + 1),
                Placeholder::All | Placeholder::Nothing => "$ARGUMENTS".to_owned(),
            },
            Spelling::OneLine if place == Placeholder::All => "{{args}}".to_owned(),
            Spelling::Words | Spelling::OneLine => format!("{{{name}}}"),
            Spelling::Inputs => match self.meaning(place) {
                Some(meaning) => format!("${{input:{name}:{}}}", meaning.replace(['{', '}', '\n', '\r'], " ")),
                None => format!("${{input:{name}}}"),
            },
        }
    }

    /// Returns the name of a placeholder's argument.
    fn name(&self, place: Placeholder) -> String {
        match place {
            Placeholder::Word(word) => self.names.get(word).cloned().unwrap_or_else(|| format!("arg{word}")),
            // If the prompt has only one argument, use its name.
            Placeholder::All | Placeholder::Nothing => match self.known {
                [only] => only.name.clone(),
                _ => LINE.to_owned(),
            },
        }
    }

    /// Returns the description of an argument. Without a description, an unnamed word is described by its position in the
    /// user's input, and `$ARGUMENTS` as the whole input. `None` for a named argument without a description.
    fn meaning(&self, place: Placeholder) -> Option<String> {
        let known = self.known.iter().find(|argument| argument.name == self.name(place));
        let described =
            known.and_then(|argument| argument.description.clone()).filter(|text| self.hint.as_ref() != Some(text));
        described.or_else(|| match place {
            Placeholder::Word(word) if self.names.get(word).is_none() => {
                Some(format!("word {} of the user's input", word + 1))
            }
            Placeholder::All if self.known.len() != 1 => Some("the user's whole input".to_owned()),
            _ => None,
        })
    }

    /// Returns the list above the text, which ends with an empty line. The result is empty if this form needs no list.
    fn list(&self, spelling: Spelling) -> String {
        let found: HashSet<Placeholder> = self.pieces().iter().filter_map(Piece::place).collect();
        let mut places: Vec<Placeholder> = found.into_iter().collect();
        let is_listed = match spelling {
            Spelling::Words => !places.is_empty(),
            Spelling::OneLine => places.iter().any(|place| matches!(place, Placeholder::Word(_))),
            Spelling::Inputs | Spelling::Numbers => false,
        };
        if !is_listed {
            return String::new();
        }
        places.sort_by_key(|place| match place {
            Placeholder::Word(word) => (0, *word),
            Placeholder::All => (1, 0),
            Placeholder::Nothing => (2, 0),
        });
        let all = if spelling == Spelling::OneLine { ", one after the other: {{args}}" } else { ":" };
        let mut list = match self.hint.as_deref().map(str::trim).filter(|hint| !hint.is_empty()) {
            Some(hint) => {
                format!("The user gives these arguments, written `{}`{all}\n", as_text(hint, spelling))
            }
            None => format!("The user gives these arguments{all}\n"),
        };
        for place in places.into_iter().filter(|place| spelling == Spelling::Words || *place != Placeholder::All) {
            let meaning = self.meaning(place).map(|text| text.trim().replace(['\n', '\r'], " "));
            let meaning = meaning.map(|text| format!(": {}", as_text(&text, spelling)));
            list += &format!("- {}{}\n", self.place(place, spelling), meaning.unwrap_or_default());
        }
        list + "\n"
    }

    /// Returns each placeholder in this form together with its text in the file, longest first.
    fn places(&self, spelling: Spelling) -> Vec<(String, &'f str)> {
        let mut typed: HashMap<String, &str> = HashMap::new();
        for piece in self.pieces() {
            if let Piece::Placeholder(found, place) = piece {
                typed.entry(self.place(place, spelling)).or_insert(found);
            }
        }
        let mut places: Vec<(String, &str)> = typed.into_iter().collect();
        places.sort_by_key(|(spelled, _)| std::cmp::Reverse(spelled.len()));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---\narguments: [topic, reader]\n---\nExplain $topic to $reader for \\$0.50, $ARGUMENTS\n";

    fn known() -> Vec<Argument> {
        let argument = |name: &str, description: Option<&str>| Argument {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            required: false,
        };
        vec![argument("topic", Some("What to explain")), argument("reader", None)]
    }

    #[test]
    fn each_argument_is_named() {
        assert_eq!(
            text(FILE, &known(), Spelling::Words),
            "The user gives these arguments:\n- {topic}: What to explain\n- {reader}\n- {arguments}: the user's \
                whole input\n\nExplain {topic} to {reader} for $0.50, {arguments}\n"
        );
        assert_eq!(
            text("Fix $1 and \\$x, \\$5", &[], Spelling::Words),
            "The user gives these arguments:\n- {arg1}: word 2 of the user's input\n\nFix {arg1} and \\$x, $5"
        );
        assert_eq!(
            spell("---\nargument-hint: [pr]\n---\nFix $ARGUMENTS", &[], Spelling::Words),
            "---\nargument-hint: [pr]\n---\nThe user gives these arguments, written `[pr]`:\n- {arguments}: the \
                user's whole input\n\nFix {arguments}"
        );
        assert_eq!(text("No places", &[], Spelling::Words), "No places");
        assert_eq!(
            text(FILE, &known(), Spelling::Inputs),
            "Explain ${input:topic:What to explain} to ${input:reader} for $0.50, ${input:arguments:the user's whole input}\n"
        );
    }

    #[test]
    fn shell_code_is_recognized() {
        for (file, runs) in [("On !`date`", true), ("!`date`", true), ("(!`date`)", false), ("Hello!", false)] {
            assert_eq!(runs_something(file.as_bytes()), runs, "{file}");
        }
    }

    #[test]
    fn an_edited_text_is_converted_back() {
        for spelling in [Spelling::Words, Spelling::Inputs] {
            let front = "---\narguments: [topic, reader]\n---\n";
            let spelled = text(FILE, &known(), spelling);
            assert_eq!(back(FILE, &known(), spelling, front, &spelled).unwrap(), FILE);
            let edited = spelled.replace(" for $0.50", " for $1.25, not $x");
            assert_eq!(
                back(FILE, &known(), spelling, front, &edited).unwrap(),
                FILE.replace(" for \\$0.50", " for \\$1.25, not $x")
            );
        }
        let gone = text(FILE, &known(), Spelling::Words).replace("- {reader}\n", "");
        assert!(back(FILE, &known(), Spelling::Words, "", &gone).unwrap_err().contains("argument list was edited"));
    }
}
