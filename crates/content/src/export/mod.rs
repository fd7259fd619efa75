//! `mcpkg export`: writes the project as plain files that import back to the same content.

pub(crate) mod back;
pub(crate) mod layout;
pub(crate) mod links;
pub(crate) mod servers;

mod second_places;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use links::{Fitting, Own};
use schemars::JsonSchema;
use second_places::{Group, Second};
use serde::Deserialize;
use serde_json::json;

use super::GROUP;
use super::import::find::walk::{self, Take};
use super::item::Entry;
use super::item::File;
use super::item::manifest::{self, Manifest};
use super::item::server::Server;
use super::stored;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::blobs::{self, Verify};
use mcpkg_store::links::{self as stored_links, Form, Link, Target};
use mcpkg_store::new_content::NewContent;
use mcpkg_store::projects::Project;

/// Export the project as files
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Export {
    /// Folder to write to; it must be empty or not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Operation for Export {
    const TOOL: &'static str = "export_project";
    const CLI: &'static [&'static str] = &["export"];
    const TITLE: &'static str = "Export the project";
    const ABOUT: &'static str = "Write the selected project as plain files that you can import again without loss";
    const HELP: &'static str = "mcpkg writes imported files to their original paths, byte for byte, together with \
        the files' links, copies and versions for other agents. For items that were not imported, mcpkg writes \
        prompts to .claude/commands/NAME.md, skills to .claude/skills/NAME/PATH, and resources to the path in \
        their URI. The file mcpkg.export.json contains the details that paths and front matter cannot express; \
        `mcpkg import DIR` reads this file.";
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
            // Remove the folder if it is empty. If this fails, the original error matters more.
            let _ = fs::remove_dir(&self.folder);
        }
        let (Counts { prompts, resources, servers, kept, left }, project) = exported?;
        let folder = self.folder.display().to_string();
        let mut told = vec![plural::count(prompts, "prompt"), plural::count(resources, "resource")];
        if servers > 0 {
            told.push(plural::count(servers, "MCP server"));
        }
        if kept > 0 {
            told.push(plural::count(kept, "agent's file").replace("agent's files", "agents' files"));
        }
        let last = told.pop().unwrap_or_default();
        let sentence = format!("Exported {} and {last} of project '{project}' to {folder}", told.join(", "));
        let data = json!({
            "project": project, "folder": folder, "prompts": prompts, "resources": resources,
            "servers": servers, "agent_files": kept,
        });
        let reply = Reply::sentence(sentence, data);
        if left == 0 {
            return Ok(reply);
        }
        let told = match left {
            1 => "1 link, copy or version for another agent".to_owned(),
            _ => format!("{left} links, copies or versions for other agents"),
        };
        Ok(reply.hint(format!(
            "skipped {told}: given the project's current content, an import would not restore the same items"
        )))
    }
}

struct Counts {
    prompts: usize,
    resources: usize,
    servers: usize,
    kept: usize,
    /// Links, copies and forms that could not be written.
    left: usize,
}

/// Writes the project into the folder. Returns the number of items, and the project's name.
fn export(folder: &Path, context: &Context) -> Result<(Counts, String)> {
    let scratch = scratch(folder)?;
    let (items, all, links, forms, project) = context.read(|db, project| {
        let items = stored(db, project, scratch.path(), context)?;
        let links = stored_links::all(db, project.id)?;
        let forms = forms(db, &links)?;
        let all = mcpkg_store::servers::all(db, project.id)?.into_iter().map(Server::from);
        Ok((items, all.collect::<Vec<_>>(), links, forms, project.name.clone()))
    })?;
    let say = |(entry, content): (Entry, NewContent)| Ok((entry.clone(), servers::say(&entry, content, &all)?));
    let mut items = items.into_iter().map(say).collect::<Result<Vec<_>>>()?;
    let count = |word: &str| items.iter().filter(|(entry, _)| entry.what.word() == word).count();
    let counts = Counts {
        prompts: count("prompt"),
        resources: count("resource"),
        servers: all.len(),
        kept: count("agent_file"),
        left: 0,
    };
    let mut layout = layout::Layout::default();
    // Items with an original path get it before other items could take it.
    items.sort_by_key(|(entry, _)| entry.origin.path.is_none());
    let files = items.iter().map(|(entry, content)| layout.file(entry, content)).collect::<Result<Vec<File>>>()?;
    let expected: Vec<_> = items.iter().map(Some).collect();
    let wanted = links.len();
    let (links, copies): (Vec<Link>, Vec<Link>) =
        links.into_iter().partition(|link| matches!(link.target, Target::Link(_)));
    let seconds = links::candidates(&copies, forms, &mut layout, &files);
    let Fitting { files, seconds, servers: read } = links::fit(&files, seconds, &expected)?;
    let said = links::said_elsewhere(&seconds, Own { files: &files, expected: &expected })?;
    let (said, files): (Vec<_>, Vec<_>) =
        files.into_iter().zip(&items).partition(|(file, _)| said.contains(&file.relative));
    let (mut files, mut items): (Vec<File>, Vec<&(Entry, NewContent)>) = files.into_iter().unzip();
    let is_form = |(link, _): &&Second| matches!(link.target, Target::Form(_));
    let forms: HashSet<_> = seconds.iter().flatten().filter(is_form).map(|(link, _)| folder.join(&link.path)).collect();
    let (in_place, seconds) = put_in_place(&mut files, seconds);
    write(folder, files.iter().map(|file| (file.relative.as_str(), &file.content, file.executable)))?;
    let seconds = list_ignored(folder, &mut files, &items, seconds)?;
    let made = in_place + write_again(folder, seconds, links, &mut layout, &files)?;
    if !said.is_empty() && !found(folder)?.is_superset(&forms) {
        // An ignore file above the folder hides a form. Its text would be lost on import elsewhere, so write the files as well.
        for (file, item) in said {
            write_file(&folder.join(&file.relative), &file.content, file.executable)?;
            files.push(file);
            items.push(item);
        }
        list_ignored(folder, &mut files, &items, Vec::new())?;
    }
    let listed = files.iter().filter_map(|file| Some((file.relative.clone(), file.listed.clone()?))).collect();
    let listing = Manifest::new(listed, servers::not_said(&all, &read));
    write(folder, [(manifest::FILE, &NewContent::from(listing.bytes()?), false)])?;
    Ok((Counts { left: wanted - made, ..counts }, project))
}

