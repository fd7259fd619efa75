//! Replaces the Sigstore checks in a build without the feature `sigstore`: bundles are recognised but not checked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{BundleContents, Described, Root};
use mcpkg_base::error::{Code, Error, Result};

/// Returns whether a trusted identity covers a signer's identity. This build compares the whole texts, since it knows
/// no patterns.
pub fn covers(trusted: &str, signer: &str) -> bool {
    trusted == signer
}

/// The prefixes of identities that only Sigstore can attest.
const KINDS: [&str; 5] = ["github", "google", "github-workflow", "gitlab", "microsoft"];

/// Explains how to build an mcpkg that checks bundles.
const BUILD: &str = "to build an mcpkg that checks Sigstore bundles: `cargo install --path . --features full`";

/// Reads a bundle without checking its signature. The statement is still read, so that mcpkg can report a statement
/// that does not cover the archive.
pub fn read(text: &str, _: &Root) -> BundleContents {
    let why = "the attestation is a Sigstore bundle, which this mcpkg cannot check (E_TRUST_UNSUPPORTED)".to_owned();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let payload = value["dsseEnvelope"]["payload"].as_str().and_then(|payload| STANDARD.decode(payload).ok());
    BundleContents { payload: payload.ok_or_else(|| why.clone()), signer: Err(why) }
}

/// Fails for an identity that only Sigstore can attest; returns `None` for any other text.
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

/// Always fails, since this build has no Sigstore root.
pub fn described(_: &Root) -> Result<Described> {
    let message = "This mcpkg was built without the feature `sigstore`, so it cannot check Sigstore bundles";
    Err(Error::new(Code::TrustUnsupported, message).hint(BUILD))
}
