//! `mcpkg export`: the project as plain files that import back to the same content.

pub(super) mod layout;
mod links;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use super::import::item;
use super::import::manifest::{self, Entry, Manifest, Origin, What};
use super::import::merge;
use super::import::place::Places;
use super::import::scan::File;
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::plural;
use crate::store::blobs::{self, Verify};
use crate::store::links::{self as stored_links, Link};
use crate::store::modules::Row;
use crate::store::page::Page;
use crate::store::projects::Project;
use crate::store::source::Source;
use crate::store::{Db, modules, prompts, resources};

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
    const HELP: &'static str = "What was imported goes back to the place that it had. Other prompts become \
        .claude/commands/NAME.md, skills .claude/skills/NAME/PATH, resources files by their URI. What paths and \
        front matter cannot say stands in mcpkg.export.json, which `mcpkg import DIR` reads.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg export ./out", "mcpkg import ./out --project other"];
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let is_new = make(&self.folder)?;
        let exported = export(&self.folder, context);
        if exported.is_err() && is_new {
            // Empty again, or the error says more than this one would.
            let _ = fs::remove_dir(&self.folder);
        }
        let ((prompts, resources), project) = exported?;
        let folder = self.folder.display().to_string();
        let sentence = format!(
            "Exported {} and {} of project '{project}' to {folder}",
            plural::count(prompts, "prompt"),
            plural::count(resources, "resource")
        );
        let data = json!({ "project": project, "folder": folder, "prompts": prompts, "resources": resources });
        Ok(Reply::sentence(sentence, data))
    }
}

/// Writes the project into the folder; returns how many prompts and resources it has, and its name.
fn export(folder: &Path, context: &Context) -> Result<((usize, usize), String)> {
    let scratch = scratch(folder)?;
    let (items, links, project) = context.read(|db, project| {
        let items = stored(db, project, scratch.path(), context)?;
        Ok((items, stored_links::all(db, project.id)?, project.name.clone()))
    })?;
    let count = |prompts: bool| items.iter().filter(|(entry, _)| entry.what.is_prompt() == prompts).count();
    let counts = (count(true), count(false));
    let files = lay_out(&items)?;
    let listed = files.iter().filter_map(|file| Some((file.relative.clone(), file.listed.clone()?))).collect();
    let mut json = serde_json::to_vec_pretty(&Manifest::new(listed))
        .map_err(|error| Error::internal("the manifest cannot be written as JSON").with_source(error))?;
    json.push(b'\n');
    let manifest = (manifest::FILE, &Source::from(json), false);
    let paths: Vec<&str> = files.iter().map(|file| file.relative.as_str()).collect();
    let links = links::fitting(links, &paths);
    let files = files.iter().map(|file| (file.relative.as_str(), &file.content, file.executable));
    write(folder, files.chain([manifest]), &links)?;
    Ok((counts, project))
}

/// Makes a folder inside `folder` that is gone when dropped.
pub(super) fn scratch(folder: &Path) -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix(".mcpkg-").tempdir_in(folder);
    made.map_err(|error| Error::file("write", folder, error))
}

