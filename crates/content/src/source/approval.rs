//! The sources that this user has approved on this machine. A database from somebody else can name sources, but cannot
//! make mcpkg read a folder of this machine or fetch from another host.

use serde_json::json;
use sha2::{Digest, Sha256};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::sources::Origin;

/// Keeps it that this user fetches from a source.
///
/// # Errors
/// `E_UNAPPROVED` if the user has no home, `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
pub fn approve(context: &Context, origin: &Origin) -> Result<()> {
    context.approved.put(Kind::Source, &key(origin), &json!({ "kind": origin.kind, "url": origin.url }))
}

/// Refuses a source that this user never fetched from on this machine, unless a person at a terminal says so now.
///
/// # Errors
/// `E_CONFIRM_REQUIRED` if the person says no.
pub fn check(context: &Context, origin: &Origin) -> Result<()> {
    if context.approved.get(Kind::Source, &key(origin))?.is_some() {
        return Ok(());
    }
    if context.confirmation == Confirmation::Ask {
        let question = format!(
            "The database lists `{}` as a source, but you have never fetched it on this machine. Fetch it?",
            origin.url
        );
        (context.ask)(Body::Several(Vec::new()), &question)?;
        return approve(context, origin);
    }
    let why = format!("You have never fetched the source '{}' (`{}`) on this machine", origin.name, origin.url);
    Err(Error::new(Code::Unapproved, why)
        .hint("run the command at a terminal and confirm, or remove the source and add it again"))
}

fn key(origin: &Origin) -> String {
    hex::encode(&Sha256::digest(format!("{}\0{}", origin.kind.word(), origin.url)))
}
