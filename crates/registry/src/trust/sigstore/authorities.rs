//! Describes a Sigstore root: the authorities for certificates, logs and timestamps that it accepts, and their
//! validity.

use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TimeRange, TrustedRoot};

use super::check::verifier;
use super::{Authority, Described, Root};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;

/// The date of the embedded root: the release date of the pinned version of its crate.
const DATED: &str = "2026-10-23";

/// Describes a root.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if bundles cannot be checked against it.
pub fn described(root: &Root) -> Result<Described> {
    let invalid = |why: String| {
        Error::new(Code::InvalidArgument, format!("Invalid Sigstore root: {why}")).hint(
            "a root is a `trusted_root.json` from a Sigstore TUF repository; the file names certificate authorities, a signature log and \
                a certificate log",
        )
    };
    // Refuse a root without authorities or with a broken certificate: only a working root is described.
    verifier(root).map_err(invalid)?;
    let (dated, text) = match root {
        Root::Embedded => (Some(DATED), SIGSTORE_PRODUCTION_TRUSTED_ROOT),
        Root::Replaced(root) => (None, root.text.as_str()),
        Root::Unreadable => return Err(invalid("the stored root cannot be read".to_owned())),
    };
    let parsed = TrustedRoot::from_json(text).map_err(|error| invalid(error.to_string()))?;
    Ok(Described { dated, sha256: sha256::of(text.as_bytes()), authorities: authorities(&parsed) })
}

fn authorities(root: &TrustedRoot) -> Vec<Authority> {
    let certificates =
        root.certificate_authorities.iter().map(|one| authority("certificates", one.uri.clone(), one.valid_for));
    let signatures =
        root.tlogs.iter().map(|one| authority("log of signatures", one.base_url.clone(), one.public_key.valid_for));
    let issued =
        root.ctlogs.iter().map(|one| authority("log of certificates", one.base_url.clone(), one.public_key.valid_for));
    let timestamps = root.timestamp_authorities.iter().map(|one| {
        let name = || one.subject.common_name.clone().or_else(|| one.subject.organization.clone());
        authority("timestamps", one.uri.clone().or_else(name).unwrap_or_default(), one.valid_for)
    });
    certificates.chain(signatures).chain(issued).chain(timestamps).collect()
}

fn authority(kind: &'static str, place: String, valid: Option<TimeRange>) -> Authority {
    let from = valid.map(|range| range.start.to_string());
    let until = valid.and_then(|range| range.end).map(|end| end.to_string());
    Authority { kind, place, from, until }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trust::sigstore::Replaced;
    use mcpkg_base::hex;

    /// If this test fails, the crate contains another root. Then set `DATED` to the release date of the crate, and
    /// replace the hash below.
    #[test]
    fn the_embedded_root_has_the_stated_date() {
        let embedded = described(&Root::Embedded).expect("a root");
        assert_eq!(embedded.dated, Some(DATED));
        assert_eq!(hex::encode(&embedded.sha256), "6494e21ea73fa7ee769f85f57d5a3e6a08725eae1e38c755fc3517c9e6bc0b66");
        for kind in ["certificates", "log of signatures", "log of certificates", "timestamps"] {
            assert!(embedded.authorities.iter().any(|one| one.kind == kind && one.from.is_some()), "{kind}");
        }
    }

    #[test]
    fn a_root_without_authorities_is_refused() {
        for text in
            ["", "{}", "[]", r#"{"mediaType":"x"}"#, r#"{"mediaType":"x","tlogs":[],"certificateAuthorities":[]}"#]
        {
            let root = Root::Replaced(Arc::new(Replaced { text: text.to_owned(), since: 0 }));
            assert_eq!(described(&root).expect_err(text).code(), Code::InvalidArgument);
        }
        assert!(described(&Root::Unreadable).is_err());
    }
}
