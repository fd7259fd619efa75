//! Reads and writes Gemini's commands: TOML files with the text in `prompt`. The rest of the file is stored as well, so
//! that the same bytes can be written again.

use toml_edit::Document;

use super::arguments;
use super::dialect::{self, Dialect, Piece, Placeholder};
use super::shell_lines::{shell_from_gemini, shell_to_gemini};
use super::word_names::Names;
use super::words::{self, Spelling};
use crate::forms::toml_text::{self, PROMPT};
use mcpkg_store::prompts::Attributes;

/// Gemini's only placeholder: the whole typed line.
const ARGS: &str = "{{args}}";

/// Returns whether a prompt's stored front matter is a TOML file without its text.
pub fn is_frame(front: &str) -> bool {
    let front = front.strip_prefix('\u{feff}').unwrap_or(front);
    !front.starts_with("---")
        && toml_text::parse(front.as_bytes())
            .is_ok_and(|document| toml_text::text(&document, PROMPT).is_some_and(|text| text.trim().is_empty()))
}

/// Reads a command's TOML file; [`source`] returns the same bytes. The error is the reason why the command cannot become a prompt
/// and is stored as a file.
pub fn read(file: &str) -> Result<(Attributes, String), String> {
    let odd = |why: &str| Err(why.to_owned());
    let document = Document::parse(file).map_err(|error| format!("it is not valid TOML: {}", error.message()))?;
    let item = document.get(PROMPT);
    let (Some(text), Some(span)) = (item.and_then(|item| item.as_str()), item.and_then(|item| item.span())) else {
        return odd("its `prompt` is missing or is not a string");
    };
    let literal = &file[span.clone()];
    let style = Style::of(literal);
    if style.write(text).as_deref() != Some(literal) {
        return odd("its text contains escape sequences that mcpkg cannot write back unchanged");
    }
    let frame = format!("{}{}{}", &file[..span.start], style.empty(), &file[span.end..]);
    let bare = shell_from_gemini(text);
    let template = text.contains(ARGS) || bare != text;
    let content = if template { from_gemini(&bare) } else { text.to_owned() };
    if content.is_empty() {
        return odd("its `prompt` is missing or is not a string");
    }
    let pieces = dialect::pieces(Dialect::Claude, &content, &[]);
    let arguments =
        if template { arguments::all(Dialect::Claude, &Names::default(), &pieces, None) } else { Vec::new() };
    let description = document.get("description").and_then(|item| item.as_str()).map(str::to_owned);
    let attributes = Attributes {
        description: description.filter(|text| !text.is_empty()),
        template,
        dialect: template.then_some(Dialect::Claude),
        arguments,
        front_matter: Some(frame),
        ..Attributes::default()
    };
    match source(&attributes, &content) {
        Some(back) if back == file => Ok((attributes, content)),
        _ => odd("other agents would interpret its text differently"),
    }
}

/// Returns the TOML file of a prompt whose other keys are stored ([`is_frame`]). `None` if the file cannot express the text.
pub fn source(attributes: &Attributes, content: &str) -> Option<String> {
    let frame = attributes.front_matter.as_deref()?;
    let text = match attributes.template {
        true => to_gemini(content),
        false => content.to_owned(),
    };
    let span = Document::parse(frame).ok()?.get(PROMPT)?.span()?;
    let style = Style::of(&frame[span.clone()]);
    let literal = style.write(&text).or_else(|| Style::Basic { lines: true }.write(&text))?;
    let file = format!("{}{literal}{}", &frame[..span.start], &frame[span.end..]);
    let mut document = toml_text::parse(file.as_bytes()).ok()?;
    if toml_text::text(&document, "description").filter(|text| !text.is_empty()) == attributes.description.as_deref() {
        return Some(file);
    }
    match (&attributes.description, document.get_mut("description").and_then(toml_edit::Item::as_value_mut)) {
        (Some(description), Some(value)) => {
            let decor = value.decor().clone();
            *value = description.as_str().into();
            *value.decor_mut() = decor;
        }
        (Some(description), None) => document["description"] = toml_edit::value(description.as_str()),
        (None, _) => drop(document.remove("description")),
    }
    Some(document.to_string())
}

/// Converts a text from Gemini's syntax to Claude Code's.
fn from_gemini(text: &str) -> String {
    let parts: Vec<&str> = text.split(ARGS).collect();
    let last = parts.len() - 1;
    let write = |(at, part): (usize, &&str)| {
        let place = if at == last { "" } else { "$ARGUMENTS" };
        dialect::escape(part, &[]) + place
    };
    parts.iter().enumerate().map(write).collect()
}

/// Converts a text from Claude Code's syntax to Gemini's. Placeholders for single words become words in braces.
fn to_gemini(text: &str) -> String {
    let pieces = dialect::pieces(Dialect::Claude, text, &[]);
    if pieces.iter().any(|piece| piece.word().is_some()) {
        return words::text(&format!("---\n---\n{text}"), &[], Spelling::OneLine).into_owned();
    }
    let typed = |piece: &Piece<'_>| match piece {
        Piece::Placeholder(_, Placeholder::All) => ARGS.to_owned(),
        piece => piece.typed().to_owned(),
    };
    shell_to_gemini(&pieces.iter().map(typed).collect::<String>())
}

