//! Converts between a prompt and a slash command's file.
//!
//! The file begins with the imported front matter, if any, updated where the prompt's attributes differ. An imported command
//! keeps its text and the placeholders of the agent it came from ([`dialect`]). mcpkg fills them in as that agent does
//! ([`fill`]). A deploy writes a Claude Code file ([`convert`]); the files for other agents are made from that one
//! ([`convert_to`], [`words`], [`skill`]).

pub mod convert_to;
pub mod dialect;
pub mod fill;
pub mod inert;
pub mod skill;
pub mod toml_file;
pub mod words;

mod arguments;
mod convert;
mod exact;
mod front_matter;
mod shell_lines;
mod word_names;

use std::borrow::Cow;

use crate::agents;
use crate::forms::matter;
use crate::template;
use arguments::known_of;
use dialect::{Dialect, Piece};
use front_matter::{Parts, described, front_matter, front_of, matter_of, split};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_store::prompts::Attributes;
use word_names::{Names, names_of};

pub use exact::{exact, listed, to_list};
pub use word_names::LINE;

/// The prompt that was read from a command's file.
#[derive(Debug)]
pub struct Read {
    /// The attributes, without the file's path.
    pub attributes: Attributes,
    /// The text, which may be empty.
    pub content: String,
    /// The reason why the whole file, with its front matter, was stored as the text.
    pub odd: Option<Error>,
}

/// Reads a command's file by the rules of the agent it was written for. [`source`] turns the result into the same
/// bytes.
pub fn read(file: &str, dialect: Dialect) -> Read {
    match understand(file, dialect) {
        Ok((attributes, content)) => Read { attributes, content, odd: None },
        Err(error) => Read { attributes: as_it_stands(file, dialect), content: file.to_owned(), odd: Some(error) },
    }
}

fn understand(file: &str, dialect: Dialect) -> Result<(Attributes, String)> {
    let Parts { front, matter, body, .. } = split(file)?;
    let description = matter.description.clone();
    let written = Names::of(dialect, Some(front));
    let pieces = dialect::pieces(dialect, body, &written.0);
    let has_place = pieces.iter().any(|piece| piece.place().is_some());
    let declared = Attributes { description, template: true, arguments: matter.arguments, ..Attributes::default() };
    let own = front == matter::write(&declared);
    if !declared.arguments.is_empty() && template::parses(body) {
        let looks_up = template::variables(body)?.iter().any(|name| declared.arguments.iter().any(|a| a.name == *name));
        if own || looks_up || (written.0.is_empty() && !has_place) {
            template::check(body)?;
            template::check_declared(body, &declared.arguments)?;
            let front_matter = (!own).then(|| front.to_owned());
            return Ok((Attributes { front_matter, ..declared }, body.to_owned()));
        }
    }
    let text: String = pieces.iter().map(Piece::typed).collect();
    let arguments = arguments::all(dialect, &written, &pieces, matter.hint.as_deref());
    let mut attributes = Attributes { template: false, arguments: Vec::new(), ..declared };
    if arguments.is_empty() {
        attributes.front_matter = (front != front_matter(&attributes)).then(|| front.to_owned());
        if text == body || to_file("", &attributes, &text).is_ok_and(|back| back == file) {
            return Ok((attributes, text));
        }
    }
    attributes = Attributes { template: true, dialect: Some(dialect), arguments, front_matter: None, ..attributes };
    if front != front_matter(&attributes) {
        attributes.front_matter = Some(front.to_owned());
    }
    Ok((attributes, body.to_owned()))
}

/// Returns the attributes of a file that is stored whole as the text, with any front matter. They follow only from
/// the placeholders in the text.
fn as_it_stands(file: &str, dialect: Dialect) -> Attributes {
    let pieces = dialect::pieces(dialect, file, &[]);
    let is_plain = matches!(pieces.as_slice(), [] | [Piece::Text(_)]);
    let arguments = arguments::all(dialect, &Names::default(), &pieces, None);
    Attributes { template: !is_plain, dialect: (!is_plain).then_some(dialect), arguments, ..Attributes::default() }
}

/// Reads a text whose front matter declares arguments. If `kept` says that the prompt has stored front matter, any
/// front matter is enough, because it replaces the stored one. Returns `None` for other texts, which are stored
/// unchanged. An error is the reason to store a text unchanged although it has front matter.
pub fn declared(text: &str, kept: bool) -> Result<Option<(Attributes, String)>> {
    let Parts { front, yaml, body, .. } = split(text)?;
    let matter = matter::parse(yaml)?;
    let declares = matter.hint.is_some() || !matter.arguments.is_empty();
    let replaces = kept && !front.is_empty();
    if body.is_empty() || !(declares || replaces) {
        return Ok(None);
    }
    let (attributes, content) = understand(text, Dialect::Claude)?;
    let asks = !matter.arguments.is_empty() || has_places(&attributes, &content);
    Ok(((attributes.template && asks) || replaces).then_some((attributes, content)))
}

