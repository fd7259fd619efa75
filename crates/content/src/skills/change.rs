//! `mcpkg skill update`, `delete` and `restore`: change stored skills.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::create::{SkillFiles, data, missing, refuse, with_files};
use super::{GROUP, MAIN, check, path_of, rows, uri_of};
use crate::argument::Content;
use crate::completions::STORED_SKILLS;
use crate::files::{self, File};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::resources::{self, Resource};

/// Update a skill
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Skill name
    #[arg(add = STORED_SKILLS)]
    name: String,
    /// New text of SKILL.md, or of the file given with `file`
    #[arg(value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Option<Content>,
    /// Path of a text file in the skill to change or add, such as references/api.md
    #[arg(short, long, value_name = "PATH")]
    file: Option<String>,
    /// Replace the skill with the files in a folder; files of the skill that are not in the folder are deleted
    #[arg(long, value_name = "DIR", conflicts_with_all = ["content", "file"])]
    #[serde(skip)]
    from: Option<PathBuf>,
}

impl Operation for Update {
    const TOOL: &'static str = "update_skill";
    const CLI: &'static [&'static str] = &["skill", "update"];
    const TITLE: &'static str = "Update skill";
    const ABOUT: &'static str = "Update a skill's SKILL.md or another skill file";
    const HELP: &'static str = "mcpkg keeps the revisions of each file in a skill: see `mcpkg resource history`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg skill update pdf @SKILL.md",
        "mcpkg skill update pdf @forms.md --file references/forms.md",
        "mcpkg skill update pdf --from .claude/skills/pdf",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = self.name.as_str();
        let whole = self.from.is_some();
        // Check first that the skill exists, because that error is more useful than problems in the new text.
        context.read(|db, project| stored(db, project, name))?;
        let front = format!("SKILL.md must begin with the lines `---`, `name: {name}`, `description: ...`, `---`");
        let SkillFiles { files, hints } = match (self.content, self.file, &self.from) {
            (Some(content), None, None) => SkillFiles::text(name, content, None, &front)?,
            (Some(content), Some(path), None) if path == MAIN => SkillFiles::text(name, content, None, &front)?,
            (Some(content), Some(path), None) => {
                if path_of(name, &uri_of(name, &path)).as_ref() != Some(&path) {
                    let why = format!("'{}' is not a valid skill file path", path.escape_debug());
                    return Err(Error::new(Code::InvalidArgument, why).hint("use a path such as references/api.md"));
                }
                let content = content.read()?.content;
                SkillFiles { files: vec![(path, File { content, executable: false })], hints: Vec::new() }
            }
            (None, _, Some(folder)) => SkillFiles::folder(name, folder, context)?,
            _ => {
                return Err(Error::new(Code::InvalidArgument, "The new content is missing")
                    .hint("in the shell, `--from DIR` reads all files in a folder"));
            }
        };
        let (changed, count, project) = context.write("skill.update", name, |db, project, author| {
            let mut before = stored(db, project, name)?;
            let mut changed = 0;
            for (path, file) in &files {
                match before.remove(path) {
                    Some(resource) => {
                        // A single text has no executable bit, so the stored file keeps its own. Files from a folder
                        // bring their own.
                        let executable = if whole { file.executable } else { resource.attributes.executable };
                        let file = File { executable, ..file.clone() };
                        changed += usize::from(files::change(db, author, project, resource, &file)?.1);
                    }
                    None => {
                        files::add_to_skill(db, author, project, &context.clock, name, path, file)?;
                        changed += 1;
                    }
                }
            }
            for resource in before.values().filter(|_| whole) {
                resources::delete(db, author, project, &resource.name)?;
                changed += 1;
            }
            let after = rows::files(db, project.id, name)?;
            let placed = after.iter().map(|file| (file.resource.attributes.uri.as_str(), file.resource.size));
            refuse(name, check::files(name, placed))?;
            Ok((changed, after.len(), project.name.clone()))
        })?;
        let files = plural::count(changed, "file");
        let sentence = format!("Updated skill '{name}' in project '{project}': {files} changed");
        Ok(Reply { hints, ..Reply::sentence(sentence, data(&project, name, count)) })
    }
}

/// Returns a stored skill's resources by path. A resource whose URI is not a valid path in the skill is listed under
/// its URI.
fn stored(db: &Db<'_>, project: &Project, name: &str) -> Result<BTreeMap<String, Resource>> {
    if super::stored(db, project.id, name)?.is_none() {
        return Err(missing(db, project, name));
    }
    let files = rows::files(db, project.id, name)?.into_iter().map(|file| file.resource);
    Ok(files
        .map(|resource| {
            let uri = &resource.attributes.uri;
            (path_of(name, uri).unwrap_or_else(|| uri.clone()), resource)
        })
        .collect())
}

/// Delete a skill
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Skill name
    #[arg(add = STORED_SKILLS)]
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_skill";
    const CLI: &'static [&'static str] = &["skill", "delete"];
    const TITLE: &'static str = "Delete skill";
    const ABOUT: &'static str = "Delete a skill with all its files from the selected project";
    const HELP: &'static str = "At a terminal, mcpkg asks you to confirm. Without a terminal, pass --yes. mcpkg \
        keeps the history of each file, so `mcpkg skill restore NAME` can restore all files of the skill.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg skill delete pdf"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = self.name.as_str();
        let count = context.read(|db, project| Ok(stored(db, project, name)?.len()))?;
        if context.is_shell() {
            let question = format!("Delete the skill '{name}'{}?", with_files(count));
            (context.ask)(Body::Several(Vec::new()), &question)?;
        }
        let (deleted, project) = context.write("skill.delete", name, |db, project, author| {
            let files = stored(db, project, name)?;
            for file in files.values() {
                resources::delete(db, author, project, &file.name)?;
            }
            Ok((files, project.name.clone()))
        })?;
        let sentence = format!("Deleted skill '{name}' from project '{project}'{}", with_files(deleted.len()));
        let back = format!("`mcpkg skill restore {name}` restores the skill");
        Ok(Reply::sentence(sentence, data(&project, name, deleted.len())).hint(back))
    }
}

/// Bring a deleted skill back
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Restore {
    /// Name of the deleted skill
    #[arg(add = STORED_SKILLS)]
    name: String,
}

impl Operation for Restore {
    const TOOL: &'static str = "restore_skill";
    const CLI: &'static [&'static str] = &["skill", "restore"];
    const TITLE: &'static str = "Restore a skill";
    const ABOUT: &'static str = "Restore a deleted skill with all files that were deleted with it";
    const EXAMPLES: &'static [&'static str] = &["mcpkg skill restore pdf"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Command;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = self.name.as_str();
        let (count, project) = context.write("skill.restore", name, |db, project, author| {
            if super::stored(db, project.id, name)?.is_some() {
                let why =
                    format!("Skill '{name}' already exists in project '{}', so it cannot be restored", project.name);
                return Err(Error::new(Code::AlreadyExists, why).hint(
                    "to restore an earlier revision of one of its files, use `mcpkg resource history` and \
                        `mcpkg resource restore`",
                ));
            }
            let files = rows::deleted(db, project.id, name)?;
            if files.is_empty() {
                return Err(missing(db, project, name));
            }
            for file in &files {
                resources::restore(db, author, project, &file.name, file)?;
            }
            Ok((files.len(), project.name.clone()))
        })?;
        let sentence = format!("Restored skill '{name}' in project '{project}'{}", with_files(count));
        Ok(Reply::sentence(sentence, data(&project, name, count)))
    }
}
