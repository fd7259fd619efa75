//! Tests bundles over our own statements, made by our own instance.

use mcpkg_registry::trust::bundle::Bundle;
use mcpkg_registry::trust::sigstore::Root;
use mcpkg_registry::trust::statement::{self, Audit, Outcome, Says};
use mcpkg_registry::trust::{Part, Status, Subject};
use serde_json::{Value, json};

use super::authority::{Authority, GITHUB, GOOGLE, LIFE, Name, Order, WORKFLOWS};
use super::{made, refused, signer, subject, weigh};
use crate::support::{Scratch, at_a_terminal, skipped};
use crate::tools::put;

const FILE: &str = "https://github.com/alice/kit/.github/workflows/release.yml@refs/heads/main";

#[test]
fn a_bundle_over_this_archive_by_somebody_trusted_counts() {
    let authority = Authority::new();
    let made = made();
    let bundle = authority.read(&authority.bundle(&Order::by_alice(&made)));
    assert_eq!(signer(&bundle), "github:alice");
    let verdict = weigh(&bundle, "github:alice");
    assert_eq!((verdict.status, verdict.attestations[0].part), (Status::Verified, Some(Part::Publisher)));
    assert_eq!(verdict.attestations[0].why, "you trust this publisher");
    for other in ["github:alicia", "github:alice@users.noreply.github.com", "google:alice@example.com", "github:*", "*"]
    {
        let verdict = weigh(&bundle, other);
        assert_eq!(verdict.status, Status::Unverified, "{other}");
        assert_eq!(verdict.attestations[0].why, "you do not trust the signer");
    }
}

#[test]
fn a_workflow_is_named_by_its_file_and_its_reference() {
    let authority = Authority::new();
    let made = made();
    let order =
        Order { names: &[Name::Uri(FILE)], issuer: WORKFLOWS, repository: Some("alice/kit"), ..Order::by_alice(&made) };
    let bundle = authority.read(&authority.bundle(&order));
    let identity = "github-workflow:alice/kit/.github/workflows/release.yml@refs/heads/main";
    assert_eq!(signer(&bundle), identity);
    assert_eq!(weigh(&bundle, identity).status, Status::Verified);
    assert_eq!(weigh(&bundle, &identity.replace("alice/kit", "Alice/KIT")).status, Status::Verified);
    assert_eq!(weigh(&bundle, &identity.replace("main", "*")).status, Status::Verified);
    for other in ["main2", "main/", "M*"] {
        let other = identity.replace("main", other);
        assert_eq!(weigh(&bundle, &other).status, Status::Unverified, "{other}");
    }
    let bundle = authority.read(&authority.bundle(&Order { repository: Some("eve/kit"), ..order }));
    assert!(refused(&bundle).contains("the repository 'eve/kit' called it"), "{bundle:?}");
    let bundle = authority.read(&authority.bundle(&Order { repository: None, ..order }));
    assert!(refused(&bundle).contains("does not name the repository"), "{bundle:?}");
}

/// Tests a release by tag: the workflow ran for the tag, and its provenance names the archive's file.
#[test]
fn provenance_of_a_release_counts_by_its_workflow_and_a_pattern_of_tags() {
    let authority = Authority::new();
    let provenance = |sha256: &str| {
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": "weather-1.0.0.tar.gz", "digest": { "sha256": sha256 } }],
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": { "buildDefinition": { "buildType": "https://actions.github.io/buildtypes/workflow/v1" } },
        })
        .to_string()
    };
    let bundle = |sha256: &str| {
        let text = provenance(sha256);
        let order = Order {
            names: &[Name::Uri("https://github.com/Alice/kit/.github/workflows/release.yml@refs/tags/v1.0.0")],
            issuer: WORKFLOWS,
            repository: Some("alice/kit"),
            ..Order::by_alice(&text)
        };
        authority.read(&authority.bundle(&order))
    };
    let (this, tags) =
        (bundle(&subject().digest()), "github-workflow:alice/kit/.github/workflows/release.yml@refs/tags/*");
    let verdict = weigh(&this, tags);
    assert_eq!(
        (verdict.status, verdict.attestations[0].part),
        (Status::Verified, Some(Part::Publisher)),
        "{verdict:?}"
    );
    assert_eq!(weigh(&this, &tags.replace("tags", "heads")).status, Status::Unverified);
    assert_eq!(weigh(&bundle(&"cd".repeat(32)), tags).status, Status::Unverified);
}

