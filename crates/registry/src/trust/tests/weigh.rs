//! Tests which attestations count, and which do not.

use ed25519_dalek::SigningKey;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::trust::bundle::Bundle;
use crate::trust::sigstore::Root;
use crate::trust::statement::{self, Audit, Outcome, PROVENANCE, Says};
use crate::trust::{Form, Identity, Part, Policy, Rules, Status, Subject, Verdict, dsse, ssh};
use mcpkg_base::sha256;
use mcpkg_store::tools::trust::{TrustedPart, TrustedRow};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn identity(seed: u8) -> Identity {
    Identity::of(&key(seed).verifying_key())
}

fn subject() -> Subject {
    Subject { name: "alice/weather".to_owned(), version: "1.0.0".to_owned(), sha256: [0xab; 32] }
}

fn trusted(seed: u8, pattern: &str, part: TrustedPart) -> TrustedRow {
    let identity = identity(seed).as_str().to_owned();
    TrustedRow { identity, label: None, pattern: pattern.to_owned(), part, added_at: 0 }
}

fn made() -> String {
    statement::write(&subject(), None, &Says::Made, None, 0)
}

fn audited(outcome: Outcome) -> String {
    let audit = Audit { outcome, notes: None, severity: None, category: None };
    statement::write(&subject(), None, &Says::Audited(audit), None, 0)
}

fn signed(statement: &str, seed: u8) -> String {
    dsse::sign(statement.as_bytes(), &key(seed)).expect("signed")
}

fn signed_by_ssh(statement: &str, seed: u8) -> String {
    use ssh_key::private::Ed25519Keypair;
    use ssh_key::{HashAlg, LineEnding, PrivateKey};
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]));
    let signature = key.sign(ssh::NAMESPACE, HashAlg::Sha512, statement.as_bytes()).expect("signed");
    ssh::bundle(statement.as_bytes(), &signature.to_pem(LineEnding::LF).expect("a text"))
}

fn weigh_of(subject: &Subject, texts: &[String], trusted: Vec<TrustedRow>, minimum: u32) -> Verdict {
    let bundles: Vec<([u8; 32], Bundle)> =
        texts.iter().map(|text| (sha256::of(text.as_bytes()), Bundle::read(text, &Root::Embedded))).collect();
    let rules = Rules { trusted, withdrawn: Vec::new(), policy: Policy::default(), minimum, root: Root::Embedded };
    rules.weigh(subject, bundles.iter().map(|(sha256, bundle)| (*sha256, bundle)))
}

fn weigh(texts: &[String], trusted: Vec<TrustedRow>) -> Verdict {
    weigh_of(&subject(), texts, trusted, 1)
}

#[track_caller]
fn assert_not_counted(text: String, why: &str) {
    let verdict = weigh(&[text], vec![trusted(1, "*", TrustedPart::Both)]);
    assert_eq!(verdict.status, Status::Unverified);
    assert!(verdict.identities.is_empty());
    assert!(verdict.attestations.iter().all(|one| !one.counted));
    assert_eq!(verdict.attestations[0].why, why);
}

#[test]
fn an_attestation_of_this_archive_by_a_trusted_identity_counts() {
    let mut provenance: Value = serde_json::from_str(&made()).expect("a statement");
    provenance["predicateType"] = json!(PROVENANCE);
    for (text, part) in [
        (signed(&made(), 1), Part::Publisher),
        (signed_by_ssh(&made(), 1), Part::Publisher),
        (signed(&provenance.to_string(), 1), Part::Publisher),
        (signed(&audited(Outcome::Passed), 1), Part::Auditor),
        (signed(&audited(Outcome::PassedWithWarnings), 1), Part::Auditor),
    ] {
        let verdict = weigh(&[text], vec![trusted(1, "alice/*", TrustedPart::Both)]);
        assert_eq!(verdict.status, Status::Verified);
        assert_eq!(verdict.identities, [identity(1)]);
        assert_eq!(verdict.publishers.is_empty(), part == Part::Auditor);
        assert_eq!(verdict.attestations[0].part, Some(part));
    }
}

