//! Serves the index of a project's skills, for `npx skills add URL`, and an archive of each skill.

use std::sync::Arc;

use flate2::{Compression, GzBuilder};
use http::StatusCode;
use http::header::HeaderValue;
use serde_json::json;
use uuid::Uuid;

use super::route::Route;
use super::scope::project;
use crate::export::plugin::{PluginFile, Wish, of_project};
use crate::skills::check;
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::{Answer, Content, Context};
use mcpkg_store::events;

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The ending of archives.
const ENDING: &str = ".tar.gz";

/// The operating system in the gzip header: unknown, so that an archive is the same on all systems.
const NO_SYSTEM: u8 = 255;

/// The packed skills of recently requested projects. They are cached because packing takes longer than everything else.
static PACKED: Cache<(String, Uuid, i64), Arc<Vec<Skill>>> = Cache::new(4);

struct Skill {
    name: String,
    description: String,
    archive: Vec<u8>,
}

pub(super) fn index(context: &Context, route: &Route) -> Result<Answer> {
    let skills = skills(context, route)?;
    let entry = |skill: &Skill| {
        json!({
            "name": skill.name, "description": skill.description, "type": "archive",
            "url": format!("{}{ENDING}", skill.name),
            "digest": format!("sha256:{}", sha256::hex(&skill.archive)),
        })
    };
    let entries: Vec<_> = skills.iter().map(entry).collect();
    Ok(Answer::json(StatusCode::OK, &json!({ "$schema": SCHEMA, "skills": entries })))
}

pub(super) fn archive(context: &Context, route: &Route, file: &str) -> Result<Answer> {
    let skills = skills(context, route)?;
    let found = skills.iter().find(|skill| file.strip_suffix(ENDING) == Some(&skill.name));
    let skill = found.ok_or_else(|| Error::new(Code::NotFound, "There is no such skill"))?;
    let content_type = HeaderValue::from_static("application/gzip");
    Ok(Answer::new(StatusCode::OK, Content::Bytes { bytes: skill.archive.clone(), content_type }))
}

/// Returns the project's skills. Leaves out skills without a description, because no agent lists them.
fn skills(context: &Context, route: &Route) -> Result<Arc<Vec<Skill>>> {
    context.store.read(|db| {
        let project = project(db, context, route)?;
        let key = (context.store.location().to_string(), project.uuid, events::newest(db)?);
        PACKED.get_or(key, || {
            let plugin = of_project(db, &project, &Wish::default())?;
            let mut skills = Vec::new();
            let files = plugin.files.iter().filter_map(|file| {
                let (name, path) = file.path.strip_prefix("skills/")?.split_once('/')?;
                Some((name, path, file))
            });
            let files: Vec<_> = files.collect();
            for of_skill in files.chunk_by(|one, other| one.0 == other.0) {
                let main = of_skill.iter().find(|(_, path, _)| *path == "SKILL.md");
                let text = main.and_then(|(_, _, file)| std::str::from_utf8(&file.bytes).ok());
                let keys = text.and_then(|text| check::front_matter(text).ok()).map(|(keys, _)| keys.map);
                if let Some(description) = keys.as_ref().and_then(|keys| keys.get("description")?.as_str()) {
                    let archive = packed(of_skill.iter().map(|(_, path, file)| (*path, *file)))?;
                    skills.push(Skill { name: of_skill[0].0.to_owned(), description: description.to_owned(), archive });
                }
            }
            Ok(Arc::new(skills))
        })
    })
}

/// Packs files. The same files always give the same bytes. The names of members must not begin with `./`, because `npx
/// skills` would not find them.
fn packed<'f>(files: impl Iterator<Item = (&'f str, &'f PluginFile)>) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::internal("a skill cannot be packed").with_source(error);
    let gzip = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM).write(Vec::new(), Compression::default());
    let mut tar = tar::Builder::new(gzip);
    for (path, file) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(file.bytes.len() as u64);
        header.set_mode(if file.executable { 0o755 } else { 0o644 });
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, path, file.bytes.as_slice()).map_err(failed)?;
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(failed)
}
