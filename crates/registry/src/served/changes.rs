//! Changes published versions: yanks them, reverts a yank, or changes who can see them.

use std::io::Read;

use http::StatusCode;
use semver::Version;
use serde_json::{Value, json};

use super::failure::Failure;
use super::upload::json_body;
use crate::backend::local::Local;
use crate::backend::registry::Registry;
use crate::backend::wire;
use crate::package::Name;
use mcpkg_base::clock::rfc3339;
use mcpkg_core::op::{Answer, Context};
use mcpkg_store::tools::packages::{Visibility, Yank};

pub fn yank(
    context: &Context,
    name: &Name,
    version: &Version,
    body: &mut (dyn Read + Send),
) -> Result<Answer, Failure> {
    let body = json_body(body)?;
    let replacement = match body.get("replacement_version") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let other = value.as_str().and_then(wire::version).filter(|other| other != version);
            let why = || Failure::invalid("`replacement_version` must be a different version of the tool");
            Some(other.ok_or_else(why)?.to_string())
        }
    };
    let yank = Yank { at: context.clock.now(), reason: wire::text(&body, "reason"), replacement };
    change(context, "tool.yank", name, version, Some(&yank))
}

/// Reverts a yank.
pub fn unyank(context: &Context, name: &Name, version: &Version) -> Result<Answer, Failure> {
    change(context, "tool.unyank", name, version, None)
}

fn change(
    context: &Context,
    kind: &str,
    name: &Name,
    version: &Version,
    yank: Option<&Yank>,
) -> Result<Answer, Failure> {
    Local::new(context)
        .yank(name, version, yank)
        .inspect_err(|error| context.refused_there(kind, &format!("{name}@{version}"), error))?;
    let answer = json!({
        "yanked": yank.is_some(),
        "name": name,
        "version": version.to_string(),
        "reason": yank.and_then(|yank| yank.reason.as_ref()),
        "replacement_version": yank.and_then(|yank| yank.replacement.as_ref()),
        "yanked_at": yank.map(|yank| rfc3339(yank.at)),
    });
    Ok(Answer::json(StatusCode::OK, &answer))
}

pub fn visibility(context: &Context, name: &Name, body: &mut (dyn Read + Send)) -> Result<Answer, Failure> {
    let body = json_body(body)?;
    let visibility = body["visibility"].as_str().and_then(Visibility::from_word);
    let why = || Failure::invalid("`visibility` must be public, unlisted or private");
    let visibility = visibility.ok_or_else(why)?;
    let versions = Local::new(context)
        .show_to(name, visibility)
        .inspect_err(|error| context.refused_there("tool.visibility", name.as_str(), error))?;
    let answer = json!({ "name": name, "visibility": visibility.word(), "versions": versions });
    Ok(Answer::json(StatusCode::OK, &answer))
}