/// Replaces files with the forms at the same paths. Returns the number of these forms, and all other groups.
fn put_in_place(files: &mut [File], seconds: Vec<Group>) -> (usize, Vec<Group>) {
    let mut by_path: HashMap<String, &mut File> = files.iter_mut().map(|file| (file.relative.clone(), file)).collect();
    let mut count = 0;
    let mut put = |(_, second): &mut Second| match by_path.get_mut(&second.relative) {
        Some(file) => {
            (file.content, file.executable) = (second.content.clone(), second.executable);
            count += 1;
            false
        }
        None => true,
    };
    let mut seconds = seconds;
    seconds.iter_mut().for_each(|group| group.retain_mut(&mut put));
    (count, seconds)
}

/// Writes copies, forms and links in addition to the files, and returns how many.
fn write_again(
    folder: &Path,
    seconds: Vec<Group>,
    links: Vec<Link>,
    layout: &mut layout::Layout,
    files: &[File],
) -> Result<usize> {
    let seconds: Vec<Second> = seconds.into_iter().flatten().collect();
    let paths = files.iter().chain(seconds.iter().map(|(_, file)| file)).map(|file| file.relative.as_str());
    let links = links::fitting_links(links, layout, &paths.collect::<Vec<_>>());
    for (link, file) in &seconds {
        let path = folder.join(&link.path);
        match &link.target {
            Target::Copy(original) => write_copy(&path, &folder.join(original))?,
            _ => write_file(&path, &file.content, file.executable)?,
        }
    }
    for link in &links {
        if let Target::Link(text) = &link.target {
            write_link(&folder.join(&link.path), text)?;
        }
    }
    Ok(seconds.len() + links.len())
}

/// Adds entries to the manifest for the files that an ignore file hides, in the project or in a folder above, and for files
/// that an import would then read differently. Returns the copies and forms that can still be written: an import reads a
/// listed file only as its entry says, and does not look for copies of it.
fn list_ignored(
    folder: &Path,
    files: &mut [File],
    items: &[&(Entry, NewContent)],
    mut seconds: Vec<Group>,
) -> Result<Vec<Group>> {
    let found = found(folder)?;
    let is_ignored = |file: &File| file.listed.is_none() && !found.contains(&folder.join(&file.relative));
    if !files.iter().any(is_ignored) {
        without_listed(&mut seconds, files);
        return Ok(seconds);
    }
    let (mut listed, mut lying) = (Vec::new(), Vec::new());
    for (file, (entry, content)) in files.iter_mut().zip(items) {
        // Writing the file moved its content there. If the item shares that content, it has to point to the new path too.
        let is_own = file.content == *content;
        file.content = file.content.moved(folder.join(&file.relative));
        let content = if is_own { file.content.clone() } else { content.clone() };
        listed.push(match is_ignored(file) {
            true => layout::file(file.relative.clone(), entry, &content, Some(entry.clone()))?,
            false => file.clone(),
        });
        lying.push((entry.clone(), content));
    }
    for (link, file) in seconds.iter_mut().flatten() {
        if let Target::Copy(original) = &link.target {
            file.content = file.content.moved(folder.join(original));
        }
    }
    let expected: Vec<_> = lying.iter().map(Some).collect();
    loop {
        let count = |files: &[File]| files.iter().filter(|file| file.listed.is_some()).count();
        let before = count(&listed);
        without_listed(&mut seconds, &listed);
        listed = back::importable(listed, &seconds, &expected)?.0;
        if count(&listed) == before {
            break;
        }
    }
    for (file, listed) in files.iter_mut().zip(listed) {
        // If the content is equal, the file on disk is already in the form that the manifest needs.
        if listed.content != file.content {
            write_file(&folder.join(&file.relative), &listed.content, listed.executable)?;
            file.content = listed.content.moved(folder.join(&file.relative));
        }
        file.listed = listed.listed;
    }
    Ok(seconds)
}

