//! Lists skills with the digest of each file, for the skills extension (SEP-2640).

use std::collections::BTreeMap;

use rmcp::model::{
    DIRECTORY_MIME_TYPE, GetSkillResult, ListResourcesResult, ListSkillsResult, Resource, SkillFrontmatter,
    SkillResource, SkillResources,
};

use super::Config;
use super::lookup::{not_found, page};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::cursor;
use mcpkg_content::skills::{self, SCHEME, Skill};
use mcpkg_store::Db;
use mcpkg_store::projects;

/// The name of this list in cursors.
const LIST: &str = "skills";

/// Returns a page of skills. Leaves out skills that break the extension's rules, for example because their `SKILL.md`
/// has no description. `mcpkg skill validate` reports such skills.
pub(super) fn list(db: &Db<'_>, config: &Config, after: Option<&str>) -> Result<ListSkillsResult> {
    let page = page(db, &config.selection, LIST, after)?;
    let Some(project) = projects::resolve(db, &config.selection)? else {
        return Ok(ListSkillsResult::with_all_items(Vec::new()));
    };
    let (found, next) = skills::page(db, project.id, &page.after, page.limit)?;
    let mut result = ListSkillsResult::with_all_items(found.iter().filter_map(entry).collect());
    result.next_cursor = next.map(|after| cursor::encode(LIST, project.id, &after));
    Ok(result)
}

/// Finds a skill by the URI of its `SKILL.md`.
pub(super) fn get(db: &Db<'_>, config: &Config, uri: &str) -> Result<GetSkillResult> {
    let missing = || not_found(db, &config.selection, "Skill", "uri", uri);
    let name = skills::name_of(uri).ok_or_else(missing)?;
    let project = projects::require(db, &config.selection)?;
    let skill = skills::find(db, project.id, name)?.ok_or_else(missing)?;
    let entry = entry(&skill).ok_or_else(|| {
        Error::new(
            Code::SkillInvalid,
            format!("The skill '{name}' is not valid; to see why, run `mcpkg skill validate {name}`"),
        )
        .with_details(serde_json::json!({ "uri": uri }))
    })?;
    Ok(GetSkillResult::new(entry))
}

/// Returns a skill in the extension's format, or `None` if it breaks the extension's rules.
fn entry(skill: &Skill) -> Option<rmcp::model::Skill> {
    let matter = skill.matter.clone()?;
    let frontmatter: SkillFrontmatter = serde_json::from_value(matter.into()).ok()?;
    let digest = |sha256: &[u8; 32]| {
        let hex = mcpkg_base::hex::encode(sha256);
        format!("sha256:{hex}")
    };
    let files = skill
        .files
        .iter()
        .map(|file| SkillResource::new(file.uri.clone(), digest(&file.sha256), u64::try_from(file.size).unwrap_or(0)));
    let uri = skills::uri_of(&skill.name, skills::MAIN);
    let entry = rmcp::model::Skill::new(uri, frontmatter, SkillResources::Files(files.collect()));
    // One invalid entry would make the whole list fail.
    entry.validate().is_ok().then_some(entry)
}

/// Returns the direct entries of a skill's folder, by name.
pub(super) fn directory(db: &Db<'_>, config: &Config, uri: &str) -> Result<ListResourcesResult> {
    let folder = format!("{}/", uri.trim_end_matches('/'));
    let name = folder.strip_prefix(SCHEME).and_then(|path| path.split('/').next()).unwrap_or_default();
    let project = projects::require(db, &config.selection)?;
    let found = skills::find(db, project.id, name)?;
    let mut children = BTreeMap::new();
    for file in found.iter().flat_map(|skill| &skill.files) {
        let Some(below) = file.uri.strip_prefix(&folder) else { continue };
        let (child, is_folder) = below.split_once('/').map_or((below, false), |(child, _)| (child, true));
        let label = mcpkg_content::uri::decode(child).unwrap_or_else(|| child.to_owned());
        let mut resource = Resource::new(format!("{folder}{child}"), label);
        if is_folder {
            resource.mime_type = Some(DIRECTORY_MIME_TYPE.to_owned());
        } else {
            resource.mime_type.clone_from(&file.mime_type);
            resource.size = u64::try_from(file.size).ok();
        }
        children.entry(child).or_insert(resource);
    }
    if children.is_empty() {
        return Err(not_found(db, &config.selection, "Directory", "uri", uri));
    }
    Ok(ListResourcesResult::with_all_items(children.into_values().collect()))
}
