//! `mcpkg export`: the project as plain files that import back to the same content.

mod layout;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::TOOLSET;
use super::import::item;
use super::import::manifest::{self, Entry, Manifest, What};
use super::import::scan::File;
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::store::page::Page;
use crate::store::projects::Project;
use crate::store::{Db, blobs, prompts, resources};

/// Export the project as files
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Export {
    /// Folder to write; it must not exist, or be empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Operation for Export {
    const TOOL: &'static str = "export_project";
    const CLI: &'static [&'static str] = &["export"];
    const TITLE: &'static str = "Export the project";
    const ABOUT: &'static str = "Write the selected project as plain files that import back to the same content";
    const HELP: &'static str = "Prompts become .claude/commands/NAME.md, skills .claude/skills/NAME/PATH, other resources files by \
        their URI. What paths and front matter cannot say stands in mcpkg.export.json, which `mcpkg import DIR` reads.\n\n\
        Examples:\n  mcpkg export ./out\n  mcpkg import ./out --project other";
    const EFFECT: Effect = Effect::Read;
    const TOOLSET: &'static str = TOOLSET;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let is_new = make(&self.folder)?;
        let exported = context.read(|db, project| Ok((stored(db, project)?, project.name.clone()))).and_then(
            |(items, project)| {
                let count = |prompts: bool| items.iter().filter(|(entry, _)| entry.what.is_prompt() == prompts).count();
                let counts = (count(true), count(false));
                write(&self.folder, &lay_out(items)?, context)?;
                Ok((counts, project))
            },
        );
        if exported.is_err() && is_new {
            // Empty again, or the error says more than this one would.
            let _ = std::fs::remove_dir(&self.folder);
        }
        let ((prompts, resources), project) = exported?;
        let folder = self.folder.display().to_string();
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let sentence = format!(
            "Exported {prompts} prompt{} and {resources} resource{} of project '{project}' to {folder}",
            plural(prompts),
            plural(resources)
        );
        let data = json!({ "project": project, "folder": folder, "prompts": prompts, "resources": resources });
        Ok(Reply::sentence(sentence, data))
    }
}

/// Makes the folder, or takes an empty one; returns whether it is new.
fn make(folder: &Path) -> Result<bool> {
    let failed = |error| Error::file("write", folder, error);
    match std::fs::read_dir(folder) {
        Ok(mut listing) => match listing.next() {
            None => Ok(false),
            Some(_) => Err(Error::new(Code::AlreadyExists, format!("The folder `{}` is not empty", folder.display()))
                .hint("name a folder that does not exist; an export overwrites nothing")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder).map_err(failed)?;
            Ok(true)
        }
        Err(error) => Err(failed(error)),
    }
}

fn stored(db: &Db<'_>, project: &Project) -> Result<Vec<(Entry, Vec<u8>)>> {
    let mut items = Vec::new();
    for prompt in prompts::list(db, project.id, &Page::all())?.rows {
        let entry = Entry { name: prompt.name, what: What::Prompt(prompt.attributes) };
        items.push((entry, blobs::get(db, prompt.blob)?));
    }
    for resource in resources::list(db, project.id, &Page::all())?.rows {
        let entry = Entry { name: resource.name, what: What::Resource(resource.attributes) };
        items.push((entry, blobs::get(db, resource.blob)?));
    }
    Ok(items)
}

/// Returns the files of these items. What the rules of import would not bring back as it is gets its bytes alone and
/// a line in the manifest; since that can free a name another file was given a substitute for, it is asked again.
fn lay_out(items: Vec<(Entry, Vec<u8>)>) -> Result<Vec<File>> {
    let mut layout = layout::Layout::default();
    let mut files: Vec<File> = items.iter().map(|(entry, bytes)| layout.file(entry, bytes)).collect();
    loop {
        let mut order: Vec<&File> = files.iter().collect();
        order.sort_by(|a, b| a.relative.cmp(&b.relative));
        let understood = item::understand(order)?;
        let back: BTreeMap<_, _> = understood.items.iter().map(|item| (item.path.as_str(), item)).collect();
        let differs: Vec<bool> = files
            .iter()
            .zip(&items)
            .map(|(file, (entry, bytes))| {
                back.get(file.relative.as_str()).is_none_or(|item| item.entry != *entry || item.bytes != *bytes)
            })
            .collect();
        if !differs.contains(&true) {
            return Ok(files);
        }
        for ((file, (entry, bytes)), _) in files.iter_mut().zip(&items).zip(differs).filter(|(_, differs)| *differs) {
            if file.listed.is_some() {
                return Err(Error::internal(format!("`{}` would not import back from the manifest", file.relative)));
            }
            file.listed = Some(entry.clone());
            file.bytes.clone_from(bytes);
        }
    }
}

/// Writes the files in a folder inside `folder`, and moves them up once all are there.
fn write(folder: &Path, files: &[File], context: &Context) -> Result<()> {
    let failed = |error| Error::file("write", folder, error);
    let staging = tempfile::Builder::new().prefix(".mcpkg-").tempdir_in(folder).map_err(failed)?;
    let total = files.len() as u64;
    for (done, file) in (1..).zip(files) {
        if context.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "The export was given up; nothing was written"));
        }
        write_file(&staging.path().join(&file.relative), &file.bytes, file.executable)?;
        (context.progress)("Exporting", done, total);
    }
    let listed = files.iter().filter_map(|file| Some((file.relative.clone(), file.listed.clone()?))).collect();
    let mut json = serde_json::to_vec_pretty(&Manifest::new(listed))
        .map_err(|error| Error::internal("the manifest cannot be written as JSON").with_source(error))?;
    json.push(b'\n');
    write_file(&staging.path().join(manifest::FILE), &json, false)?;
    for entry in std::fs::read_dir(staging.path()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        std::fs::rename(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8], executable: bool) -> Result<()> {
    let failed = |error| Error::file("write", path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, bytes).map_err(failed)?;
    set_mode(path, executable).map_err(failed)
}

#[cfg(unix)]
fn set_mode(path: &Path, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if executable { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: bool) -> std::io::Result<()> {
    Ok(())
}
