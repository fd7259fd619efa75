//! From a deployed file that a user changed back to the modules it was made of.

use crate::content::command::skill::{self, split_front};
use crate::content::command::words::{self, Spelling};
use crate::content::formats::sections;
use crate::content::formats::toml_text::{self, INSTRUCTIONS, PROMPT};
use crate::deploy::desired::{Form, Output, Part};

/// A module's file as a user's change makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The module.
    pub module_id: String,
    /// The file in it.
    pub file: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What a changed file says of its modules.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unmapped {
    /// The modules' files that are to change.
    pub edits: Vec<Edit>,
    /// What of the change belongs to no module, for a person.
    pub lost: Vec<String>,
}

/// Takes a changed file apart. Deployed again, the edits give the same file, but for what is `lost`.
///
/// # Errors
/// Why it cannot be taken apart, for a person.
pub fn unmap(output: &Output, disk: &[u8]) -> Result<Unmapped, String> {
    let Some(first) = output.parts.first() else { return Err("it is made of no module".to_owned()) };
    let mut found = Unmapped::default();
    match output.form {
        Form::Copy => found.edit(first, disk.to_vec()),
        Form::Gathered => gathered(&mut found, &output.parts, disk, Unmapped::edit_line)?,
        Form::Servers => {
            return Err("an entry of an MCP server was changed; `mcpkg mcp set` changes the server".to_owned());
        }
        Form::Block => {
            let Some(split) = sections::find(disk) else {
                return Err("its block was taken out".to_owned());
            };
            match output.parts.as_slice() {
                [only] => found.edit_body(only, &sections::unescape(split.inner)),
                parts => gathered(&mut found, parts, split.inner, Unmapped::edit_body)?,
            }
        }
        Form::Import => {
            let split = sections::find(disk).ok_or("its block was taken out")?;
            let (sections, outside) = sections::parse(split.inner)?;
            if !sections::is_only_between(&outside) {
                found.lost.push("text outside of the sections, which is not a module's".to_owned());
            }
            for (id, text) in &sections {
                if let Some(part) = output.parts.iter().find(|part| part.module_id == *id) {
                    found.edit_body(part, text);
                }
            }
        }
        Form::CursorRule => {
            let text = sections::with_newline(&first.bytes);
            let head = output.bytes.strip_suffix(text.as_slice()).unwrap_or_default();
            match disk.strip_prefix(head) {
                Some(rest) => found.edit_line(first, rest),
                None => {
                    found.lost.push("the front matter, which is mcpkg's".to_owned());
                    found.edit_line(first, split_front(disk).1);
                }
            }
        }
        Form::Rule => {
            let text = sections::with_newline(first.body());
            let head = output.bytes.strip_suffix(text.as_slice()).unwrap_or_default();
            match disk.strip_prefix(head) {
                Some(rest) => found.edit_body(first, rest),
                None => {
                    let how = match first.module_id.starts_with("instructions:") {
                        true => format!(" and says when the rule applies (`mcpkg module set {}`)", first.module_id),
                        false => String::new(),
                    };
                    found.lost.push(format!("the front matter, which is mcpkg's{how}"));
                    found.edit_body(first, split_front(disk).1);
                }
            }
        }
        Form::Toml => {
            let (text, changed_keys) = toml_text::changed(INSTRUCTIONS, &output.bytes, disk)?;
            if changed_keys {
                found.lost.push("what stands beside the text, which is mcpkg's".to_owned());
            }
            if text.as_bytes() != first.body() {
                found.edit(first, first.with_body(text.as_bytes()));
            }
        }
        Form::Skill => {
            let (ours, theirs) = (split_front(&output.bytes), split_front(disk));
            let head = |file: &[u8], body: &[u8]| file.len() - body.len();
            if output.bytes[..head(&output.bytes, ours.1)] == disk[..head(disk, theirs.1)] {
                found.edit(first, first.with_body(theirs.1));
            } else {
                found.edit(first, disk.to_vec());
            }
        }
        Form::SkillPolicy => {
            return Err("mcpkg writes it for what SKILL.md says by `disable-model-invocation`".to_owned());
        }
        Form::CommandSkill => {
            let (ours, _) = split_front(&output.bytes);
            let (theirs, body) = split_front(disk);
            if ours != theirs {
                found.lost.push("the front matter, which is mcpkg's".to_owned());
            }
            if body != split_front(&output.bytes).1 {
                found.edit(first, skill::to_command(&first.bytes, &first.arguments, body)?);
            }
        }
        Form::Converted(spelling) => {
            let (ours, _) = split_front(&output.bytes);
            let (theirs, body) = split_front(disk);
            if ours != theirs {
                found.lost.push("the front matter, which is mcpkg's".to_owned());
            }
            found.edit(first, command_of(first, spelling, std::str::from_utf8(body).map_err(|_| NO_TEXT)?)?);
        }
        Form::CommandToml(spelling) => {
            let (text, changed_keys) = toml_text::changed(PROMPT, &output.bytes, disk)?;
            if changed_keys {
                found.lost.push("what stands beside the text, which is mcpkg's".to_owned());
            }
            found.edit(first, command_of(first, spelling, &text)?);
        }
        Form::OfToml => {
            let body = split_front(disk).1;
            if split_front(&output.bytes).0 != split_front(disk).0 {
                found.lost.push("the front matter, which is mcpkg's".to_owned());
            }
            if body != split_front(&output.bytes).1 {
                let text = std::str::from_utf8(body).map_err(|_| NO_TEXT)?;
                found.edit(first, toml_text::with(INSTRUCTIONS, &first.bytes, text)?);
            }
        }
        Form::Spelled(spelling) => match (std::str::from_utf8(&first.bytes), std::str::from_utf8(disk)) {
            (Ok(file), Ok(disk)) => {
                let edited = words::unspell(file, &first.arguments, spelling, disk)?;
                found.edit(first, edited.into_bytes());
            }
            _ => return Err(NO_TEXT.to_owned()),
        },
    }
    Ok(found)
}

