//! Tests of keyless Sigstore bundles, from the public instance and from our own instance.

mod authority;
mod hostile;
mod private;
mod public;

use mcpkg_registry::trust::bundle::Bundle;
use mcpkg_registry::trust::policy::Policy;
use mcpkg_registry::trust::sigstore::Root;
use mcpkg_registry::trust::statement::{self, Says};
use mcpkg_registry::trust::{Rules, Subject, Verdict};
use mcpkg_store::tools::trust::{TrustedPart, TrustedRow};

/// Returns the name, version and digest of the archive that these tests use.
fn subject() -> Subject {
    Subject { name: "alice/weather".to_owned(), version: "1.0.0".to_owned(), sha256: [0xab; 32] }
}

/// Returns the publisher's statement about the archive.
fn made() -> String {
    statement::write(&subject(), None, &Says::Made, None, 0)
}

/// Returns the verdict on the archive with this bundle, when `trusted` is the only trusted identity, for all tools.
fn weigh(bundle: &Bundle, trusted: &str) -> Verdict {
    let row = TrustedRow {
        identity: trusted.to_owned(),
        label: None,
        pattern: "*".to_owned(),
        part: TrustedPart::Both,
        added_at: 0,
    };
    let rules = Rules {
        trusted: vec![row],
        withdrawn: Vec::new(),
        policy: Policy::default(),
        minimum: 1,
        root: Root::Embedded,
    };
    rules.weigh(&subject(), [([0; 32], bundle)])
}

/// Returns the signer of a bundle. Fails unless the bundle has exactly one, and it is valid.
#[track_caller]
fn signer(bundle: &Bundle) -> &str {
    match &bundle.signers[..] {
        [Ok(identity)] => identity.as_str(),
        other => panic!("{other:?}"),
    }
}

/// Returns the reason why the only signer of a bundle is not valid.
#[track_caller]
fn refused(bundle: &Bundle) -> &str {
    match &bundle.signers[..] {
        [Err(why)] => why,
        other => panic!("{other:?}"),
    }
}