fn has_places(attributes: &Attributes, text: &str) -> bool {
    attributes.dialect.is_some_and(|dialect| {
        let names = Names::of(dialect, attributes.front_matter.as_deref());
        dialect::pieces(dialect, text, &names.0).iter().any(|piece| piece.place().is_some())
    })
}

/// Drops the stored front matter if the new text begins with its own.
pub fn drop_replaced(attributes: &mut Attributes, text: &str) {
    if matches!(matter::split(text), Ok(Some(_))) {
        attributes.front_matter = None;
    }
}

/// Updates the arguments to match the placeholders of a command's new text. Arguments that remain keep their descriptions.
pub fn recount(attributes: &mut Attributes, text: &str) {
    let Some(dialect) = attributes.dialect else { return };
    let names = Names::of(dialect, attributes.front_matter.as_deref());
    let hint = matter_of(attributes).and_then(|matter| matter.hint);
    let pieces = dialect::pieces(dialect, text, &names.0);
    let arguments = arguments::all(dialect, &names, &pieces, hint.as_deref());
    attributes.arguments = known_of(arguments, &attributes.arguments);
}

/// Updates the stored front matter from the attributes, if the resulting file would import as the same prompt.
pub fn refresh(attributes: &mut Attributes, text: &str) {
    if attributes.front_matter.as_deref().is_some_and(toml_file::is_frame) {
        return;
    }
    let Some(file) = attributes.front_matter.as_ref().and_then(|_| source("", attributes, text).ok()) else {
        return;
    };
    let Read { attributes: again, content, .. } = read(&file, attributes.dialect.unwrap_or(Dialect::Claude));
    let now = Attributes { front_matter: again.front_matter.clone(), ..attributes.clone() };
    let same = content == text && now == Attributes { file: now.file.clone(), ..again };
    if same && source("", &now, text).is_ok_and(|back| back == file) {
        *attributes = now;
    }
}

/// Returns a file that [`read`] reads as this prompt. For an imported command that has not changed, this is the
/// imported file.
pub fn source(name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    if attributes.front_matter.as_deref().is_some_and(toml_file::is_frame)
        && let Some(file) = toml_file::source(attributes, text)
    {
        return Ok(file);
    }
    match (attributes.template, attributes.dialect, &attributes.front_matter) {
        (true, None, Some(front)) => Ok(described(front, attributes) + text),
        (true, None, None) => Ok(matter::write(attributes) + text),
        (true, Some(Dialect::OpenCode), _) => Ok(front_of(attributes, text) + text),
        _ => to_file(name, attributes, text),
    }
}

/// Returns the attributes with which a deploy writes a prompt that was imported from an agent. If the agent does not fill
/// in arguments, a placeholder in its command is ordinary text.
pub fn as_deployed<'a>(attributes: &'a Attributes, agent: Option<&str>) -> Cow<'a, Attributes> {
    match agent {
        Some(agent) if attributes.dialect.is_some() && !inert::fills_in_arguments(agent) => {
            Cow::Owned(Attributes { template: false, dialect: None, arguments: Vec::new(), ..attributes.clone() })
        }
        _ => Cow::Borrowed(attributes),
    }
}

/// Like [`from_file`], for a file that was written with the attributes of [`as_deployed`].
pub fn from_deployed(file: &str, before: &Attributes, text: &str, agent: Option<&str>) -> Result<(Attributes, String)> {
    let deployed = as_deployed(before, agent);
    let (mut attributes, content) = from_file(file, &deployed, text)?;
    if deployed.dialect != before.dialect && !attributes.template {
        (attributes.template, attributes.dialect) = (true, before.dialect);
        attributes.arguments.clone_from(&before.arguments);
        recount(&mut attributes, &content);
    }
    Ok((attributes, content))
}

/// Like [`source`], for a prompt that was imported from an agent. If the agent has no escape for placeholders, text
/// that looks like one is not escaped.
pub fn source_of(name: &str, attributes: &Attributes, text: &str, agent: Option<&str>) -> Result<String> {
    let from_one = agent.and_then(agents::with_id).is_some_and(|agent| agent.imports.counts_from_one);
    match (attributes.template, from_one) {
        (false, true) => Ok(front_of(attributes, text) + text),
        _ => source(name, attributes, text),
    }
}

