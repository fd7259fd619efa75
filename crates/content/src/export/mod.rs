//! `mcpkg export`: writes the project as plain files that import back to the same content.
//!
//! First the project's items are read ([`Stored`]) and get paths ([`layout`]). Then an import of the files is tried in
//! memory ([`back`]). The manifest lists each file that would not restore its item, and [`duplicates`] that an import
//! would not recognize are dropped. Finally the files are written ([`write`]), and then the manifest.

pub(crate) mod back;
pub(crate) mod duplicates;
pub(crate) mod layout;
pub mod plugin;
pub(crate) mod servers;
pub(crate) mod write;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use back::{Candidate, Group, importable};
use duplicates::{Fitting, Own};
use layout::Layout;
use plugin::AsPlugin;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use write::Linked;

use super::GROUP;
use super::import::find::walk::{self, Take};
use super::item::{Entry, File, What, manifest, manifest::Manifest, server::Server};
use super::stored;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, grouped};
use mcpkg_store::Db;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::links::{self, Link, Target, Variant};
use mcpkg_store::projects::Project;
use mcpkg_store::{blobs, servers as server_rows};

/// Export the project as files
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Export {
    /// Folder to write to; it must be empty or not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    as_plugin: AsPlugin,
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
        `mcpkg import DIR` reads this file. Values of MCP servers' variables and headers, and other text that \
        may be secret, are not in the project: mcpkg lists each file that differs from the imported one for this reason.\n\n\
        With --plugin, mcpkg writes what agents install as a plugin: commands, skills, subagents, enabled MCP servers \
        and hooks, in the places where Claude Code, Codex, Copilot CLI and Gemini CLI look for them. It lists what an \
        agent does not get, and why. Publish the folder as a git repository.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg export ./out",
        "mcpkg import ./out --project other",
        "mcpkg export ./web --plugin --description 'Our web team'",
        "mcpkg export ./team --marketplace --projects web,api",
    ];
    const EFFECT: Effect = Effect::Read;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn writes_files(&self) -> bool {
        true
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if self.as_plugin.is_wanted() {
            return self.as_plugin.write(&self.folder, context);
        }
        self.as_plugin.refuse_alone()?;
        let is_new = write::make(&self.folder)?;
        let exported = export(&self.folder, context);
        if exported.is_err() && is_new {
            // Remove the folder if it is empty. If this fails, the original error matters more.
            let _ = fs::remove_dir(&self.folder);
        }
        let (Counts { prompts, resources, servers, agent_files, left, unlinked, altered }, project) = exported?;
        let folder = self.folder.display().to_string();
        let mut counts = vec![plural::count(prompts, "prompt"), plural::count(resources, "resource")];
        if servers > 0 {
            counts.push(plural::count(servers, "MCP server"));
        }
        if agent_files > 0 {
            counts.push(plural::count(agent_files, "agent's file").replace("agent's files", "agents' files"));
        }
        let last = counts.pop().unwrap_or_default();
        let sentence = format!("Exported {} and {last} of project '{project}' to {folder}", counts.join(", "));
        let differ: Vec<_> = altered.iter().map(|(path, why)| json!({ "path": path, "reason": why })).collect();
        let data = json!({
            "project": project, "folder": folder, "prompts": prompts, "resources": resources,
            "servers": servers, "agent_files": agent_files, "altered": differ,
        });
        let mut reply = Reply::sentence(sentence, data);
        let lines = altered.iter().map(|(path, why)| format!("`{path}` differs from the imported file: {why}"));
        let lines: Vec<String> = lines.collect();
        reply.details.clone_from(&lines);
        reply.hints = grouped(lines);
        if let Some(told) = unlinked.told() {
            reply = reply.hint(told);
        }
        if left == 0 {
            return Ok(reply);
        }
        let skipped = match left {
            1 => "1 link, copy or version for another agent".to_owned(),
            _ => format!("{left} links, copies or versions for other agents"),
        };
        Ok(reply.hint(format!(
            "skipped {skipped}: given the project's current content, an import would not restore the same items"
        )))
    }
}