#[test]
fn no_identity_is_trusted_by_default() {
    let verdict = weigh(&[signed(&made(), 1)], Vec::new());
    assert_eq!(verdict.status, Status::Unverified);
    assert_eq!(verdict.attestations[0].identity, Some(identity(1)));
    assert_eq!(verdict.attestations[0].why, "you do not trust the signer");
    assert_eq!(weigh(&[], vec![trusted(1, "*", TrustedPart::Both)]).status, Status::Unverified);
}

#[test]
fn x1_an_attestation_of_anything_else_does_not_count() {
    let text = |name: &str, version: &str, sha256: [u8; 32]| {
        let subject = Subject { name: name.to_owned(), version: version.to_owned(), sha256 };
        signed(&statement::write(&subject, None, &Says::Made, None, 0), 1)
    };
    assert_not_counted(text("alice/other", "1.0.0", [0xab; 32]), "the statement is about a different tool or version");
    assert_not_counted(
        text("alice/weather", "1.0.1", [0xab; 32]),
        "the statement is about a different tool or version",
    );
    // A statement about a different archive does not count if a stranger signed it.
    let other = text("alice/weather", "1.0.0", [0xcd; 32]);
    let verdict = weigh(std::slice::from_ref(&other), vec![trusted(2, "*", TrustedPart::Both)]);
    assert_eq!(verdict.attestations[0].why, "the statement is about a different archive of this version");
    // If a trusted identity signed such a statement, the archive was replaced, so this archive is refused.
    let verdict = weigh(&[other, signed(&made(), 1)], vec![trusted(1, "*", TrustedPart::Both)]);
    assert_eq!(verdict.status, Status::Refused);
}

#[test]
fn x2_a_statement_about_the_hash_of_a_text_does_not_cover_an_archive() {
    let sha256 = sha256::of(subject().digest().as_bytes());
    let of_text = statement::write(&Subject { sha256, ..subject() }, None, &Says::Made, None, 0);
    assert_not_counted(signed(&of_text, 1), "the signature covers the hash of a text, not an archive");
}

/// Covers builds that cannot check Sigstore bundles. For other builds, tests/tools/sigstore covers the same case.
#[cfg(not(feature = "sigstore"))]
#[test]
fn x2_a_sigstore_bundle_about_the_hash_of_a_text_is_reported_without_a_check() {
    let sha256 = sha256::of(subject().digest().as_bytes());
    let of_text = statement::write(&Subject { sha256, ..subject() }, None, &Says::Made, None, 0);
    let sigstore = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {},
        "dsseEnvelope": serde_json::from_str::<Value>(&signed(&of_text, 1)).expect("an envelope"),
    });
    assert_not_counted(
        sigstore.to_string(),
        "the attestation is a Sigstore bundle, which this mcpkg cannot check (E_TRUST_UNSUPPORTED); the signature covers the hash of a \
            text, not an archive",
    );
}

#[cfg(not(feature = "sigstore"))]
#[test]
fn a_bundle_of_sigstore_is_recognised_and_never_counts() {
    let sigstore = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {},
        "dsseEnvelope": serde_json::from_str::<Value>(&signed(&made(), 1)).expect("an envelope"),
    });
    let verdict = weigh(&[sigstore.to_string()], vec![trusted(1, "*", TrustedPart::Both)]);
    assert_eq!((verdict.status, verdict.attestations[0].form), (Status::Unverified, Form::Sigstore));
    assert!(verdict.attestations[0].why.contains("E_TRUST_UNSUPPORTED"));
}