const NO_TEXT: &str = "it is not text";

/// Returns the command's file that an edited text was spelled from, with the front matter that it has.
fn command_of(part: &Part, spelling: Spelling, edited: &str) -> Result<Vec<u8>, String> {
    let file = std::str::from_utf8(&part.bytes).map_err(|_| NO_TEXT)?;
    let front = &file[..file.len() - words::body(file).len()];
    words::back(file, &part.arguments, spelling, front, edited).map(String::into_bytes)
}

fn gathered(
    found: &mut Unmapped,
    parts: &[Part],
    disk: &[u8],
    edit: impl Fn(&mut Unmapped, &Part, &[u8]),
) -> Result<(), String> {
    if let [only] = parts {
        found.edit(only, disk.to_vec());
        return Ok(());
    }
    let (sections, outside) = sections::parse(disk)?;
    if !sections::is_only_between(&outside) {
        found.lost.push("text outside of the sections, which is not a module's".to_owned());
    }
    for part in parts {
        match sections.iter().find(|(id, _)| *id == part.module_id) {
            Some((_, text)) => edit(found, part, text),
            None => return Err(format!("the section of {} is gone", part.module_id)),
        }
    }
    Ok(())
}

impl Unmapped {
    fn edit(&mut self, part: &Part, bytes: Vec<u8>) {
        if *bytes != *part.bytes {
            self.edits.push(Edit { module_id: part.module_id.clone(), file: part.file.clone(), bytes });
        }
    }

    /// An edit of a text that was given the end of its last line.
    fn edit_line(&mut self, part: &Part, bytes: &[u8]) {
        if bytes != sections::with_newline(&part.bytes) {
            self.edit(part, bytes.to_vec());
        }
    }

    /// As [`Unmapped::edit_line`], of a text whose front matter was left out.
    fn edit_body(&mut self, part: &Part, body: &[u8]) {
        if body != sections::with_newline(part.body()) {
            self.edit(part, part.with_body(body));
        }
    }
}