/// Counts the links that were copied or skipped, because this system or disk does not let the user create links.
#[derive(Clone, Copy, Default)]
struct Unlinked {
    copied: usize,
    skipped: usize,
}

impl Unlinked {
    /// Returns a sentence for the user; `None` if no link was copied or skipped.
    fn told(self) -> Option<String> {
        let copied =
            (self.copied > 0).then(|| format!("wrote copies instead of {}", plural::count(self.copied, "link")));
        let skipped = (self.skipped > 0).then(|| format!("skipped {} to folders", plural::count(self.skipped, "link")));
        let told: Vec<String> = [copied, skipped].into_iter().flatten().collect();
        let why = "because this system or disk does not let you create links";
        (!told.is_empty()).then(|| format!("{}, {why}", told.join(" and ")))
    }
}

struct Counts {
    prompts: usize,
    resources: usize,
    servers: usize,
    agent_files: usize,
    /// The number of links, copies and variants that were left out, because an import would not restore the same items
    /// with them.
    left: usize,
    unlinked: Unlinked,
    /// The files that were imported with changes, and the reasons.
    altered: BTreeMap<String, String>,
}

/// The content of a project.
struct Stored {
    name: String,
    items: Vec<(Entry, NewContent)>,
    servers: Vec<Server>,
    links: Vec<Link>,
    copies: Vec<Link>,
    variants: Vec<Candidate>,
    /// The number of links, copies and variants, including variants whose content is lost.
    duplicate_count: usize,
    /// The files that were imported with changes, and the reasons.
    altered: BTreeMap<String, String>,
}

impl Stored {
    /// Reads the project. The content of each item is written to a file in `scratch`, except that of MCP servers.
    fn read(db: &Db<'_>, project: &Project, scratch: &Path, context: &Context) -> Result<Self> {
        let all = stored::all(db, project)?.into_iter();
        let blobs = all.filter_map(|stored| stored.own_blob().map(|blob| (stored.entry, blob)));
        let items = write::fetch(db, blobs.collect(), scratch, context)?;
        let servers: Vec<Server> = server_rows::all(db, project.id)?.into_iter().map(Server::from).collect();
        let current = |(entry, content)| {
            let content = servers::with_current(&entry, content, &servers)?;
            Ok((entry, content))
        };
        let items = items.into_iter().map(current).collect::<Result<Vec<_>>>()?;
        let all = links::all(db, project.id)?;
        let (mut links, mut copies, mut variants) = (Vec::new(), Vec::new(), Vec::new());
        let (mut duplicate_count, mut altered) = (all.len(), BTreeMap::new());
        for link in all {
            match &link.target {
                Target::Link(_) => links.push(link),
                Target::Copy(_) => copies.push(link),
                Target::Altered(why) => {
                    duplicate_count -= 1;
                    let is_stored = |(entry, _): &(Entry, NewContent)| {
                        matches!(entry.what, What::AgentFile { .. }) && entry.name == link.path
                    };
                    if items.iter().any(is_stored) {
                        altered.insert(link.path, why.clone());
                    }
                }
                Target::Variant(variant) => {
                    let Some(blob) = blobs::by_hash(db, &variant.sha256)? else { continue };
                    let (relative, content) = (link.path.clone(), blobs::content(db, blob)?);
                    let file = File { relative, content, executable: variant.executable, listed: None };
                    variants.push((link, file));
                }
            }
        }
        Ok(Self { name: project.name.clone(), items, servers, links, copies, variants, duplicate_count, altered })
    }
}