/// Drops the copies and forms of files that the manifest lists.
fn without_listed(seconds: &mut Vec<Group>, files: &[File]) {
    let listed: HashSet<&str> =
        files.iter().filter(|file| file.listed.is_some()).map(|file| file.relative.as_str()).collect();
    let is_listed = |(link, _): &Second| match &link.target {
        Target::Copy(of) | Target::Form(Form { of, .. }) => listed.contains(of.as_str()),
        Target::Link(_) => false,
    };
    seconds.retain(|group| !group.iter().any(is_listed));
}

/// Creates a temporary folder inside `folder`. It is deleted on drop.
pub(super) fn scratch(folder: &Path) -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix(".mcpkg-").tempdir_in(folder);
    made.map_err(|error| Error::file("write", folder, error))
}

/// Returns the files in the folder that an import reads even if no manifest lists them.
fn found(folder: &Path) -> Result<HashSet<PathBuf>> {
    Ok(walk::walk(folder, Take::Project)?.files.into_iter().collect())
}

/// Creates the folder, or accepts an empty one. Returns whether it was created.
pub(super) fn make(folder: &Path) -> Result<bool> {
    let failed = |error| Error::file("write", folder, error);
    match fs::read_dir(folder) {
        Ok(mut listing) => match listing.next() {
            None => Ok(false),
            Some(_) => Err(Error::new(Code::AlreadyExists, format!("The folder `{}` is not empty", folder.display()))
                .hint("choose a folder that is empty or does not exist; an export never overwrites files")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(folder).map_err(failed)?;
            Ok(true)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns the project's items with their modules' data. Each content is written to a file in `scratch`.
fn stored(db: &Db<'_>, project: &Project, scratch: &Path, context: &Context) -> Result<Vec<(Entry, NewContent)>> {
    let all = stored::all(db, project)?.into_iter().filter_map(|stored| {
        let blob = stored.own_blob()?;
        Some((stored.entry, blob))
    });
    fetch(db, all.collect(), scratch, context)
}

/// Returns the links that are forms, with their files.
fn forms(db: &Db<'_>, links: &[Link]) -> Result<Vec<Second>> {
    let mut forms = Vec::new();
    for link in links {
        if let Target::Form(form) = &link.target
            && let Some(blob) = blobs::by_hash(db, &form.sha256)?
        {
            let (relative, content) = (link.path.clone(), blobs::content(db, blob)?);
            forms.push((link.clone(), File { relative, content, executable: form.executable, listed: None }));
        }
    }
    Ok(forms)
}

/// Writes each content to a file in `scratch`, from where it can be moved to its final path.
pub(super) fn fetch<T>(
    db: &Db<'_>,
    all: Vec<(T, i64)>,
    scratch: &Path,
    context: &Context,
) -> Result<Vec<(T, NewContent)>> {
    let total = all.len() as u64;
    let mut items = Vec::new();
    for (done, (item, blob)) in (1..).zip(all) {
        let path = scratch.join(done.to_string());
        let failed = |error| Error::file("write", &path, error);
        let mut file = fs::File::create(&path).map_err(failed)?;
        blobs::stream_by_id(db, blob, Verify::Sha256, |piece| {
            if context.is_cancelled() {
                return Err(Error::new(Code::Cancelled, "The export was cancelled; nothing was written"));
            }
            file.write_all(piece).map_err(failed)
        })?;
        items.push((item, NewContent::file(&path)?));
        (context.progress)("Exporting", done, total);
    }
    Ok(items)
}

/// Writes files (path, content, executable) to a temporary folder inside `folder`, and moves them up once all are complete.
pub(super) fn write<'f>(folder: &Path, files: impl IntoIterator<Item = (&'f str, &'f NewContent, bool)>) -> Result<()> {
    let failed = |error| Error::file("write", folder, error);
    let staging = scratch(folder)?;
    for (relative, content, executable) in files {
        write_file(&staging.path().join(relative), content, executable)?;
    }
    for entry in fs::read_dir(staging.path()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        fs::rename(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
    }
    Ok(())
}

fn write_link(path: &Path, target: &str) -> Result<()> {
    make_parent(path)?;
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, path).map_err(|error| Error::file("write", path, error))?;
    #[cfg(not(unix))]
    let _ = target;
    Ok(())
}

/// Copies a file with its permissions.
fn write_copy(path: &Path, original: &Path) -> Result<()> {
    make_parent(path)?;
    fs::copy(original, path).map(drop).map_err(|error| Error::file("write", path, error))
}

fn make_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| Error::file("write", path, error))
}

/// Moves the file that holds the content, if there is one; otherwise writes the content.
fn write_file(path: &Path, content: &NewContent, executable: bool) -> Result<()> {
    let failed = |error| Error::file("write", path, error);
    make_parent(path)?;
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
