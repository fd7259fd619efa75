//! Records the sources that this user has approved on this machine. Without approval, a database from somebody else could
//! make mcpkg read any folder of this machine or fetch from any host.

use serde_json::json;
use sha2::{Digest, Sha256};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::sources::Origin;

/// Records that this user approved the source.
pub fn approve(context: &Context, origin: &Origin) -> Result<()> {
    context.approved.put(Kind::Source, &key(origin), &json!({ "kind": origin.kind, "url": origin.url }))
}

/// Fails unless this user has approved the source on this machine. At a terminal, asks first; if the answer is no, fails
/// with `E_CONFIRM_REQUIRED`.
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