/// Writes the project into the folder. Returns the counts for the report, and the project's name.
fn export(folder: &Path, context: &Context) -> Result<(Counts, String)> {
    let scratch = write::scratch(folder)?;
    let stored = context.read(|db, project| Stored::read(db, project, scratch.path(), context))?;
    let Stored { name, mut items, servers, links, copies, variants, duplicate_count, altered } = stored;
    let mut layout = Layout::default();
    // Items with an original path come first, so that no other item takes that path.
    items.sort_by_key(|(entry, _)| entry.origin.path.is_none());
    let files = items.iter().map(|(entry, content)| layout.file(entry, content)).collect::<Result<Vec<File>>>()?;
    let expected: Vec<_> = items.iter().map(Some).collect();
    let candidates = duplicates::candidates(&copies, variants, &mut layout, &files);
    let Fitting { files, duplicates, servers: read } = duplicates::fit(&files, candidates, &expected)?;
    let elsewhere = duplicates::sections_in_variants(&duplicates, Own { files: &files, expected: &expected })?;
    let (elsewhere, files): (Vec<_>, Vec<_>) =
        files.into_iter().zip(&items).partition(|(file, _)| elsewhere.contains(&file.relative));
    let (mut files, mut own): (Vec<File>, Vec<&(Entry, NewContent)>) = files.into_iter().unzip();
    let is_variant = |(link, _): &&Candidate| matches!(link.target, Target::Variant(_));
    let variants = duplicates.iter().flatten().filter(is_variant).map(|(link, _)| folder.join(&link.path));
    let variants: HashSet<PathBuf> = variants.collect();

    let (in_place, duplicates) = put_in_place(&mut files, duplicates);
    write::files(folder, files.iter().map(|file| (file.relative.as_str(), &file.content, file.executable)))?;
    let duplicates = list_ignored(folder, &mut files, &own, duplicates)?;
    let (written, unlinked) = write_duplicates(folder, duplicates, links, &mut layout, &files)?;
    let made = in_place + written;
    if !elsewhere.is_empty() && !visible(folder)?.is_superset(&variants) {
        // An ignore file above the folder hides a variant, so an import would not find the text in it. Also write the
        // files that were left out because the variant contains their text.
        for (file, item) in elsewhere {
            write::file(&folder.join(&file.relative), &file.content, file.executable)?;
            files.push(file);
            own.push(item);
        }
        list_ignored(folder, &mut files, &own, Vec::new())?;
    }
    let listed = files.iter().filter_map(|file| Some((file.relative.clone(), file.listed.clone()?))).collect();
    let manifest = Manifest::new(listed, servers::to_list(&servers, &read));
    write::files(folder, [(manifest::FILE, &NewContent::from(manifest.bytes()?), false)])?;
    let count = |word: &str| items.iter().filter(|(entry, _)| entry.what.word() == word).count();
    let (prompts, resources, agent_files) = (count("prompt"), count("resource"), count("agent_file"));
    Ok((
        Counts {
            prompts,
            resources,
            servers: servers.len(),
            agent_files,
            left: duplicate_count - made,
            unlinked,
            altered,
        },
        name,
    ))
}

/// Replaces files with the variants at the same paths. Returns the number of replaced files, and the other duplicates.
fn put_in_place(files: &mut [File], mut duplicates: Vec<Group>) -> (usize, Vec<Group>) {
    let mut by_path: HashMap<String, &mut File> = files.iter_mut().map(|file| (file.relative.clone(), file)).collect();
    let mut count = 0;
    let mut stays = |(_, variant): &mut Candidate| match by_path.get_mut(&variant.relative) {
        Some(file) => {
            (file.content, file.executable) = (variant.content.clone(), variant.executable);
            count += 1;
            false
        }
        None => true,
    };
    duplicates.iter_mut().for_each(|group| group.retain_mut(&mut stays));
    (count, duplicates)
}

