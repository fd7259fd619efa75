//! `mcpkg skill list` and `show`: list skills, and print or write the files of one skill.

use std::path::{Path, PathBuf};

use base64::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::create::missing;
use super::{GROUP, MAIN, Origin, SCHEME, Skill, path_of, rows, uri_of};
use crate::completions::SKILLS;
use crate::export::{layout, write};
use crate::{answer, cursor};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{self, Body, Context, Effect, Faces, Operation, Reply, Table};
use mcpkg_store::blobs;
use mcpkg_store::resources::{self, Attributes, Key};

/// List skills
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Value of next_cursor from the previous page
    #[arg(long)]
    cursor: Option<String>,
    /// Maximum number of skills per page
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of skills
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    skills: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    name: String,
    /// Description of the skill; absent if the skill's SKILL.md lacks a name or description
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    uri: String,
    /// `skill`, or `prompt` if a prompt acts as a skill
    from: &'static str,
    files: usize,
}

impl Operation for List {
    const TOOL: &'static str = "list_skills";
    const CLI: &'static [&'static str] = &["skill", "list"];
    const TITLE: &'static str = "List skills";
    const ABOUT: &'static str = "List the skills stored in the selected project, and the prompts that act as skills";
    const EXAMPLES: &'static [&'static str] = &["mcpkg skill list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const ALWAYS_LISTED: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const LISTS: Option<&'static str> = Some("skills");
    type Output = Listed;

    fn is_hot(&self) -> bool {
        answer::is_one_page(self.limit)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (mut skills, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("skills", self.cursor.as_deref(), self.limit, context, project.id)?;
            let (skills, next) = super::page(db, project.id, &page.after, page.limit)?;
            let next = next.map(|after| cursor::encode("skills", project.id, &after));
            Ok((skills, project.name.clone(), next))
        })?;
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        let row = |skill: &Skill| {
            let bytes: i64 = skill.files.iter().map(|file| file.size).sum();
            let description = match (skill.description(), &skill.matter) {
                (Some(description), _) => description.to_owned(),
                (None, _) if context.is_shell() => "(not valid: see `mcpkg skill validate`)".to_owned(),
                (None, _) => "(not valid: see validate_skills)".to_owned(),
            };
            let from = skill.origin.word().to_owned();
            let mut row = vec![skill.name.clone(), from, skill.files.len().to_string(), bytes.to_string(), description];
            if !context.is_shell() {
                row.insert(1, uri_of(&skill.name, MAIN));
            }
            row
        };
        let columns: &[&str] = match context.is_shell() {
            true => &["NAME", "FROM", "FILES", "BYTES", "DESCRIPTION"],
            false => &["NAME", "URI", "FROM", "FILES", "BYTES", "DESCRIPTION"],
        };
        let table = Table {
            columns,
            rows: skills.iter().map(row).collect(),
            empty: format!("Project '{project}' has no skills"),
        };
        let item = |skill: &Skill| Item {
            name: skill.name.clone(),
            description: skill.description().map(str::to_owned),
            uri: uri_of(&skill.name, MAIN),
            from: skill.origin.word(),
            files: skill.files.len(),
        };
        let body = answer::listed(context, table, next_cursor.as_deref());
        let listed = Listed { skills: skills.iter().map(item).collect(), next_cursor };
        Reply::written(context, body, &listed)
    }
}

/// Show a skill
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Skill name
    #[arg(add = SKILLS)]
    name: String,
    /// Path of a file in the skill [default: SKILL.md]
    file: Option<String>,
    /// Write all files to this folder; it must be empty or not exist
    #[arg(short, long, value_name = "DIR", conflicts_with = "file")]
    #[serde(skip)]
    output: Option<PathBuf>,
}

