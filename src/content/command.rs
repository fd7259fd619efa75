//! A prompt as a slash command's file, and back.
//!
//! The file begins with front matter: the imported one where there is one, as far as it still says what the prompt's
//! attributes say. A command that was imported keeps its text, and with it the placeholders of the agent it came from
//! ([`dialect`]); they are filled in as that agent does ([`fill`]). What is deployed is a file of Claude Code's
//! ([`convert`]), of which the forms of other agents are made ([`words`], [`skill`]).

pub mod dialect;
pub mod fill;
pub mod skill;
pub mod words;

mod convert;

use super::import::matter::{self, Matter};
use super::{names, template};
use crate::error::{Code, Error, Result};
use crate::store::prompts::{Argument, Attributes};
use dialect::{Dialect, Piece, Placeholder};

/// The argument that is all that a user types behind a command.
pub const LINE: &str = "arguments";

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

/// Reads a command's file as the agent does that it was written for; [`source`] gives the same bytes back.
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
            let front_matter = (!own).then(|| front.to_owned());
            return Ok((Attributes { front_matter, ..declared }, body.to_owned()));
        }
    }
    let text: String = pieces.iter().map(Piece::typed).collect();
    let arguments = taken(dialect, &written, &pieces, matter.hint.as_deref());
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

/// Returns the attributes of a file that is nothing but text, with placeholders where it has some.
fn as_it_stands(file: &str, dialect: Dialect) -> Attributes {
    let pieces = dialect::pieces(dialect, file, &[]);
    let is_plain = matches!(pieces.as_slice(), [] | [Piece::Text(_)]);
    let arguments = taken(dialect, &Names::default(), &pieces, None);
    Attributes { template: !is_plain, dialect: (!is_plain).then_some(dialect), arguments, ..Attributes::default() }
}

/// Returns what the text given for a prompt says of it, where its front matter declares arguments or takes the place of
/// one that was `kept`; `None` for any other text, which goes out as it stands.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where it is to be taken as it stands for what is wrong with it.
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

/// Gives up front matter that was kept where the new text, taken as it stands, begins with front matter itself.
pub fn drop_replaced(attributes: &mut Attributes, text: &str) {
    if matches!(matter::split(text), Ok(Some(_))) {
        attributes.front_matter = None;
    }
}

/// Takes the arguments that a new text of a command asks for; what is known of the old ones stays.
pub fn recount(attributes: &mut Attributes, text: &str) {
    let Some(dialect) = attributes.dialect else { return };
    let names = Names::of(dialect, attributes.front_matter.as_deref());
    let hint = kept(attributes).and_then(|matter| matter.hint);
    let pieces = dialect::pieces(dialect, text, &names.0);
    let arguments = taken(dialect, &names, &pieces, hint.as_deref());
    attributes.arguments = known_of(arguments, &attributes.arguments);
}

/// Returns the arguments with what is known of those that there were before.
fn known_of(mut arguments: Vec<Argument>, before: &[Argument]) -> Vec<Argument> {
    for argument in &mut arguments {
        if let Some(known) = before.iter().find(|known| known.name == argument.name) {
            argument.clone_from(known);
        }
    }
    arguments
}

/// Brings front matter that is kept up to what the attributes say now, where the file then imports back as it is.
pub fn refresh(attributes: &mut Attributes, text: &str) {
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

/// Returns the file that [`read`] makes this prompt of: of a command the one that was imported.
///
/// # Errors
/// `E_TEMPLATE_FAILED`, `E_TOO_LARGE` where its template does not render.
pub fn source(name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    match (attributes.template, attributes.dialect, &attributes.front_matter) {
        (true, None, Some(front)) => Ok(described(front, attributes) + text),
        (true, None, None) => Ok(matter::write(attributes) + text),
        (true, Some(Dialect::OpenCode), _) => Ok(front_of(attributes, text) + text),
        _ => to_file(name, attributes, text),
    }
}

/// Returns the file of a prompt as Claude Code has commands; of one that was imported from there the same bytes.
///
/// # Errors
/// `E_TEMPLATE_FAILED`, `E_TOO_LARGE` where its template does not render.
pub fn to_file(name: &str, attributes: &Attributes, text: &str) -> Result<String> {
    let front = front_of(attributes, text);
    let names = names_of(&front);
    Ok(front + &convert::to_claude(name, attributes, text, &names)?)
}

/// Returns what an edited file of the prompt with these attributes and this text says; [`to_file`] gives the same
/// bytes back.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where the file has no text, or where the text of a template was edited that is none of a slash
/// command.
pub fn from_file(file: &str, before: &Attributes, text: &str) -> Result<(Attributes, String)> {
    check_text(file)?;
    if before.template && before.dialect.is_none() {
        return described_anew(file, before, text);
    }
    let Read { attributes, content, .. } = read(file, Dialect::Claude);
    let attributes = Attributes { file: before.file.clone(), ..attributes };
    check_text(&content)?;
    // An export's front matter is nobody's but where somebody wrote it.
    let front = split(file).ok().map(|parts| parts.front.to_owned());
    let kept = Attributes { front_matter: front, ..attributes.clone() };
    let mut readings = vec![(attributes.clone(), content.clone()), (kept, content.clone())];
    // What a hint cannot say of an argument stays as it was.
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

/// Returns the attributes that an edited file gives to a template whose text did not change.
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

/// A file's front matter, with its marks and without, and what follows.
struct Parts<'f> {
    front: &'f str,
    yaml: &'f str,
    matter: Matter,
    body: &'f str,
}

fn split(file: &str) -> Result<Parts<'_>> {
    Ok(match matter::split(file)? {
        Some((yaml, body)) => {
            let matter = matter::parse_for_agents(yaml)?;
            Parts { front: &file[..file.len() - body.len()], yaml, matter, body }
        }
        None => Parts { front: "", yaml: "", matter: Matter::default(), body: file },
    })
}

