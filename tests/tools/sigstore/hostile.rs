//! Tests tampered and random bundles. None of them verifies, and none causes a panic.

use mcpkg_registry::trust::Status;
use mcpkg_registry::trust::bundle::Bundle;
use mcpkg_registry::trust::sigstore::Root;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::authority::{Authority, Order};
use super::{made, weigh};

use crate::support::config;

/// Parts that no signature covers: the names of fields that have defaults, the name of the log in its note, and the end
/// of the note. Flipping a bit there changes nothing that is checked.
const UNSIGNED: [&str; 6] =
    [r#""mediaType""#, r#""logIndex""#, r#""treeSize""#, r#""hashes""#, "log.example.com ", r#"\n"}"#];

#[test]
fn one_flipped_bit_of_a_bundle_never_verifies() {
    let authority = Authority::new();
    let (root, made) = (authority.root(), made());
    let text = authority.bundle(&Order::by_alice(&made)).to_string();
    let is_unsigned = |at: usize| {
        UNSIGNED.iter().any(|part| text.match_indices(part).any(|(from, part)| (from..from + part.len()).contains(&at)))
    };
    assert_eq!(weigh(&Bundle::read(&text, &root), "github:alice").status, Status::Verified);
    for bit in (0..text.len() * 8).filter(|bit| !is_unsigned(bit / 8)) {
        let mut flipped = text.clone().into_bytes();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(flipped) = String::from_utf8(flipped) else { continue };
        let status = weigh(&Bundle::read(&flipped, &root), "github:alice").status;
        assert_ne!(status, Status::Verified, "bit {bit}: {flipped}");
    }
}

/// Collects the paths of all texts in a bundle.
fn texts(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| texts(item, &format!("{path}/{at}"), found));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, field)| texts(field, &format!("{path}/{name}"), found)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn random_values_in_a_bundle_never_panic_and_never_verify(
        at in 0..1_000_usize,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        raw in any::<bool>(),
    ) {
        use base64::Engine as _;
        let authority = Authority::new();
        let made = made();
        let mut bundle = authority.bundle(&Order::by_alice(&made));
        let mut paths = Vec::new();
        texts(&bundle, "", &mut paths);
        let path = &paths[at % paths.len()];
        *bundle.pointer_mut(path).expect("a text") = match raw {
            true => json!(String::from_utf8_lossy(&bytes)),
            false => json!(base64::engine::general_purpose::STANDARD.encode(&bytes)),
        };
        let read = authority.read(&bundle);
        prop_assert!(weigh(&read, "github:alice").status != Status::Verified, "{}", path);
    }

    #[test]
    fn random_texts_that_begin_as_a_bundle_never_panic_and_never_verify(text in "\\PC{0,300}") {
        for root in [Root::Embedded, Root::Unreadable] {
            let begun = format!(r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{text}"#);
            prop_assert!(Bundle::read(&begun, &root).signers.iter().all(Result::is_err));
            let whole = json!({ "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": { "certificate": { "rawBytes": text } }, "dsseEnvelope": text });
            prop_assert!(Bundle::read(&whole.to_string(), &root).signers.iter().all(Result::is_err));
        }
    }
}
