//! Tests a build without the feature `sigstore`.

use crate::support::Scratch;

#[test]
fn keyless_signatures_are_refused_with_a_hint() {
    let scratch = Scratch::new();
    scratch.file("trusted_root.json", "{}");
    for arguments in [
        &["tool", "trust", "root"][..],
        &["tool", "trust", "root", "trusted_root.json"],
        &["tool", "trust", "root", "--default"],
        &["tool", "trust", "add", "github:alice"],
        &["tool", "trust", "add", "github-workflow:alice/kit/ci.yml@refs/heads/main"],
    ] {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        assert!(ran.stdout.contains("E_TRUST_UNSUPPORTED"), "{arguments:?}\n{ran}");
        assert!(ran.stdout.contains("cargo install --path . --features full"), "{arguments:?}\n{ran}");
    }
    let doctor = scratch.ok(&["tool", "doctor"]);
    assert!(doctor.contains("built without the feature `sigstore`"), "{doctor}");
}
