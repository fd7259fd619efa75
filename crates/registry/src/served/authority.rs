//! Checks the caller's rights before the body of a request is read. `mcpkg_core::op::Caller` defines the rights.

use http::StatusCode;

use super::failure::Failure;
use super::route::Route;
use crate::package::Name;
use mcpkg_core::op::Context;

/// Refuses (403) keys that are limited to one project, since published tools belong to no project.
pub fn reads(context: &Context) -> Result<(), Failure> {
    match context.caller.rights().deploy {
        true => Ok(()),
        false => Err(Failure::forbidden("This access key is for one project and cannot use the registry")),
    }
}

/// Refuses requests that the caller has no right to make (401, 403).
pub fn check(context: &Context, route: &Route) -> Result<(), Failure> {
    match route {
        Route::Search
        | Route::Tool(_)
        | Route::Version(..)
        | Route::Download(..)
        | Route::Attestations(..)
        | Route::Attestation(..) => Ok(()),
        Route::Publish(name) | Route::Yank(name, _) | Route::Unyank(name, _) | Route::Visibility(name) => {
            publishes(context, name)
        }
        Route::Attest(..) | Route::Revoke(..) => attests(context),
    }
}

fn publishes(context: &Context, name: &Name) -> Result<(), Failure> {
    let who = who(context)?;
    if context.caller.publishes(name.as_str()) {
        return Ok(());
    }
    let namespaces = context.caller.publishing();
    if namespaces.is_empty() {
        let why = format!("{who} cannot publish; `mcpkg access create NAME --publish NAMESPACE` creates one that can");
        return Err(Failure::forbidden(why));
    }
    let why = format!("{who} cannot publish '{name}'");
    let details = serde_json::json!({ "tool": name, "namespaces": namespaces });
    Err(Failure::new(StatusCode::FORBIDDEN, "NAMESPACE_MISMATCH", why).with_details(details))
}

fn attests(context: &Context) -> Result<(), Failure> {
    let who = who(context)?;
    match context.caller.attests() {
        true => Ok(()),
        false => {
            let why =
                format!("{who} cannot post attestations; `mcpkg access create NAME --attest` creates one that can");
            Err(Failure::forbidden(why))
        }
    }
}

/// Returns a name for the caller, with which an error message can start. Fails with 401 if the caller did not
/// authenticate.
fn who(context: &Context) -> Result<String, Failure> {
    let requester = context.caller.key().map(|_| context.caller.asker());
    let named = requester.as_deref().and_then(|requester| requester.split_once(':')).map(|(kind, name)| match kind {
        "key" => format!("The access key '{name}'"),
        _ => format!("'{name}', who signed in,"),
    });
    named.ok_or_else(|| {
        Failure::unauthorized(
            "You need an access key to write; `mcpkg access create NAME --publish NAMESPACE` creates one",
        )
    })
}