/// Returns the prompt's file for Claude Code. For an unchanged command that was imported from Claude Code, this is the
/// imported file.
pub fn to_file(name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    let mut front = front_of(attributes, text);
    let is_toml = || attributes.front_matter.as_deref().is_some_and(toml_file::is_frame);
    if front.is_empty() && is_toml() && matches!(matter::split(text), Ok(Some(_))) {
        // The prompt comes from a TOML file, which has no front matter, and its text begins with `---`. Put empty front matter
        // first, so that Claude Code does not read that text as front matter.
        front = "---\n---\n".to_owned();
    }
    let names = names_of(&front);
    Ok(front + &convert::to_claude(name, attributes, text, &names)?)
}

/// Reads a Claude Code file that [`to_file`] wrote for the prompt `before` and somebody edited. From the resulting
/// prompt, [`to_file`] writes the edited file again. Fails if the file has no text or contains U+0000. Also fails for
/// a Jinja template if anything but the front matter was edited.
pub fn from_file(file: &str, before: &Attributes, text: &str) -> Result<(Attributes, String)> {
    check_text(file)?;
    if before.template && before.dialect.is_none() {
        return described_anew(file, before, text);
    }
    let Read { attributes, content, .. } = read(file, Dialect::Claude);
    let attributes = Attributes { file: before.file.clone(), ..attributes };
    check_text(&content)?;
    if before.front_matter.as_deref().is_some_and(toml_file::is_frame) {
        let arguments = known_of(attributes.arguments.clone(), &before.arguments);
        let kept = Attributes { arguments, front_matter: before.front_matter.clone(), ..attributes.clone() };
        if to_file("", &kept, &content).is_ok_and(|back| back == file) {
            return Ok((kept, content));
        }
    }
    // An export may have generated the front matter. Try without it first, and keep it only if the prompt would
    // otherwise give another file.
    let front = split(file).ok().map(|parts| parts.front.to_owned());
    let kept = Attributes { front_matter: front, ..attributes.clone() };
    let mut readings = vec![(attributes.clone(), content.clone()), (kept, content.clone())];
    // Keep properties of an argument that `argument-hint` cannot express.
    let arguments = known_of(attributes.arguments.clone(), &before.arguments);
    readings.insert(0, (Attributes { arguments, ..attributes.clone() }, content.clone()));
    if before.dialect == Some(Dialect::OpenCode) {
        let content = convert::to_opencode(&content, &names_of(attributes.front_matter.as_deref().unwrap_or_default()));
        let mut attributes =
            Attributes { template: true, dialect: before.dialect, arguments: before.arguments.clone(), ..attributes };
        recount(&mut attributes, &content);
        readings.insert(0, (attributes, content));
    }
    for (attributes, content) in readings {
        if to_file("", &attributes, &content).is_ok_and(|back| back == file) {
            return Ok((attributes, content));
        }
    }
    Ok((Attributes { file: before.file.clone(), ..as_it_stands(file, Dialect::Claude) }, file.to_owned()))
}

/// Fails if a text cannot be stored as a prompt: it is empty or contains U+0000.
pub fn check_text(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "Prompt content cannot be empty"));
    }
    names::check_text("Prompt content", text)
}

/// Reads an edited file of a Jinja template. Only the front matter may have changed.
fn described_anew(file: &str, before: &Attributes, text: &str) -> Result<(Attributes, String)> {
    let was = to_file("", before, text)?;
    let rendered = split(&was).map_or(was.as_str(), |parts| parts.body);
    let edited = split(file).ok().filter(|parts| parts.body == rendered).map(|Parts { front, matter, .. }| {
        let mut attributes = Attributes { description: matter.description, front_matter: None, ..before.clone() };
        if front != front_matter(&attributes) {
            attributes.front_matter = Some(front.to_owned());
        }
        attributes
    });
    match edited {
        Some(attributes) if to_file("", &attributes, text)? == file => Ok((attributes, text.to_owned())),
        _ => Err(Error::new(
            Code::InvalidArgument,
            "The prompt is a template, so changes to its rendered text cannot be stored",
        )
        .hint("edit the template itself with `mcpkg prompt edit NAME`")),
    }
}

/// Returns the path of a prompt's file within a folder of commands.
pub fn path(name: &str, attributes: &Attributes) -> String {
    attributes.file.clone().unwrap_or_else(|| format!("{name}.md"))
}

/// Checks the front matter and the path that an export's manifest gives for a prompt.
pub fn check_origin(front_matter: Option<&str>, file: Option<&str>) -> Result<()> {
    if let Some(front) = front_matter {
        names::check_text("The front matter", front)?;
        if !toml_file::is_frame(front) && !split(front)?.body.is_empty() {
            return Err(Error::new(Code::InvalidArgument, "The front matter contains text after its closing `---`"));
        }
    }
    // Allow any path that is valid on some system. The code that writes files checks them against the rules of all systems.
    let stays = |path: &str| {
        path.ends_with(".md") && !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
    };
    match file {
        Some(path) if !stays(path) => {
            Err(Error::new(Code::InvalidArgument, format!("`{}` is not a valid command path", path.escape_debug())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