#[test]
fn a_certificate_for_several_names_counts_for_nobody() {
    let authority = Authority::new();
    let made = made();
    for names in [
        &[Name::Mail("alice@example.com"), Name::Mail("eve@example.com")][..],
        &[Name::Mail("alice@example.com"), Name::Uri("https://example.com/eve")],
        &[Name::Uri("https://example.com/eve"), Name::Mail("alice@example.com")],
    ] {
        let bundle = authority.read(&authority.bundle(&Order { names, issuer: GOOGLE, ..Order::by_alice(&made) }));
        assert_eq!(refused(&bundle), "the certificate has more than one name");
        assert_eq!(weigh(&bundle, "google:alice@example.com").status, Status::Unverified);
    }
}

#[test]
fn a_bundle_with_a_key_twice_counts_for_nobody() {
    let authority = Authority::new();
    let text = authority.bundle(&Order::by_alice(&made())).to_string();
    assert_eq!(signer(&Bundle::read(&text, &authority.root())), "github:alice");
    let twice = text.replacen("\"payload\":", "\"payload\":\"e30=\",\"payload\":", 1);
    assert!(refused(&Bundle::read(&twice, &authority.root())).contains("twice"));
}

/// Tests certificates that a regular expression over their text would accept as alice's.
#[test]
fn x8_a_certificate_that_only_looks_like_somebodys_counts_for_nobody() {
    let authority = Authority::new();
    let made = made();
    let workflow = "github-workflow:alice/kit/.github/workflows/release.yml@refs/heads/main";
    for (names, issuer, wanted) in [
        (&[Name::Uri("mailto:alice@example.com")][..], GOOGLE, "google:alice@example.com"),
        (&[Name::Uri("alice@example.com")], GOOGLE, "google:alice@example.com"),
        (&[Name::Mail("alice@example.com")], GITHUB, "google:alice@example.com"),
        (&[Name::Mail("alice@example.com.example.org")], GOOGLE, "google:alice@example.com"),
        (&[Name::Mail("alice@example.com")], "https://accounts.google.com.example.org", "google:alice@example.com"),
        (
            &[Name::Mail("alice@example.com")],
            "https://example.org/https://accounts.google.com",
            "google:alice@example.com",
        ),
        (&[Name::Mail("alice@users.noreply.github.com")], GOOGLE, "github:alice"),
        (&[Name::Mail("alice")], GITHUB, "github:alice"),
        (&[Name::Mail(FILE)], WORKFLOWS, workflow),
        (&[Name::Uri(FILE)], GITHUB, workflow),
        (
            &[Name::Uri(
                "https://github.com/eve/kit/.github/workflows/release.yml@refs/heads/main?https://github.com/alice/kit/",
            )],
            WORKFLOWS,
            workflow,
        ),
        (&[], GITHUB, "github:alice"),
    ] {
        let order = Order { names, issuer, repository: Some("alice/kit"), ..Order::by_alice(&made) };
        let verdict = weigh(&authority.read(&authority.bundle(&order)), wanted);
        assert_eq!(verdict.status, Status::Unverified, "{issuer} {wanted} {verdict:?}");
    }
}

#[test]
fn a_signature_outside_the_certificates_lifetime_does_not_count() {
    let authority = Authority::new();
    let made = made();
    let logged = |logged| {
        let order = Order { logged, ..Order::by_alice(&made) };
        authority.read(&authority.bundle(&order))
    };
    for inside in [0, 1, LIFE - 1] {
        assert_eq!(signer(&logged(inside)), "github:alice", "{inside}");
    }
    for outside in [-1, -LIFE, LIFE + 1, LIFE * 1_000, i64::from(u32::MAX)] {
        assert!(refused(&logged(outside)).starts_with("the bundle does not verify"), "{outside}");
    }
    // The certificate log has the certificate after one second. A root that trusts the log only from second 2 on does not
    // accept the bundle.
    let bundle = authority.bundle(&Order::by_alice(&made)).to_string();
    let root = |from| {
        let text = authority.root_from(from);
        Root::Replaced(std::sync::Arc::new(mcpkg_registry::trust::sigstore::Replaced { text, since: 0 }))
    };
    assert_eq!(signer(&Bundle::read(&bundle, &root(1))), "github:alice");
    assert!(refused(&Bundle::read(&bundle, &root(2))).starts_with("the bundle does not verify"));
}

