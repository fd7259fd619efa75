//! A prompt as a slash command's file, and back.
//!
//! The file begins with front matter: the imported one where there is one, as far as it still says what the prompt's
//! attributes say. In the body a template's arguments are `$ARGUMENTS` and `$1`. A file that was imported comes out to
//! the byte; what could not is imported as it stands, front matter and all.

pub mod skill;

use std::collections::BTreeMap;

use super::import::commands::{self, Rewritten};
use super::import::matter::{self, Matter};
use super::{names, template};
use crate::error::{Code, Error, Result};
use crate::store::prompts::{Argument, Attributes};

/// What a command's file says.
#[derive(Debug)]
pub struct Read {
    /// All but the file's own path.
    pub attributes: Attributes,
    /// The text; a file may have none.
    pub content: String,
    /// Why the file was taken as it stands, front matter and all.
    pub odd: Option<Error>,
}

/// Reads a command's file; [`to_file`] gives the same bytes back.
pub fn read(file: &str) -> Read {
    match understand(file) {
        Ok((attributes, content)) => Read { attributes, content, odd: None },
        Err(error) => Read { attributes: Attributes::default(), content: file.to_owned(), odd: Some(error) },
    }
}

fn understand(file: &str) -> Result<(Attributes, String)> {
    let Parts { front, matter, body } = split(file)?;
    let Rewritten { text, arguments: taken } = rewrite(body, &matter.arguments);
    let arguments = commands::declare(matter.arguments, &taken, matter.hint.as_deref());
    let template = !arguments.is_empty();
    let content = if template { text } else { body.to_owned() };
    if template {
        template::check(&content)?;
    }
    let description = matter.description;
    let mut attributes = Attributes { description, template, arguments, front_matter: None, file: None };
    // An export's own front matter declares a template, which is no text of a slash command.
    if front == matter::write(&attributes) {
        return Ok((attributes, content));
    }
    if front != front_matter(&attributes) {
        attributes.front_matter = Some(front.to_owned());
    }
    if !content.is_empty() && to_file("", &attributes, &content)? != file {
        return Err(Error::new(Code::InvalidArgument, "`{{ }}` and `$` stand for the same argument"));
    }
    Ok((attributes, content))
}

/// Returns what the text given for a prompt says of it, where its front matter declares arguments or takes the place of
/// one that was `kept`; `None` for any other text, which goes out as it stands.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where it is to be taken as it stands for what is wrong with it.
pub fn declared(text: &str, kept: bool) -> Result<Option<(Attributes, String)>> {
    let Parts { front, matter, body } = split(text)?;
    let declares = matter.hint.is_some() || !matter.arguments.is_empty();
    let replaces = kept && !front.is_empty();
    if body.is_empty() || !(declares || replaces) {
        return Ok(None);
    }
    let (attributes, content) = understand(text)?;
    Ok((attributes.template || replaces).then_some((attributes, content)))
}

/// Gives up front matter that was kept where the new text, taken as it stands, begins with front matter itself.
pub fn drop_replaced(attributes: &mut Attributes, text: &str) {
    if matches!(matter::split(text), Ok(Some(_))) {
        attributes.front_matter = None;
    }
}

/// Brings front matter that is kept up to what the attributes say now, where the file then imports back as it is.
pub fn refresh(attributes: &mut Attributes, text: &str) {
    let Some(file) = attributes.front_matter.as_ref().and_then(|_| to_file("", attributes, text).ok()) else {
        return;
    };
    let Read { attributes: again, content, .. } = read(&file);
    let now = Attributes { front_matter: again.front_matter.clone(), ..attributes.clone() };
    let same = content == text && now == Attributes { file: now.file.clone(), ..again };
    if same && to_file("", &now, text).is_ok_and(|back| back == file) {
        *attributes = now;
    }
}

/// Returns the file of a prompt.
///
/// # Errors
/// `E_TEMPLATE_FAILED`, `E_TOO_LARGE` where its template does not render.
pub fn to_file(name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    let matter = kept(attributes);
    let (body, taken) = match (attributes.template, body(attributes, text)) {
        (false, _) => (text.to_owned(), Vec::new()),
        (true, Some(Rewritten { text, arguments })) => (text, arguments),
        (true, None) => (render(name, attributes, text)?, Vec::new()),
    };
    let front = match (&attributes.front_matter, matter) {
        (Some(front), Some(matter)) => updated(front, matter, attributes, &taken),
        _ => front_matter(attributes),
    };
    Ok(front + &body)
}

/// Returns what an edited file of the prompt with these attributes and this text says; [`to_file`] gives the same
/// bytes back.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where the file has no text, or where the text of a template was edited that is none of a slash
/// command.
pub fn from_file(file: &str, before: &Attributes, text: &str) -> Result<(Attributes, String)> {
    check_text(file)?;
    if before.template && body(before, text).is_none() {
        return described(file, before, text);
    }
    let Read { attributes, content, .. } = read(file);
    let attributes = Attributes { file: before.file.clone(), ..attributes };
    check_text(&content)?;
    // What a hint cannot say of an argument stays as it was.
    let mut more = attributes.clone();
    for argument in &mut more.arguments {
        if let Some(known) = before.arguments.iter().find(|known| known.name == argument.name) {
            argument.clone_from(known);
        }
    }
    // An export's front matter is nobody's but where somebody wrote it.
    let front = split(file).ok().map(|parts| parts.front.to_owned());
    let kept = Attributes { front_matter: front, ..attributes.clone() };
    for attributes in [more, attributes, kept] {
        if to_file("", &attributes, &content).is_ok_and(|back| back == file) {
            return Ok((attributes, content));
        }
    }
    Ok((Attributes { file: before.file.clone(), ..Attributes::default() }, file.to_owned()))
}

