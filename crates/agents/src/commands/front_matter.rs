//! Reads and writes the front matter of a prompt's file. Imported front matter is kept, and changed only where the prompt's
//! attributes changed.

use super::arguments;
use super::convert;
use super::dialect::{self, Dialect};
use super::toml_file;
use super::word_names::{LINE, Names, number_of};
use crate::forms::matter::{self, Matter};
use mcpkg_base::error::Result;
use mcpkg_store::prompts::{Argument, Attributes};

/// A file, split into its front matter and its text.
pub struct Parts<'f> {
    /// The front matter with its `---` lines; empty if there is none.
    pub front: &'f str,
    /// The front matter without its `---` lines.
    pub yaml: &'f str,
    pub matter: Matter,
    pub body: &'f str,
}

/// Splits a file into its front matter and its text.
pub fn split(file: &str) -> Result<Parts<'_>> {
    Ok(match matter::split(file)? {
        Some((yaml, body)) => {
            let matter = matter::parse_for_agents(yaml)?;
            Parts { front: &file[..file.len() - body.len()], yaml, matter, body }
        }
        None => Parts { front: "", yaml: "", matter: Matter::default(), body: file },
    })
}

/// Parses the imported front matter, if the prompt has any.
pub fn matter_of(attributes: &Attributes) -> Option<Matter> {
    split(attributes.front_matter.as_deref()?).ok().map(|parts| parts.matter)
}

/// Returns the front matter of a prompt's file for Claude Code.
pub fn front_of(attributes: &Attributes, text: &str) -> String {
    if attributes.front_matter.as_deref().is_some_and(toml_file::is_frame) {
        return front_matter(attributes);
    }
    match (&attributes.front_matter, matter_of(attributes)) {
        (Some(front), Some(matter)) => updated(front, &matter, attributes, text),
        _ => front_matter(attributes),
    }
}

/// Returns the imported front matter, changed where the attributes differ from it.
fn updated(front: &str, matter: &Matter, attributes: &Attributes, text: &str) -> String {
    let mut front = described(front, attributes);
    if attributes.template {
        let hint = hint(attributes);
        let declared = match attributes.dialect {
            None => matter.arguments.clone(),
            Some(dialect) => {
                let names = Names::of(dialect, Some(&front));
                arguments::all(dialect, &names, &dialect::pieces(dialect, text, &names.0), matter.hint.as_deref())
            }
        };
        let is_jinja = attributes.dialect.is_none();
        if matter.hint.is_some() && matter.hint != hint && declared != attributes.arguments {
            let lines = hint.map(|hint| matter::line("argument-hint", &hint)).unwrap_or_default();
            front = matter::replace(&front, "argument-hint", &lines);
        }
        if is_jinja {
            front = matter::replace(&front, "arguments", &names_line(attributes));
        }
    }
    // Some front matter, such as `{description: a}`, cannot be edited line by line. In that case, generate it from scratch.
    match split(&front) {
        Ok(parts) if parts.matter.description == attributes.description && parts.body.is_empty() => front,
        _ => front_matter(attributes),
    }
}

/// Returns the imported front matter with the description from the attributes.
pub fn described(front: &str, attributes: &Attributes) -> String {
    if matter_of(attributes).is_some_and(|matter| matter.description == attributes.description) {
        return front.to_owned();
    }
    let lines = attributes.description.as_deref().map(|text| matter::line("description", text));
    matter::replace(front, "description", &lines.unwrap_or_default())
}

/// Generates front matter from the attributes alone.
pub fn front_matter(attributes: &Attributes) -> String {
    let mut lines = attributes.description.as_deref().map(|text| matter::line("description", text)).unwrap_or_default();
    if attributes.template {
        let described = attributes.arguments.iter().any(|argument| argument.description.is_some());
        if let Some(hint) = hint(attributes).filter(|_| attributes.dialect.is_none() || described) {
            lines += &matter::line("argument-hint", &hint);
        }
        lines += &names_line(attributes);
    }
    matter::between_marks(&lines)
}

/// Returns the line `arguments: [...]`, which names the words of a template for Claude Code.
fn names_line(attributes: &Attributes) -> String {
    let names = convert::names(attributes);
    // Quote names that YAML would not read as text.
    let is_word = |name: &String| {
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&name.to_lowercase().as_str())
    };
    let names: Vec<String> =
        names.into_iter().map(|name| if is_word(&name) { format!("\"{name}\"") } else { name }).collect();
    if names.is_empty() { String::new() } else { format!("arguments: [{}]\n", names.join(", ")) }
}

/// Returns the `argument-hint`, such as `<file> [focus]`. If mcpkg generated all names and all
/// arguments have the same description, returns the description.
fn hint(attributes: &Attributes) -> Option<String> {
    let arguments = &attributes.arguments;
    let first = arguments.first()?;
    // A generated name such as `arg1` says less than the description.
    let is_own = |argument: &Argument| {
        argument.name == LINE || number_of(Dialect::Claude, &argument.name).is_some() && attributes.dialect.is_some()
    };
    if arguments.iter().all(|argument| argument.description == first.description && is_own(argument)) {
        return first.description.clone();
    }
    let word = |argument: &Argument| {
        let name = match &argument.description {
            Some(description) if is_own(argument) => description,
            _ => &argument.name,
        };
        if argument.required { format!("<{name}>") } else { format!("[{name}]") }
    };
    Some(arguments.iter().map(word).collect::<Vec<_>>().join(" "))
}