#[test]
fn x6_an_invalid_attestation_does_not_count() {
    let with = |change: fn(&mut Value)| {
        let mut statement: Value = serde_json::from_str(&made()).expect("a statement");
        change(&mut statement);
        signed(&statement.to_string(), 1)
    };
    let wrong = [
        String::new(),
        "{}".to_owned(),
        "\u{0}".to_owned(),
        signed("not JSON", 1),
        signed("", 1),
        with(|statement| statement["_type"] = json!("other")),
        with(|statement| statement["predicateType"] = json!("https://example.com/other")),
        with(|statement| statement["predicate"]["tool"]["name"] = json!("alice/other")),
        with(|statement| statement["predicate"]["tool"]["version"] = json!("2.0.0")),
        with(|statement| statement["predicate"]["tool"] = json!({})),
        with(|statement| statement["subject"] = json!([])),
        with(|statement| statement["subject"] = json!({})),
        signed(&audited(Outcome::Passed).replace("\"passed\"", "\"Passed\""), 1),
        signed(&audited(Outcome::Passed).replace("\"passed\"", "\"ok\""), 1),
    ];
    for text in &wrong {
        let verdict = weigh(std::slice::from_ref(text), vec![trusted(1, "*", TrustedPart::Both)]);
        assert_eq!(verdict.status, Status::Unverified, "{text}");
        assert!(verdict.attestations.iter().all(|one| !one.counted && !one.why.is_empty()), "{text}");
    }
    // A valid attestation next to the invalid ones still counts.
    let all: Vec<String> = wrong.into_iter().chain([signed(&made(), 1)]).collect();
    assert_eq!(weigh(&all, vec![trusted(1, "*", TrustedPart::Both)]).status, Status::Verified);
}

#[test]
fn x7_a_failed_audit_by_a_trusted_auditor_is_a_veto() {
    let texts = [signed(&made(), 1), signed(&audited(Outcome::Passed), 3), signed(&audited(Outcome::Failed), 2)];
    let everybody =
        |part| vec![trusted(1, "*", TrustedPart::Both), trusted(3, "*", TrustedPart::Both), trusted(2, "*", part)];
    let verdict = weigh(&texts, everybody(TrustedPart::Auditor));
    assert_eq!(verdict.status, Status::Refused);
    assert!(verdict.attestations[2].refuses && !verdict.attestations[2].counted);
    assert_eq!(verdict.attestations[2].why, "an auditor you trust reports a failed audit");
    // An auditor who is trusted only as a publisher, only for other tools, or not at all can neither veto nor
    // vouch.
    for others in [
        everybody(TrustedPart::Publisher),
        vec![trusted(1, "*", TrustedPart::Both), trusted(2, "bob/*", TrustedPart::Both)],
        vec![trusted(1, "*", TrustedPart::Both)],
    ] {
        let verdict = weigh(&texts, others);
        assert_eq!(verdict.status, Status::Verified);
        assert!(!verdict.attestations[2].counted);
    }
    // A failed audit remains a veto even if the rest of the predicate is wrong.
    let odd = audited(Outcome::Failed).replacen("\"tool\":{\"name\":\"alice/weather\"", "\"tool\":{\"name\":\"x\"", 1);
    assert_eq!(weigh(&[signed(&odd, 2)], everybody(TrustedPart::Auditor)).status, Status::Refused);
}

#[test]
fn trust_can_be_limited_to_tools_and_to_a_role() {
    for (pattern, part, statement, why) in [
        ("alice/*", TrustedPart::Publisher, made(), None),
        ("alice/*", TrustedPart::Auditor, made(), Some("you trust the signer, but not as a publisher")),
        ("alice/*", TrustedPart::Auditor, audited(Outcome::Passed), None),
        ("*", TrustedPart::Publisher, audited(Outcome::Passed), Some("you trust the signer, but not as an auditor")),
        ("bob/*", TrustedPart::Both, made(), Some("you trust the signer, but not for this tool")),
        ("alice/weather", TrustedPart::Both, made(), None),
        ("alice/weathe", TrustedPart::Both, made(), Some("you trust the signer, but not for this tool")),
    ] {
        let verdict = weigh(&[signed(&statement, 1)], vec![trusted(1, pattern, part)]);
        assert_eq!(verdict.status == Status::Verified, why.is_none(), "{pattern}");
        if let Some(why) = why {
            assert_eq!(verdict.attestations[0].why, why);
        }
    }
}

