//! Tests bundles made with Sigstore's public instances, against the embedded root and the root of the staging instance.

use std::sync::Arc;

use mcpkg_registry::trust::Status;
use mcpkg_registry::trust::bundle::Bundle;
use mcpkg_registry::trust::sigstore::{Replaced, Root};
use mcpkg_registry::trust::statement::{About, Assertion};
use serde_json::{Value, json};

use super::authority::Authority;
use super::{refused, signer, subject, weigh};

const NPM: &str = include_str!("../../fixtures/sigstore/npm-provenance.json");
const CONDA: &str = include_str!("../../fixtures/sigstore/conda.json");
const CONDA_2: &str = include_str!("../../fixtures/sigstore/conda-rekor2.json");
const STAGING: &str = include_str!("../../fixtures/sigstore/staging-root.json");
const OTHER_NAME: &str = include_str!("../../fixtures/sigstore/other-name.json");

/// The publisher of the npm package.
const RELEASE: &str = "github-workflow:sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main";

fn read(text: &str) -> Bundle {
    Bundle::read(text, &Root::Embedded)
}

/// Returns the root of the staging instance.
fn staging() -> Root {
    Root::Replaced(Arc::new(Replaced { text: STAGING.to_owned(), since: 0 }))
}

#[test]
fn the_signer_is_read_from_the_certificate() {
    for (text, expected) in [
        (NPM, RELEASE),
        (CONDA, "github-workflow:prefix-dev/sigstore-example/.github/workflows/action.yaml@refs/heads/main"),
    ] {
        assert_eq!(signer(&read(text)), expected);
        assert!(refused(&Bundle::read(text, &staging())).starts_with("the bundle does not verify"));
    }
    assert_eq!(signer(&Bundle::read(CONDA_2, &staging())), "github:jku@goto.fi");
    assert!(refused(&read(CONDA_2)).starts_with("the bundle does not verify"));
    assert_eq!(refused(&read(OTHER_NAME)), "the bundle signs only the digest of a file, not a statement");
}

#[test]
fn x1_the_provenance_of_an_npm_package_does_not_cover_a_tool() {
    let bundle = read(NPM);
    let statement = bundle.statement.as_ref().expect("a statement");
    assert_eq!((statement.assertion(), statement.about(&subject())), (Assertion::Made, About::OtherTool));
    let verdict = weigh(&bundle, RELEASE);
    assert_eq!(verdict.status, Status::Unverified);
    let [counted] = &verdict.attestations[..] else { panic!("{verdict:?}") };
    assert_eq!(counted.identity.as_ref().map(|identity| identity.as_str()), Some(RELEASE));
    assert_eq!(counted.why, "the statement is about a different tool or version");
    // The statement in conda's bundle has a type that does not count for tools.
    let verdict = weigh(&Bundle::read(CONDA_2, &staging()), "github:jku@goto.fi");
    assert_eq!(verdict.status, Status::Unverified);
    assert!(verdict.attestations[0].why.contains("predicate has the unsupported type"), "{verdict:?}");
}

#[test]
fn another_root_trusts_none_of_them() {
    let authority = Authority::new();
    for text in [NPM, CONDA, CONDA_2] {
        assert!(refused(&Bundle::read(text, &authority.root())).starts_with("the bundle does not verify"));
        assert!(refused(&Bundle::read(text, &Root::Unreadable)).contains("cannot be read"));
    }
}

/// Changes or removes a part of a signed bundle. After that, nobody counts as its signer.
#[test]
fn a_changed_bundle_has_no_signer() {
    let entry = "/verificationMaterial/tlogEntries/0";
    let other: Value = serde_json::from_str(CONDA_2).expect("JSON");
    for (path, value) in [
        ("/dsseEnvelope/payload".to_owned(), other["dsseEnvelope"]["payload"].clone()),
        ("/dsseEnvelope/payloadType".to_owned(), json!("application/json")),
        ("/dsseEnvelope/signatures/0/sig".to_owned(), other["dsseEnvelope"]["signatures"][0]["sig"].clone()),
        ("/dsseEnvelope/signatures".to_owned(), json!([])),
        ("/verificationMaterial/certificate".to_owned(), other["verificationMaterial"]["certificate"].clone()),
        ("/verificationMaterial/tlogEntries".to_owned(), json!([])),
        ("/verificationMaterial/tlogEntries".to_owned(), other["verificationMaterial"]["tlogEntries"].clone()),
        (format!("{entry}/integratedTime"), json!("1756728900")),
        (format!("{entry}/logIndex"), json!("1")),
        (format!("{entry}/inclusionProof/logIndex"), json!("1")),
        (format!("{entry}/inclusionProof/treeSize"), json!("1")),
        (format!("{entry}/inclusionProof/hashes"), json!([])),
        (format!("{entry}/inclusionProof/rootHash"), json!("AAAA")),
        (
            format!("{entry}/inclusionProof/checkpoint"),
            other["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]["checkpoint"].clone(),
        ),
        (format!("{entry}/inclusionPromise/signedEntryTimestamp"), json!("AAAA")),
        (
            format!("{entry}/canonicalizedBody"),
            other["verificationMaterial"]["tlogEntries"][0]["canonicalizedBody"].clone(),
        ),
        (format!("{entry}/kindVersion/version"), json!("0.0.2")),
        ("/mediaType".to_owned(), json!("application/vnd.dev.sigstore.bundle.v0.4+json")),
    ] {
        let mut bundle: Value = serde_json::from_str(CONDA).expect("JSON");
        let place = bundle.pointer_mut(&path).unwrap_or_else(|| panic!("no {path}"));
        assert_ne!(*place, value, "{path}");
        *place = value;
        let bundle = read(&bundle.to_string());
        assert!(bundle.signers.iter().all(Result::is_err), "{path}: {bundle:?}");
    }
    // Remove the proof, and then the promise, which is the only source of the time.
    for part in ["inclusionProof", "inclusionPromise"] {
        let mut bundle: Value = serde_json::from_str(CONDA).expect("JSON");
        let entry = bundle.pointer_mut(entry).and_then(Value::as_object_mut).expect("an entry");
        assert!(entry.remove(part).is_some());
        assert!(read(&bundle.to_string()).signers.iter().all(Result::is_err), "{part}");
    }
}
