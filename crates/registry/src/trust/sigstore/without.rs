//! Stands in for Sigstore in a build without the feature `sigstore`: bundles are recognised but not checked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Described, Held, Root};
use mcpkg_base::error::{Code, Error, Result};

/// Returns whether an identity that a user trusts covers the identity of a signer: here all are fingerprints of keys.
pub fn covers(trusted: &str, signer: &str) -> bool {
    trusted == signer
}

/// Kinds of identities that only Sigstore's certificates carry.
const KINDS: [&str; 5] = ["github", "google", "github-workflow", "gitlab", "microsoft"];

/// What builds a program that checks them.
const BUILD: &str = "to build an mcpkg that checks Sigstore bundles: `cargo install --path . --features full`";

/// Recognises a bundle without checking its signature. Its statement is read, to report one that binds no archive.
pub fn read(text: &str, _: &Root) -> Held {
    let why = "the attestation is a Sigstore bundle, which this mcpkg cannot check (E_TRUST_UNSUPPORTED)".to_owned();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let payload = value["dsseEnvelope"]["payload"].as_str().and_then(|payload| STANDARD.decode(payload).ok());
    Held { payload: payload.ok_or_else(|| why.clone()), signer: Err(why) }
}

/// Returns the name of an identity that only Sigstore tells; `None` for any other text.
pub fn name(text: &str) -> Result<Option<String>> {
    let kind = text.split_once(':').map_or("", |(kind, _)| kind);
    if !KINDS.contains(&kind) {
        return Ok(None);
    }
    let message =
        format!("'{}' is a Sigstore identity, but this mcpkg cannot check Sigstore bundles", text.escape_debug());
    Err(Error::new(Code::TrustUnsupported, message)
        .hint("instead, trust that person's key: `mcpkg tool trust add KEYFILE`")
        .hint(BUILD))
}

/// Returns what a root says.
pub fn described(_: &Root) -> Result<Described> {
    let message = "This mcpkg was built without the feature `sigstore`, so it cannot check Sigstore bundles";
    Err(Error::new(Code::TrustUnsupported, message).hint(BUILD))
}