/// A file of a skill
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    name: String,
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    /// Text content
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Binary content, encoded as base64
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
    /// The URIs of all files of the skill
    files: Vec<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "get_skill";
    const CLI: &'static [&'static str] = &["skill", "show"];
    const TITLE: &'static str = "Get skill";
    const ABOUT: &'static str = "Read a skill's instructions (SKILL.md) or another skill file";
    const USER_WORDS: &'static str = "Use a skill";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg skill show pdf", "mcpkg skill show pdf references/forms.md", "mcpkg skill show pdf -o ./pdf"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const ALWAYS_LISTED: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const CONTENT: bool = true;
    type Output = Shown;

    fn is_hot(&self) -> bool {
        self.output.is_none()
    }

    fn writes_files(&self) -> bool {
        self.output.is_some()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(folder) = &self.output {
            return self.write_to(folder, context);
        }
        let path = self.file.as_deref().unwrap_or(MAIN);
        let (skill, mime_type, is_text, bytes) = context.read(|db, project| {
            let skill = super::find(db, project.id, &self.name)?.ok_or_else(|| missing(db, project, &self.name))?;
            let file = skill.files.iter().find(|file| path_of(&self.name, &file.uri).as_deref() == Some(path));
            let Some(file) = file else {
                let paths: Vec<String> = skill.files.iter().filter_map(|file| path_of(&self.name, &file.uri)).collect();
                let error = Error::new(Code::NotFound, format!("Skill '{}' has no file '{path}'", self.name))
                    .with_details(json!({ "name": self.name, "file": path }));
                return Err(error.suggest(
                    path,
                    paths.iter().map(String::as_str),
                    format!("it has {}", paths.join(", ")),
                ));
            };
            let what = || format!("The file '{path}' of skill '{}'", self.name);
            let how = || format!("mcpkg skill show {} -o DIR", self.name);
            answer::check_size(file.size, context.max_answer, what, how)?;
            let mime_type = file.mime_type.clone();
            let (is_text, bytes) = match skill.origin {
                Origin::Prompt => {
                    (true, super::prompt(db, project.id, &self.name)?.map(|(_, text)| text).unwrap_or_default())
                }
                Origin::Stored => match resources::find(db, project.id, Key::Uri(&file.uri))? {
                    Some(resource) => (resource.attributes.text, blobs::get(db, resource.blob)?),
                    None => return Err(Error::internal("a skill's file disappeared while it was read")),
                },
            };
            Ok((skill, mime_type, is_text, bytes))
        })?;
        let uri = uri_of(&self.name, path);
        let text = if is_text { Some(answer::text(bytes.clone())?) } else { None };
        let blob = text.is_none().then(|| base64::engine::general_purpose::STANDARD.encode(&bytes));
        let files: Vec<String> = skill.files.into_iter().map(|file| file.uri).collect();
        let others: Vec<&str> = files.iter().map(String::as_str).filter(|file| *file != uri).collect();
        let body = match &text {
            // Tell an agent that reads SKILL.md that the skill has other files.
            Some(text) if path == MAIN && !others.is_empty() && !context.is_shell() => Body::Several(vec![
                Body::Text(text.clone()),
                Body::Sentence(format!("Other files: {}", others.join(", "))),
            ]),
            Some(text) => Body::Text(text.clone()),
            None => Body::Media(op::Media { uri: uri.clone(), mime_type: mime_type.clone(), bytes }),
        };
        let data = answer::serialize(&Shown { name: self.name, uri, mime_type, text, blob, files })?;
        Ok(Reply::new(body, data))
    }
}

impl Show {
    /// Writes all files of the skill to a new or empty folder.
    fn write_to(&self, folder: &Path, context: &Context) -> Result<Reply> {
        let is_new = write::make(folder)?;
        let written = self.write(folder, context);
        if written.is_err() && is_new {
            // Remove the folder if it is empty. If this fails, the original error matters more.
            let _ = std::fs::remove_dir(folder);
        }
        let count = written?;
        let files = plural::count(count, "file");
        let sentence = format!("Wrote skill '{}' to {} ({files})", self.name, folder.display());
        let data = json!({ "name": self.name, "folder": folder.display().to_string(), "files": count });
        Ok(Reply::sentence(sentence, data))
    }

    fn write(&self, folder: &Path, context: &Context) -> Result<usize> {
        let scratch = write::scratch(folder)?;
        let files = context.read(|db, project| {
            let skill = super::find(db, project.id, &self.name)?.ok_or_else(|| missing(db, project, &self.name))?;
            if skill.origin == Origin::Prompt {
                let text = super::prompt(db, project.id, &self.name)?.map(|(_, text)| text).unwrap_or_default();
                return Ok(vec![((MAIN.to_owned(), false), text.into())]);
            }
            let placed = rows::files(db, project.id, &self.name)?.into_iter().map(|file| {
                let Attributes { uri, executable, .. } = file.resource.attributes;
                let path = path_of(&self.name, &uri).filter(|path| layout::is_safe(path));
                let path = path.ok_or_else(|| {
                    let why = format!("'{}' is not a valid file path", uri.escape_debug());
                    Error::new(Code::InvalidArgument, why)
                        .hint(format!("`mcpkg resource list` shows the resources below {SCHEME}"))
                })?;
                Ok(((path, executable), file.resource.blob))
            });
            write::fetch(db, placed.collect::<Result<_>>()?, scratch.path(), context)
        })?;
        write::files(folder, files.iter().map(|((path, executable), content)| (path.as_str(), content, *executable)))?;
        Ok(files.len())
    }
}