/// The syntax of a TOML string.
#[derive(Clone, Copy)]
enum Style {
    /// `"..."`. With `lines`, `"""` with the text starting on the next line.
    Basic { lines: bool },
    /// `"""` with the text starting on the same line.
    BasicInline,
    /// `'...'`.
    Literal,
    /// `'''`. The text starts on the next line if `empty_first`.
    LiteralLines { empty_first: bool },
}

impl Style {
    fn of(literal: &str) -> Self {
        let empty_first = |quotes: &str| literal.strip_prefix(quotes).is_some_and(|rest| rest.starts_with('\n'));
        match literal {
            _ if literal.starts_with("\"\"\"") && empty_first("\"\"\"") => Self::Basic { lines: true },
            _ if literal.starts_with("\"\"\"") => Self::BasicInline,
            _ if literal.starts_with("'''") => Self::LiteralLines { empty_first: empty_first("'''") },
            _ if literal.starts_with('\'') => Self::Literal,
            _ => Self::Basic { lines: false },
        }
    }

    const fn empty(self) -> &'static str {
        match self {
            Self::Basic { lines: false } => "\"\"",
            Self::Basic { lines: true } => "\"\"\"\n\"\"\"",
            Self::BasicInline => "\"\"\"\"\"\"",
            Self::Literal => "''",
            Self::LiteralLines { empty_first: true } => "'''\n'''",
            Self::LiteralLines { empty_first: false } => "''''''",
        }
    }

    /// Writes a text in this style; `None` if the style cannot express it.
    fn write(self, text: &str) -> Option<String> {
        let has_controls = text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
        let escaped = text.replace('\\', "\\\\").replace("\"\"\"", "\"\"\\\"");
        match self {
            Self::Basic { lines: false } => {
                let one_line =
                    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
                (!has_controls).then(|| format!("\"{one_line}\""))
            }
            Self::Basic { .. } if has_controls || text.ends_with('"') => None,
            Self::Basic { .. } => Some(format!("\"\"\"\n{escaped}\"\"\"")),
            Self::BasicInline if has_controls || text.starts_with('\n') || text.ends_with('"') => None,
            Self::BasicInline => Some(format!("\"\"\"{escaped}\"\"\"")),
            Self::Literal if has_controls || text.contains(['\'', '\n']) => None,
            Self::Literal => Some(format!("'{text}'")),
            Self::LiteralLines { empty_first } => {
                let bad = has_controls || text.contains("'''") || text.ends_with('\'');
                let bad = bad || (!empty_first && text.starts_with('\n'));
                (!bad).then(|| format!("'''{}{text}'''", if empty_first { "\n" } else { "" }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_restored_byte_for_byte() {
        for (file, content, description) in [
            (
                "# Mine\ndescription = \"Fixes\"\n\nprompt = \"\"\"\nFix {{args}} for $0.50\nOn !{date -u}.\n\"\"\"\nmodel = 3\n",
                "Fix $ARGUMENTS for \\$0.50\nOn !`date -u`.\n",
                Some("Fixes"),
            ),
            ("prompt='''Say \"x\" \\n {{args}}'''", "Say \"x\" \\n $ARGUMENTS", None),
            ("prompt = \"Plain \\\"x\\\"\\n$5\"\n", "Plain \"x\"\n$5", None),
            ("prompt = 'a @{b}'\n", "a @{b}", None),
            ("prompt = \"\"\"a\nb\"\"\"\n", "a\nb", None),
        ] {
            let (attributes, text) = read(file).unwrap();
            assert_eq!((text.as_str(), attributes.description.as_deref()), (content, description));
            assert!(is_frame(attributes.front_matter.as_deref().unwrap()), "{file}");
            assert_eq!(source(&attributes, &text).as_deref(), Some(file));
            assert_eq!(attributes.arguments.len(), usize::from(file.contains(ARGS)), "{file}");
        }
    }

    #[test]
    fn a_file_that_could_not_be_restored_is_refused() {
        for file in
            ["prompt = \"\\u00e9\"", "x = 1", "prompt = 3", "prompt = \"\"", "prompt = ", "prompt = \"(!{date})\""]
        {
            assert!(read(file).is_err(), "{file}");
        }
    }

    #[test]
    fn an_edit_keeps_the_rest_of_the_file() {
        let file = "description = 'old' # why\nprompt = '''\na {{args}}\n'''\n";
        let (mut attributes, _) = read(file).unwrap();
        attributes.description = Some("new".to_owned());
        let back = source(&attributes, "it's $ARGUMENTS and '''x'''\n").unwrap();
        assert_eq!(back, "description = \"new\" # why\nprompt = \"\"\"\nit's {{args}} and '''x'''\n\"\"\"\n");
        assert!(!is_frame("---\na: b\n---\n") && !is_frame("a = 1") && !is_frame(""));
    }
}