/// Checks a text that becomes a prompt's as it stands.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where it is empty or holds U+0000.
pub fn check_text(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "Prompt content cannot be empty"));
    }
    names::check_text("Prompt content", text)
}

/// Returns the attributes that an edited file gives to a prompt whose text did not change.
fn described(file: &str, before: &Attributes, text: &str) -> Result<(Attributes, String)> {
    let rendered = render("", before, text)?;
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
            "The prompt is a template, and a change of what it renders to cannot be taken back into it",
        )
        .hint("change the template itself, with `mcpkg prompt edit NAME`")),
    }
}

/// Returns the path of a prompt's file below a folder of commands.
pub fn path(name: &str, attributes: &Attributes) -> String {
    attributes.file.clone().unwrap_or_else(|| format!("{name}.md"))
}

/// Checks what an export's manifest says of the file a prompt came from.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub fn check_origin(front_matter: Option<&str>, file: Option<&str>) -> Result<()> {
    if let Some(front) = front_matter {
        names::check_text("The front matter", front)?;
        if !split(front)?.body.is_empty() {
            return Err(Error::new(Code::InvalidArgument, "The front matter goes on behind its end"));
        }
    }
    let stays = |path: &str| {
        path.ends_with(".md")
            && !path.contains('\\')
            && !path.contains(char::is_control)
            && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
    };
    match file {
        Some(path) if !stays(path) => {
            Err(Error::new(Code::InvalidArgument, format!("`{}` is no command's file", path.escape_debug())))
        }
        _ => Ok(()),
    }
}

/// A file's front matter, with its marks, and what follows.
struct Parts<'f> {
    front: &'f str,
    matter: Matter,
    body: &'f str,
}

fn split(file: &str) -> Result<Parts<'_>> {
    Ok(match matter::split(file)? {
        Some((yaml, body)) => Parts { front: &file[..file.len() - body.len()], matter: matter::parse(yaml)?, body },
        None => Parts { front: "", matter: Matter::default(), body: file },
    })
}

/// What the imported front matter says.
fn kept(attributes: &Attributes) -> Option<Matter> {
    split(attributes.front_matter.as_deref()?).ok().map(|parts| parts.matter)
}

/// Returns a body as a template. Who declares arguments writes one; a text that does not parse was not meant as one.
fn rewrite(body: &str, declared: &[Argument]) -> Rewritten {
    let rewritten = commands::rewrite(body, declared.is_empty());
    if !declared.is_empty() && !template::parses(&rewritten.text) {
        return commands::rewrite(body, true);
    }
    rewritten
}

/// Returns the body of which a template was made, and the arguments it takes by `$`; `None` where it is of another make.
fn body(attributes: &Attributes, text: &str) -> Option<Rewritten> {
    let declared = kept(attributes).map(|matter| matter.arguments).unwrap_or_default();
    let body = |escaped: bool| {
        let body = commands::restore(text, &declared, escaped);
        let again = rewrite(&body, &declared);
        (again.text == text).then_some(Rewritten { text: body, arguments: again.arguments })
    };
    body(true).or_else(|| if declared.is_empty() { None } else { body(false) })
}

/// Renders a template with what a command asks for in place of each value: `$ARGUMENTS` for a single argument, else
/// `$1` and so on by position.
fn render(name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    let arguments = &attributes.arguments;
    let own: Option<Vec<String>> = arguments.iter().map(|argument| commands::dollar(&argument.name)).collect();
    let words = own.unwrap_or_else(|| match arguments.len() {
        1 => vec!["$ARGUMENTS".to_owned()],
        count => (1..=count).map(|position| format!("${position}")).collect(),
    });
    let given: BTreeMap<_, _> = arguments.iter().map(|argument| argument.name.clone()).zip(words).collect();
    template::render(name, text, arguments, &given, crate::op::MAX_ANSWER)
}

/// Returns the imported front matter, changed where the attributes say something else.
fn updated(front: &str, matter: Matter, attributes: &Attributes, taken: &[String]) -> String {
    let mut front = front.to_owned();
    let hint = hint(&attributes.arguments);
    let declared = commands::declare(matter.arguments.clone(), taken, matter.hint.as_deref());
    let says_else = matter.hint.is_some() && matter.hint != hint && declared != attributes.arguments;
    if attributes.template && says_else {
        let lines = hint.map(|hint| matter::line("argument-hint", &hint)).unwrap_or_default();
        front = matter::replace(&front, "argument-hint", &lines);
    }
    if matter.description != attributes.description {
        let lines = attributes.description.as_deref().map(|text| matter::line("description", text));
        front = matter::replace(&front, "description", &lines.unwrap_or_default());
    }
    // Front matter that is no list of lines cannot be changed by lines.
    match split(&front) {
        Ok(parts) if parts.matter.description == attributes.description && parts.body.is_empty() => front,
        _ => front_matter(attributes),
    }
}

/// Returns the front matter of a prompt that has no imported one.
fn front_matter(attributes: &Attributes) -> String {
    let description = attributes.description.iter().map(|text| matter::line("description", text));
    let hint = hint(&attributes.arguments).filter(|_| attributes.template);
    let hint = hint.iter().map(|hint| matter::line("argument-hint", hint));
    matter::between_marks(&description.chain(hint).collect::<String>())
}

/// Returns what `argument-hint` says of arguments: what each of them is described with, else each by itself.
fn hint(arguments: &[Argument]) -> Option<String> {
    let first = arguments.first()?;
    let is_own = |argument: &Argument| commands::dollar(&argument.name).is_some();
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

#[cfg(test)]
mod tests;