/// Makes the folder, or takes an empty one; returns whether it is new.
pub(super) fn make(folder: &Path) -> Result<bool> {
    let failed = |error| Error::file("write", folder, error);
    match fs::read_dir(folder) {
        Ok(mut listing) => match listing.next() {
            None => Ok(false),
            Some(_) => Err(Error::new(Code::AlreadyExists, format!("The folder `{}` is not empty", folder.display()))
                .hint("name a folder that does not exist; an export overwrites nothing")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(failed)?;
            Ok(true)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns what the project holds, each content in a file in `scratch`, with what its rows of modules say.
fn stored(db: &Db<'_>, project: &Project, scratch: &Path, context: &Context) -> Result<Vec<(Entry, Source)>> {
    let prompts = prompts::list(db, project.id, &Page::all())?.rows.into_iter();
    let prompts = prompts.map(|prompt| (prompt.name, What::Prompt(prompt.attributes), prompt.uuid, prompt.blob));
    let resources = resources::list(db, project.id, &Page::all())?.rows.into_iter();
    let resources =
        resources.map(|resource| (resource.name, What::Resource(resource.attributes), resource.uuid, resource.blob));
    let rows: HashMap<String, Row> =
        modules::all(db, project.id)?.into_iter().map(|row| (row.item.clone(), row)).collect();
    let all = prompts.chain(resources).map(|(name, what, uuid, blob)| {
        let origin = rows.get(&merge::module(&what, uuid)).map(origin).unwrap_or_default();
        (Entry { name, what, origin }, blob)
    });
    fetch(db, all.collect(), scratch, context)
}

fn origin(row: &Row) -> Origin {
    Origin { applies: row.applies.clone(), agent: row.agent.clone(), path: row.path.clone() }
}

/// Writes each content to a file in `scratch`, from where it moves to its place.
pub(super) fn fetch<T>(db: &Db<'_>, all: Vec<(T, i64)>, scratch: &Path, context: &Context) -> Result<Vec<(T, Source)>> {
    let total = all.len() as u64;
    let mut items = Vec::new();
    for (done, (item, blob)) in (1..).zip(all) {
        let path = scratch.join(done.to_string());
        let failed = |error| Error::file("write", &path, error);
        let mut file = fs::File::create(&path).map_err(failed)?;
        blobs::stream_by_id(db, blob, Verify::Sha256, |piece| {
            if context.is_cancelled() {
                return Err(Error::new(Code::Cancelled, "The export was given up; nothing was written"));
            }
            file.write_all(piece).map_err(failed)
        })?;
        items.push((item, Source::file(&path)?));
        (context.progress)("Exporting", done, total);
    }
    Ok(items)
}

/// Returns the files of these items. What the rules of import would not bring back as it is gets its content alone and
/// a line in the manifest; since that can free a name another file was given a substitute for, it is asked again.
fn lay_out(items: &[(Entry, Source)]) -> Result<Vec<File>> {
    let mut layout = layout::Layout::default();
    let mut files = items.iter().map(|(entry, content)| layout.file(entry, content)).collect::<Result<Vec<File>>>()?;
    loop {
        let mut order: Vec<&File> = files.iter().collect();
        order.sort_by(|a, b| a.relative.cmp(&b.relative));
        let places = Places::of_export(order.iter().map(|file| file.relative.as_str()));
        let places: Vec<_> = order.iter().map(|file| places.of(&file.relative).ok()).collect();
        let understood = item::understand(order.into_iter().zip(places.iter().map(Option::as_ref)))?;
        let back: BTreeMap<_, _> = understood.items.iter().map(|item| (item.path.as_str(), item)).collect();
        let differs: Vec<bool> = files
            .iter()
            .zip(items)
            .map(|(file, (entry, content))| {
                back.get(file.relative.as_str())
                    .is_none_or(|item| !comes_back(&item.entry, entry) || item.content != *content)
            })
            .collect();
        if !differs.contains(&true) {
            return Ok(files);
        }
        for ((file, (entry, content)), _) in files.iter_mut().zip(items).zip(differs).filter(|(_, differs)| *differs) {
            if file.listed.is_some() {
                return Err(Error::internal(format!("`{}` would not import back from the manifest", file.relative)));
            }
            file.listed = Some(entry.clone());
            file.content.clone_from(content);
        }
    }
}

/// Whether what an import would read is what was exported. Where an item has no file that it came from, that of the export
/// is as good as any.
fn comes_back(read: &Entry, entry: &Entry) -> bool {
    let placed = entry.origin.path.is_none()
        || (read.origin.path == entry.origin.path && read.origin.agent == entry.origin.agent);
    placed && read.name == entry.name && read.what == entry.what && read.origin.applies == entry.origin.applies
}

/// Puts files, by path, content and whether they can be executed, and links into a folder inside `folder`, and moves them up once
/// all are there.
pub(super) fn write<'f>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'f str, &'f Source, bool)>,
    links: &[Link],
) -> Result<()> {
    let failed = |error| Error::file("write", folder, error);
    let staging = scratch(folder)?;
    for (relative, content, executable) in files {
        write_file(&staging.path().join(relative), content, executable)?;
    }
    for link in links {
        write_link(&staging.path().join(&link.path), &link.target)?;
    }
    for entry in fs::read_dir(staging.path()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        fs::rename(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
    }
    Ok(())
}

/// Makes a link, where the system has such links.
fn write_link(path: &Path, target: &str) -> Result<()> {
    let failed = |error| Error::file("write", path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, path).map_err(failed)?;
    #[cfg(not(unix))]
    let _ = target;
    Ok(())
}

/// Moves the file that holds the content, or writes it.
fn write_file(path: &Path, content: &Source, executable: bool) -> Result<()> {
    let failed = |error| Error::file("write", path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    match content.path() {
        Some(scratch) => fs::rename(scratch, path).map_err(failed)?,
        None => fs::write(path, content.bytes()?).map_err(failed)?,
    }
    set_mode(path, executable).map_err(failed)
}

#[cfg(unix)]
fn set_mode(path: &Path, executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: bool) -> std::io::Result<()> {
    Ok(())
}