#[test]
fn x10_one_auditor_counts_once_and_so_does_one_key_in_two_forms() {
    let audits = [signed(&audited(Outcome::Passed), 1), signed(&audited(Outcome::PassedWithWarnings), 1)];
    let both = || vec![trusted(1, "*", TrustedPart::Both), trusted(2, "*", TrustedPart::Both)];
    assert_eq!(weigh_of(&subject(), &audits, both(), 2).status, Status::Unverified);
    let forms = [signed(&made(), 1), signed_by_ssh(&made(), 1), signed(&audited(Outcome::Passed), 1)];
    let verdict = weigh_of(&subject(), &forms, both(), 2);
    assert_eq!((verdict.status, verdict.identities), (Status::Unverified, vec![identity(1)]));
    let two = [signed(&made(), 1), signed_by_ssh(&audited(Outcome::Passed), 2)];
    let verdict = weigh_of(&subject(), &two, both(), 2);
    assert_eq!((verdict.status, verdict.identities.len()), (Status::Verified, 2));
    assert_eq!(weigh_of(&subject(), &two, both(), 3).status, Status::Unverified);
}

#[test]
fn x11_a_minimum_of_zero_counts_as_one() {
    assert_eq!(weigh_of(&subject(), &[], vec![trusted(1, "*", TrustedPart::Both)], 0).status, Status::Unverified);
}

#[test]
fn x15_signatures_of_both_formats_are_in_one_list() {
    let texts = [signed(&made(), 1), signed_by_ssh(&made(), 2), "{}".to_owned()];
    let verdict = weigh(&texts, vec![trusted(1, "*", TrustedPart::Both), trusted(2, "*", TrustedPart::Both)]);
    let forms: Vec<Form> = verdict.attestations.iter().map(|one| one.form).collect();
    assert_eq!(forms, [Form::Dsse, Form::Ssh, Form::Unknown]);
    assert_eq!(verdict.identities.len(), 2);
}

/// With any one bit flipped, the archive has another SHA-256.
#[test]
fn one_flipped_bit_of_the_archive_never_verifies() {
    let archive = b"the bytes of an archive".to_vec();
    let subject = |bytes: &[u8]| Subject { sha256: sha256::of(bytes), ..subject() };
    let text = signed(&statement::write(&subject(&archive), None, &Says::Made, None, 0), 1);
    let all = || vec![trusted(1, "*", TrustedPart::Both)];
    assert_eq!(weigh_of(&subject(&archive), std::slice::from_ref(&text), all(), 1).status, Status::Verified);
    for bit in 0..archive.len() * 8 {
        let mut flipped = archive.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let verdict = weigh_of(&subject(&flipped), std::slice::from_ref(&text), all(), 1);
        assert_eq!(verdict.status, Status::Refused, "bit {bit}");
    }
}

/// With any one bit flipped, an attestation of either form no longer counts.
#[test]
fn one_flipped_bit_of_an_attestation_never_verifies() {
    for text in [signed(&made(), 1), signed_by_ssh(&made(), 1)] {
        let text = text.into_bytes();
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Ok(flipped) = String::from_utf8(flipped) else { continue };
            let verdict = weigh(std::slice::from_ref(&flipped), vec![trusted(1, "*", TrustedPart::Both)]);
            assert_ne!(verdict.status, Status::Verified, "bit {bit}: {flipped}");
        }
    }
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn random_bytes_never_panic_and_never_verify(texts in prop::collection::vec("\\PC{0,200}", 0..5)) {
        let verdict = weigh(&texts, vec![trusted(1, "*", TrustedPart::Both)]);
        prop_assert_eq!(verdict.status, Status::Unverified);
    }

    #[test]
    fn random_statements_never_verify(statement in "\\PC{0,200}") {
        let verdict = weigh(&[signed(&statement, 1)], vec![trusted(1, "*", TrustedPart::Both)]);
        prop_assert_eq!(verdict.status, Status::Unverified);
    }
}
