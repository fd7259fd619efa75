//! Records which registries this user approved on this machine. A database from somebody else may name a registry.
//! Until the user approves it, mcpkg does not read its folder, contact its host, or start the program that prints
//! its token.

use serde_json::json;
use sha2::{Digest, Sha256};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::tools::registries::Place;

/// Records the user's approval of a registry.
///
/// # Errors
/// `E_UNAPPROVED` if the user has no home folder, `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
pub fn approve(context: &Context, place: &Place) -> Result<()> {
    let note = json!({ "kind": place.kind.word(), "location": place.location, "token": place.token });
    context.approved.put(Kind::Registry, &key(place), &note)
}

/// Returns whether this user approved a registry.
pub fn is_approved(context: &Context, place: &Place) -> Result<bool> {
    Ok(context.approved.get(Kind::Registry, &key(place))?.is_some())
}

/// Refuses a registry that this user never approved on this machine, unless a person approves it at a terminal now.
///
/// # Errors
/// `E_CONFIRM_REQUIRED` if the person refuses.
pub fn check(context: &Context, place: &Place) -> Result<()> {
    if is_approved(context, place)? {
        return Ok(());
    }
    if context.confirmation == Confirmation::Ask {
        let token =
            place.token.as_ref().map(|token| format!(", with the access token from `{token}`")).unwrap_or_default();
        let question = format!("The database lists the registry `{}`{token}. Use this registry?", place.location);
        (context.ask)(Body::Several(Vec::new()), &question)?;
        return approve(context, place);
    }
    let why = format!("You have not approved the registry '{}' on this machine: `{}`", place.name, place.location);
    Err(Error::new(Code::Unapproved, why)
        .hint("run the command at a terminal to approve the registry, or remove the registry and add it again"))
}

fn key(place: &Place) -> String {
    let token = place.token.as_deref().unwrap_or_default();
    hex::encode(&Sha256::digest(format!("{}\0{}\0{token}", place.kind.word(), place.location)))
}
