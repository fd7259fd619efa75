//! Reads and writes `index.json`, the index of a folder registry. Only searches use the index.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::{Value, json};

use super::record::Record;
use super::root::{JSON, Root};
use super::versions;
use crate::backend::facts::{Facts, one_line, tags};
use crate::backend::latest::counting;
use crate::backend::wire;
use crate::package::Name;
use mcpkg_base::clock;
use mcpkg_base::error::Result;
use mcpkg_store::tools::listings::Listing;
use mcpkg_store::tools::packages::Visibility;

/// The file name and the format of the index.
pub const INDEX: &str = "index.json";
const FORMAT: &str = "mcpkg-registry-index";

/// The maximum size of an index in bytes, and the maximum number of tools in it.
const LARGEST: u64 = 64 << 20;
const MOST: usize = 200_000;

/// The deepest folder level of tools: a tool's name has at most eight segments.
const DEEPEST: usize = 8;

/// Reads the index, sorted by name; `None` if the file does not exist. Malformed entries are skipped.
pub fn read(root: &Root) -> Result<Option<BTreeMap<String, Listing>>> {
    let Some(bytes) = root.read(INDEX, LARGEST)? else { return Ok(None) };
    let index: Value = serde_json::from_slice(&bytes)
        .map_err(|error| root.malformed(format!("its {INDEX} is not valid JSON: {error}")))?;
    let Some(tools) = index["tools"].as_array().filter(|_| index["format"] == FORMAT && index["version"] == 1) else {
        return Err(root.malformed(format!("its {INDEX} does not have format version 1")));
    };
    let listings = tools.iter().take(MOST).filter_map(listing);
    Ok(Some(listings.map(|listing| (listing.name.clone(), listing)).collect()))
}

fn listing(tool: &Value) -> Option<Listing> {
    Some(Listing {
        name: Name::parse(tool["name"].as_str()?).ok().filter(Name::is_publishable)?.to_string(),
        version: wire::version(tool["version"].as_str()?)?.to_string(),
        description: one_line(tool["description"].as_str()?),
        tags: tags(tool.get("tags")),
        published_at: wire::time(tool, "published_at")?,
    })
}

pub fn write(root: &Root, listings: &BTreeMap<String, Listing>) -> Result<()> {
    let tools: Vec<Value> = listings
        .values()
        .map(|listing| {
            json!({
                "name": listing.name,
                "version": listing.version,
                "description": listing.description,
                "tags": listing.tags,
                "published_at": clock::rfc3339(listing.published_at),
            })
        })
        .collect();
    root.write(INDEX, format!("{:#}\n", json!({ "format": FORMAT, "version": 1, "tools": tools })).as_bytes())
}

/// Builds the index entry of a tool from its files; `None` if the tool has no public version, or all of them are
/// yanked.
pub fn listed(root: &Root, name: &Name) -> Result<Option<Listing>> {
    let shown = |(_, record): &(Version, Record)| record.visibility == Visibility::Public && record.yank.is_none();
    let versions = versions::all(root, name)?.into_iter().filter(shown);
    let Some((version, record)) = counting(versions, |(version, _)| version) else { return Ok(None) };
    let manifest = root.read(&versions::file(name, &version, versions::MANIFEST), JSON)?.unwrap_or_default();
    let Facts { description, tags, .. } = Facts::of(&serde_json::from_slice(&manifest).unwrap_or_default());
    let published_at = record.published_at;
    Ok(Some(Listing { name: name.to_string(), version: version.to_string(), description, tags, published_at }))
}

/// Builds the index entries of all tools in the folder.
pub fn made(root: &Root) -> Result<BTreeMap<String, Listing>> {
    let mut listings = BTreeMap::new();
    let mut folders: Vec<String> = first_segments(root)?;
    while let Some(name) = folders.pop() {
        if !root.is_folder(&versions::folder_of(&name))? {
            continue;
        }
        if let Ok(name) = Name::parse(&name)
            && let Some(listing) = listed(root, &name)?
        {
            listings.insert(listing.name.clone(), listing);
        }
        if name.split('/').count() < DEEPEST {
            // A name with a dot is the folder of a version: segments of a tool's name contain no dots.
            let below = root.names(&versions::folder_of(&name))?.into_iter().filter(|below| !below.contains('.'));
            folders.extend(below.map(|below| format!("{name}/{below}")));
        }
        if listings.len() >= MOST {
            return Err(root.malformed(format!("it lists more than {MOST} tools")));
        }
    }
    Ok(listings)
}

fn first_segments(root: &Root) -> Result<Vec<String>> {
    Ok(root.names(versions::TOOLS)?.into_iter().filter(|name| !name.starts_with('.')).collect())
}