/// Writes the duplicates, and the links that fit, next to the files. Returns how many duplicates and links there were,
/// and how many of the links were copied or skipped.
fn write_duplicates(
    folder: &Path,
    duplicates: Vec<Group>,
    links: Vec<Link>,
    layout: &mut Layout,
    files: &[File],
) -> Result<(usize, Unlinked)> {
    let duplicates: Vec<Candidate> = duplicates.into_iter().flatten().collect();
    let paths = files.iter().chain(duplicates.iter().map(|(_, file)| file)).map(|file| file.relative.as_str());
    let links = duplicates::fitting_links(links, layout, &paths.collect::<Vec<_>>());
    for (link, file) in &duplicates {
        let path = folder.join(&link.path);
        match &link.target {
            Target::Copy(original) => write::copy(&path, &folder.join(original))?,
            _ => write::file(&path, &file.content, file.executable)?,
        }
    }
    let mut unlinked = Unlinked::default();
    for link in &links {
        if let Target::Link(text) = &link.target {
            match write::link(folder, &link.path, text)? {
                Linked::Link => {}
                Linked::Copy => unlinked.copied += 1,
                Linked::Nothing => unlinked.skipped += 1,
            }
        }
    }
    Ok((duplicates.len() + links.len(), unlinked))
}

/// Adds manifest entries for the files that an ignore file hides. The ignore file may be in the exported folder or
/// above it. These entries may change how an import reads other files, so those files get entries too. Returns the
/// duplicates that can still be written. A duplicate of a listed file cannot be written, because an import reads a
/// listed file only as its entry says and does not look for its duplicates.
fn list_ignored(
    folder: &Path,
    files: &mut [File],
    items: &[&(Entry, NewContent)],
    mut duplicates: Vec<Group>,
) -> Result<Vec<Group>> {
    let visible = visible(folder)?;
    let is_ignored = |file: &File| file.listed.is_none() && !visible.contains(&folder.join(&file.relative));
    if !files.iter().any(is_ignored) {
        without_listed(&mut duplicates, files);
        return Ok(duplicates);
    }
    let (mut listed, mut expected_items) = (Vec::new(), Vec::new());
    for (file, (entry, content)) in files.iter_mut().zip(items) {
        // Writing the file moved its content to the file's path. If the item shares that content, it has to point to
        // the new path too.
        let is_own = file.content == *content;
        file.content = file.content.moved(folder.join(&file.relative));
        let content = if is_own { file.content.clone() } else { content.clone() };
        listed.push(match is_ignored(file) {
            true => layout::file(file.relative.clone(), entry, &content, Some(entry.clone()))?,
            false => file.clone(),
        });
        expected_items.push((entry.clone(), content));
    }
    for (link, file) in duplicates.iter_mut().flatten() {
        if let Target::Copy(original) = &link.target {
            file.content = file.content.moved(folder.join(original));
        }
    }
    let expected: Vec<_> = expected_items.iter().map(Some).collect();
    loop {
        let count = |files: &[File]| files.iter().filter(|file| file.listed.is_some()).count();
        let before = count(&listed);
        without_listed(&mut duplicates, &listed);
        listed = importable(listed, &duplicates, &expected)?.0;
        if count(&listed) == before {
            break;
        }
    }
    for (file, listed) in files.iter_mut().zip(listed) {
        // If the content is equal, the file on disk is already in the form that the manifest needs.
        if listed.content != file.content {
            write::file(&folder.join(&file.relative), &listed.content, listed.executable)?;
            file.content = listed.content.moved(folder.join(&file.relative));
        }
        file.listed = listed.listed;
    }
    Ok(duplicates)
}

fn without_listed(duplicates: &mut Vec<Group>, files: &[File]) {
    let listed: HashSet<&str> =
        files.iter().filter(|file| file.listed.is_some()).map(|file| file.relative.as_str()).collect();
    let is_listed = |(link, _): &Candidate| match &link.target {
        Target::Copy(of) | Target::Variant(Variant { of, .. }) => listed.contains(of.as_str()),
        Target::Link(_) | Target::Altered(_) => false,
    };
    duplicates.retain(|group| !group.iter().any(is_listed));
}

/// Returns the files in the folder that an import reads even if no manifest lists them.
fn visible(folder: &Path) -> Result<HashSet<PathBuf>> {
    Ok(walk::walk(folder, Take::Project)?.files.into_iter().collect())
}
