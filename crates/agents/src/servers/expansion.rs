//! Parses and writes the references in an entry's texts that an agent replaces with values.

use super::loss::Unsayable;
use mcpkg_store::servers::{Part, Text};

/// The kinds of references that an agent replaces with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// `$NAME`.
    pub bare: bool,
    /// `${NAME}` and `${NAME:-default}`.
    pub braced: bool,
    /// The start of a reference to a variable: `${env:` or `{env:`. The reference ends with `}`.
    pub named: Option<&'static str>,
    /// `${input:id}`.
    pub inputs: bool,
    /// `{file:path}`.
    pub files: bool,
}

const INPUT: &str = "${input:";
const FILE: &str = "{file:";

impl Expansion {
    /// No references.
    pub const NONE: Self = Self { bare: false, braced: false, named: None, inputs: false, files: false };
    /// `${NAME}`.
    pub const BRACED: Self = Self { braced: true, ..Self::NONE };
    /// `$NAME` and `${NAME}`.
    pub const BARE: Self = Self { bare: true, ..Self::BRACED };
    /// `${env:NAME}`.
    pub const NAMED: Self = Self { named: Some("${env:"), ..Self::NONE };

    /// Returns whether the agent asks its user for values.
    pub(super) fn has_inputs(self) -> bool {
        self.inputs
    }

    /// Returns whether a text contains only references, apart from the scheme of a header such as `Bearer `.
    pub fn is_reference(self, text: &str) -> bool {
        let read = self.read(text);
        let is_plain = |part: &Part| matches!(part, Part::Text(plain) if !plain.ends_with(' ') || plain.contains('='));
        read.refers() && !read.parts().iter().any(is_plain)
    }

    /// Parses a text, as the agent does.
    pub(super) fn read(self, text: &str) -> Text {
        let (mut parts, mut from, mut at) = (Text::default(), 0, 0);
        while at < text.len() {
            let rest = &text[at..];
            if let Some((part, length)) = self.reference(rest) {
                parts.push(Part::Text(text[from..at].to_owned()));
                parts.push(part);
                at += length;
                from = at;
            } else {
                at += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        parts.push(Part::Text(text[from..].to_owned()));
        parts
    }

    /// Returns the reference at the start of a text, and its length.
    fn reference(self, text: &str) -> Option<(Part, usize)> {
        let within = |prefix: &str| {
            let inner = text.strip_prefix(prefix)?;
            let end = inner.find('}')?;
            Some((&inner[..end], prefix.len() + end + 1))
        };
        if let Some((name, length)) = self.named.and_then(within).filter(|(name, _)| is_variable(name)) {
            return Some((Part::env(name), length));
        }
        if self.inputs
            && let Some((id, length)) = within(INPUT).filter(|(id, _)| !id.is_empty())
        {
            return Some((Part::Input { input: id.to_owned() }, length));
        }
        if self.files
            && let Some((path, length)) = within(FILE).filter(|(path, _)| !path.is_empty())
        {
            return Some((Part::File { file: path.to_owned() }, length));
        }
        if self.braced
            && let Some((inner, length)) = within("${")
        {
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default.to_owned())),
                None => (inner, None),
            };
            if is_variable(name) {
                return Some((Part::Env { env: name.to_owned(), default }, length));
            }
        }
        if self.bare {
            let name = text.strip_prefix('$')?;
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
            return is_variable(&name[..end]).then(|| (Part::env(&name[..end]), end + 1));
        }
        None
    }

    /// Writes a text so that the agent reads it as intended. Returns whether a default was left out.
    ///
    /// # Errors
    /// The reason why the agent's format cannot express the text.
    pub(super) fn write(self, text: &Text) -> Result<(String, bool), Unsayable> {
        let (mut written, mut lost) = (String::new(), false);
        for part in text.parts() {
            match part {
                Part::Text(plain) => written.push_str(plain),
                Part::Env { env, default } => match (self.named, self.braced, default) {
                    (Some(begins), _, default) => {
                        written.extend([begins, env, "}"]);
                        lost |= default.is_some();
                    }
                    (None, true, None) => written.extend(["${", env, "}"]),
                    (None, true, Some(default)) => written.extend(["${", env, ":-", default, "}"]),
                    (None, false, _) => return Err(Unsayable::Variables),
                },
                Part::Input { input } if self.inputs => written.extend([INPUT, input, "}"]),
                Part::Input { .. } => return Err(Unsayable::Inputs),
                Part::File { file } if self.files => written.extend([FILE, file, "}"]),
                Part::File { .. } => return Err(Unsayable::Files),
            }
        }
        // Read the text back: the agent must not replace literal text, and must see exactly the intended references.
        let meant = if lost { without_defaults(text) } else { text.clone() };
        if self.read(&written) == meant { Ok((written, lost)) } else { Err(Unsayable::Literal) }
    }
}

/// Returns a text whose references have no defaults.
pub(super) fn without_defaults(text: &Text) -> Text {
    Text::new(text.parts().iter().map(|part| match part {
        Part::Env { env, .. } => Part::env(env),
        other => other.clone(),
    }))
}

/// Returns whether this is a valid name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