/// What the imported front matter says.
fn kept(attributes: &Attributes) -> Option<Matter> {
    split(attributes.front_matter.as_deref()?).ok().map(|parts| parts.matter)
}

/// The names of a command's words in its front matter, which only Claude Code reads.
#[derive(Debug, Default)]
pub struct Names(Vec<String>);

impl Names {
    fn of(dialect: Dialect, front: Option<&str>) -> Self {
        match dialect {
            Dialect::Claude => Self(names_of(front.unwrap_or_default())),
            Dialect::OpenCode => Self::default(),
        }
    }

    /// The name that MCP has for a word: its own one, where it can be a template's.
    fn argument(&self, word: usize) -> String {
        let good = |name: &&String| {
            let argument = Argument { name: (*name).clone(), description: None, required: false };
            template::check_arguments(&[argument]).is_ok()
        };
        self.0.get(word).filter(good).cloned().unwrap_or_else(|| format!("arg{word}"))
    }

    /// The word with this name.
    fn position(&self, argument: &str) -> Option<usize> {
        (0..self.0.len()).find(|word| self.argument(*word) == argument)
    }
}

/// Returns the names of the words in front matter that stands between its marks.
fn names_of(front: &str) -> Vec<String> {
    matter::split(front).ok().flatten().map(|(yaml, _)| matter::names(yaml)).unwrap_or_default()
}

/// Returns the word that an argument of the name `arg1` is: the one that `$1` stands for.
fn number_of(dialect: Dialect, argument: &str) -> Option<usize> {
    let number: usize = argument.strip_prefix("arg")?.parse().ok()?;
    match dialect {
        Dialect::Claude => Some(number),
        Dialect::OpenCode => number.checked_sub(1),
    }
}

/// Returns the arguments that a command asks for, which nobody has to give: its named words, then the others in order of
/// appearance.
fn taken(dialect: Dialect, names: &Names, pieces: &[Piece<'_>], hint: Option<&str>) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut add = |name: String, description: Option<&str>| {
        if arguments.len() < template::MAX_ARGUMENTS && !arguments.iter().any(|known| known.name == name) {
            arguments.push(Argument { name, description: description.map(str::to_owned), required: false });
        }
    };
    for word in 0..names.0.len() {
        add(names.argument(word), None);
    }
    let places: Vec<Placeholder> = pieces.iter().filter_map(Piece::place).collect();
    for place in &places {
        match *place {
            Placeholder::Word(word) if word < names.0.len() => {}
            Placeholder::Word(word) if dialect == Dialect::Claude => add(format!("arg{word}"), hint),
            Placeholder::Word(word) => add(format!("arg{}", word + 1), hint),
            Placeholder::All => add(LINE.to_owned(), hint),
            Placeholder::Nothing => {}
        }
    }
    // What a command asks for and does not place, the agent puts behind its text.
    if places.is_empty() && names.0.is_empty() && hint.is_some() {
        add(LINE.to_owned(), hint);
    }
    arguments
}

/// Returns the front matter of a prompt's file for Claude Code.
fn front_of(attributes: &Attributes, text: &str) -> String {
    match (&attributes.front_matter, kept(attributes)) {
        (Some(front), Some(matter)) => updated(front, &matter, attributes, text),
        _ => front_matter(attributes),
    }
}

/// Returns the imported front matter, changed where the attributes say something else.
fn updated(front: &str, matter: &Matter, attributes: &Attributes, text: &str) -> String {
    let mut front = described(front, attributes);
    if attributes.template {
        let hint = hint(attributes);
        let declared = match attributes.dialect {
            None => matter.arguments.clone(),
            Some(dialect) => {
                let names = Names::of(dialect, Some(&front));
                taken(dialect, &names, &dialect::pieces(dialect, text, &names.0), matter.hint.as_deref())
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
    // Front matter that is no list of lines cannot be changed by lines.
    match split(&front) {
        Ok(parts) if parts.matter.description == attributes.description && parts.body.is_empty() => front,
        _ => front_matter(attributes),
    }
}

/// Returns the imported front matter with the description that the attributes have.
fn described(front: &str, attributes: &Attributes) -> String {
    if kept(attributes).is_some_and(|matter| matter.description == attributes.description) {
        return front.to_owned();
    }
    let lines = attributes.description.as_deref().map(|text| matter::line("description", text));
    matter::replace(front, "description", &lines.unwrap_or_default())
}

/// Returns the front matter of a prompt that has no imported one.
fn front_matter(attributes: &Attributes) -> String {
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

/// The line that names a template's words for Claude Code.
fn names_line(attributes: &Attributes) -> String {
    let names = convert::names(attributes);
    // What YAML takes for something else than text.
    let is_word = |name: &String| {
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&name.to_lowercase().as_str())
    };
    let names: Vec<String> =
        names.into_iter().map(|name| if is_word(&name) { format!("\"{name}\"") } else { name }).collect();
    if names.is_empty() { String::new() } else { format!("arguments: [{}]\n", names.join(", ")) }
}

/// Returns what `argument-hint` says of arguments: what each of them is described with, else each by itself.
fn hint(attributes: &Attributes) -> Option<String> {
    let arguments = &attributes.arguments;
    let first = arguments.first()?;
    // A name of mcpkg's own says less than its description.
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

#[cfg(test)]
mod tests;
