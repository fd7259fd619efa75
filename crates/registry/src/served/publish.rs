//! Publishes a version. The manifest inside the archive is authoritative: the name in the URL, and the name and version
//! in the manifest that the request sends along, must agree with it.

use std::io::Read;

use http::StatusCode;
use serde_json::{Value, json};

use super::failure::Failure;
use super::find::{download_url, hash};
use super::upload::{self, Upload};
use crate::backend::Publication;
use crate::backend::local::{Local, leading};
use crate::backend::registry::Registry;
use crate::package::Name;
use crate::package::archive;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Error;
use mcpkg_core::op::{Answer, Context, Head};

/// Publishes a version of a tool. Publishing the same archive again succeeds, and the response says that it already
/// existed. A different archive of the same version fails with 409.
pub fn publish(context: &Context, head: &Head, name: &Name, body: &mut (dyn Read + Send)) -> Result<Answer, Failure> {
    let Upload { manifest: said, bundle, visibility } = upload::read(&head.headers, body)?;
    let opened = archive::open(bundle.into())?;
    let Some(version) = &opened.manifest.version else {
        return Err(Error::internal("an archive has no version").into());
    };
    if opened.manifest.name != *name {
        let why = format!("The archive contains '{}', not '{name}'", opened.manifest.name);
        return Err(Failure::invalid(why));
    }
    let agrees = |key: &str, own: &str| said.get(key).is_none_or(|value| value == own);
    if !agrees("name", name.as_str()) || !agrees("version", &version.to_string()) {
        let why = format!("The manifest does not match the archive's own manifest, which is for {name}@{version}");
        return Err(Failure::invalid(why));
    }
    let local = Local::new(context);
    let visibility = match visibility {
        Some(visibility) => visibility,
        // Unless the request sets a visibility, a new version gets the visibility of the leading version, so that a
        // private tool stays private.
        None => context.store.read(|db| {
            let rows = local.rows(db, name)?;
            Ok(leading(&rows).map(|(_, row)| row.release.visibility).unwrap_or_default())
        })?,
    };
    let manifest = Value::Object(opened.manifest.json.clone());
    let publication = Publication { visibility, ..Publication::of(&opened, &manifest)? };
    let is_new = local
        .publish(&publication)
        .inspect_err(|error| context.refused_there("tool.publish", &format!("{name}@{version}"), error))?;
    let row = context.store.read(|db| local.row(db, name, version))?;
    let answer = json!({
        "name": name,
        "version": version.to_string(),
        "bundle_hash": hash(&row),
        "bundle_size": row.release.size,
        "download_url": download_url(name, version),
        "published_at": rfc3339(row.release.published_at),
        "already_published": !is_new,
    });
    Ok(Answer::json(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &answer))
}