#[test]
fn a_bundle_with_parts_of_another_instance_does_not_count() {
    let (authority, other) = (Authority::new(), Authority::new());
    let made = made();
    let (ours, theirs) = (authority.bundle(&Order::by_alice(&made)), other.bundle(&Order::by_alice(&made)));
    assert_eq!(signer(&authority.read(&ours)), "github:alice");
    assert!(refused(&authority.read(&theirs)).starts_with("the bundle does not verify"));
    assert!(refused(&Bundle::read(&ours.to_string(), &Root::Embedded)).starts_with("the bundle does not verify"));
    // Replace each of our parts with the one of the other instance.
    for path in [
        "/verificationMaterial/certificate",
        "/verificationMaterial/tlogEntries",
        "/verificationMaterial/tlogEntries/0/inclusionPromise",
        "/verificationMaterial/tlogEntries/0/inclusionProof",
        "/verificationMaterial/tlogEntries/0/canonicalizedBody",
        "/dsseEnvelope/signatures",
    ] {
        let mut mixed = ours.clone();
        *mixed.pointer_mut(path).expect("a part") = theirs.pointer(path).expect("a part").clone();
        assert!(authority.read(&mixed).signers.iter().all(Result::is_err), "{path}");
    }
    let unlisted = authority.bundle(&Order { is_listed: false, ..Order::by_alice(&made) });
    assert!(refused(&authority.read(&unlisted)).starts_with("the bundle does not verify"));
}

#[test]
fn x2_a_bundle_over_the_hash_of_a_text_binds_no_archive() {
    let authority = Authority::new();
    let sha256 = mcpkg_base::sha256::of(subject().digest().as_bytes());
    let of_text = statement::write(&Subject { sha256, ..subject() }, None, &Says::Made, None, 0);
    let bundle = authority.read(&authority.bundle(&Order::by_alice(&of_text)));
    assert_eq!(signer(&bundle), "github:alice");
    let verdict = weigh(&bundle, "github:alice");
    assert_eq!(verdict.status, Status::Unverified);
    assert_eq!(verdict.attestations[0].why, "the signature covers the hash of a text, not an archive");
}

#[test]
fn x7_a_failed_audit_in_a_bundle_is_a_veto() {
    let authority = Authority::new();
    let audit = |outcome| {
        let audit = Audit { outcome, notes: None, severity: None, category: None };
        let text = statement::write(&subject(), None, &Says::Audited(audit), None, 0);
        authority.read(&authority.bundle(&Order::by_alice(&text)))
    };
    assert_eq!(weigh(&audit(Outcome::Failed), "github:alice").status, Status::Refused);
    assert_eq!(weigh(&audit(Outcome::Passed), "github:alice").status, Status::Verified);
    assert_eq!(weigh(&audit(Outcome::Failed), "github:bob").status, Status::Unverified);
}

/// Tests the whole procedure with the real binary: a custom root, a trusted identity, a bundle, and an install.
#[test]
fn a_user_can_set_a_custom_root_and_reset_it() {
    const TOOL: &str = "alice/weather";
    let (scratch, authority) = (Scratch::new(), Authority::new());
    let archive = put(&scratch, TOOL, "Sun");
    let subject = Subject { name: TOOL.to_owned(), version: "1.0.0".to_owned(), sha256: archive };
    let says = scratch.ok(&["tool", "sign", TOOL, "--print"]);
    let statement = statement::read(says.trim_end().as_bytes()).expect("a statement");
    assert_eq!(statement.about(&subject), mcpkg_registry::trust::statement::About::This);
    scratch.file("weather.sigstore.json", authority.bundle(&Order::by_alice(says.trim_end())).to_string());
    scratch.file("trusted_root.json", authority.root_text());

    let root = scratch.json(&["tool", "trust", "root"]);
    assert_eq!((&root["root"], &root["dated"]), (&json!("embedded"), &json!("2026-10-23")), "{root}");
    for arguments in [&["trusted_root.json"][..], &["trusted_root.json", "--yes"]] {
        let ran = scratch.run(&[&["--json", "tool", "trust", "root"], arguments].concat());
        assert!(ran.stdout.contains("E_TERMINAL_REQUIRED"), "{ran}");
    }
    scratch.file("other.json", "{}");
    let ran = scratch.run(&["tool", "trust", "root", "other.json"]);
    assert!(ran.status == 2 && ran.stderr.contains("Invalid Sigstore root"), "{ran}");
    let with = ["tool", "sign", TOOL, "--with", "weather.sigstore.json"];
    let ran = scratch.run(&with);
    assert!(
        ran.status == 1 && ran.stderr.contains("Did not store `weather.sigstore.json`: the bundle does not verify"),
        "{ran}"
    );

    let at_terminal = |arguments: &[&str], typed: &str| at_a_terminal(scratch.command().args(arguments), typed);
    let replace = ["tool", "trust", "root", "trusted_root.json"];
    let Some((shown, done)) = at_terminal(&replace, "n\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(!done && shown.contains("https://certificates.example.com"), "{shown}");
    assert_eq!(scratch.json(&["tool", "trust", "root"])["root"], "embedded");
    let (shown, done) = at_terminal(&replace, "y\n").expect("there is a script");
    assert!(done && shown.contains("is now the one you chose on"), "{shown}");
    let root = scratch.json(&["tool", "trust", "root"]);
    assert_eq!(
        (&root["root"], &root["dated"], root["authorities"].as_array().map(Vec::len)),
        (&json!("replaced"), &Value::Null, Some(3))
    );
    let doctor = scratch.ok(&["tool", "doctor"]);
    assert!(doctor.contains("using the Sigstore root that you set on 20"), "{doctor}");

    let signed = scratch.json(&with);
    assert_eq!((&signed["identity"], &signed["kind"]), (&json!("github:alice"), &json!("sigstore")), "{signed}");
    let verified = || {
        let ran = scratch.run(&["--json", "tool", "verify", TOOL]);
        let says: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
        (says["status"].as_str().unwrap_or_default().to_owned(), says["attestations"][0]["why"].to_string())
    };
    assert_eq!(verified(), ("unverified".to_owned(), "\"you do not trust the signer\"".to_owned()));
    let add = ["tool", "trust", "add", "github:Alice", "--for", "alice/*", "--kind", "publisher"];
    let (shown, done) = at_terminal(&add, "y\n").expect("there is a script");
    assert!(done && shown.contains("github:alice"), "{shown}");
    assert_eq!(verified().0, "verified");
    assert_eq!(scratch.json(&["tool", "trust", "check", "github:alice", TOOL])["publisher"], true);
    scratch.ok(&["tool", "install", TOOL]);

    let (shown, done) = at_terminal(&["tool", "trust", "root", "--default"], "y\n").expect("there is a script");
    assert!(done && shown.contains("is now the one embedded in this mcpkg, dated 2026-10-23"), "{shown}");
    let (status, why) = verified();
    assert!(status == "unverified" && why.contains("the bundle does not verify"), "{status} {why}");
    let ran = scratch.run(&["--json", "tool", "run", TOOL]);
    assert!(
        ran.stdout.contains("E_CONSENT_REQUIRED")
            || ran.stdout.contains("E_TRUST_REQUIRED")
            || ran.stdout.contains("E_CONFIRM_REQUIRED"),
        "{ran}"
    );
    scratch.ok(&["tool", "trust", "remove", "github:alice"]);
}

#[test]
fn a_damaged_root_is_not_replaced_by_the_embedded_one() {
    let scratch = Scratch::new();
    let approved = scratch.context().approved;
    Root::replace(&approved, &Authority::new().root_text(), 0).expect("kept");
    let folder = approved.folder().expect("a home").join("sigstore-root");
    let record = std::fs::read_dir(&folder).expect("a folder").next().expect("a record").expect("an entry").path();
    std::fs::write(&record, "{").expect("damaged");
    let ran = scratch.run(&["tool", "trust", "root"]);
    assert!(ran.status != 0 && ran.stderr.contains("cannot be read"), "{ran}");
    let doctor = scratch.ok(&["tool", "doctor"]);
    assert!(doctor.contains("Sigstore bundles cannot be verified"), "{doctor}");
}
