//! Reads an attestation in any supported format, and returns its statement and signers.

use serde_json::Value;

use super::identity::Identity;
use super::sigstore::{self, Root};
use super::statement::{self, Statement};
use super::verdict::Form;
use super::{dsse, ssh, unique_keys};

/// The maximum size of an attestation in bytes.
pub const LONGEST: usize = 1 << 20;

/// The maximum length in characters of the reason why an attestation does not count. It is limited because the reason
/// may quote text from the author.
const LONGEST_WHY: usize = 300;

/// A parsed attestation.
#[derive(Debug)]
pub struct Bundle {
    pub form: Form,
    /// The statement, or why it is invalid.
    pub statement: Result<Statement, String>,
    /// The signer of each signature, or why the signature is invalid; there is at least one entry.
    pub signers: Vec<Result<Identity, String>>,
}

impl Bundle {
    /// Reads an attestation and checks its signatures; Sigstore bundles are checked against `root`. On an error,
    /// the reason replaces the signer.
    pub fn read(text: &str, root: &Root) -> Self {
        let mut bundle = Self::read_whole(text, root);
        if bundle.form != Form::Unknown
            && let Err(why) = unique_keys::check(text.as_bytes())
        {
            bundle = Self::unreadable(bundle.form, why);
        }
        bundle.statement = bundle.statement.map_err(shortened);
        bundle.signers = bundle.signers.into_iter().map(|signer| signer.map_err(shortened)).collect();
        bundle
    }

    fn read_whole(text: &str, root: &Root) -> Self {
        if text.len() > LONGEST {
            return Self::unreadable(Form::Unknown, format!("the attestation is larger than {} KiB", LONGEST >> 10));
        }
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                return Self::unreadable(Form::Unknown, format!("the attestation is not valid JSON: {error}"));
            }
        };
        let media_type = value["mediaType"].as_str().unwrap_or_default();
        if media_type.starts_with("application/vnd.dev.sigstore.bundle") || value["verificationMaterial"].is_object() {
            return Self::of_sigstore(text, root);
        }
        if media_type == ssh::MEDIA_TYPE {
            return match ssh::read(text) {
                Ok(signed) => Self::signed(Form::Ssh, &signed.payload, vec![signed.signer]),
                Err(why) => Self::unreadable(Form::Ssh, why),
            };
        }
        if value["payloadType"].is_string() {
            return match dsse::read(text) {
                Ok(envelope) => Self::signed(Form::Dsse, &envelope.payload, envelope.signers),
                Err(why) => Self::unreadable(Form::Dsse, why),
            };
        }
        Self::unreadable(Form::Unknown, "the format of the attestation is unknown".to_owned())
    }

    fn signed(form: Form, payload: &[u8], signers: Vec<Result<Identity, String>>) -> Self {
        Self { form, statement: statement::read(payload), signers }
    }

    fn unreadable(form: Form, why: String) -> Self {
        Self { form, statement: Err(why.clone()), signers: vec![Err(why)] }
    }

    fn of_sigstore(text: &str, root: &Root) -> Self {
        let held = sigstore::read(text, root);
        let statement = held.payload.and_then(|payload| statement::read(&payload));
        Self { form: Form::Sigstore, statement, signers: vec![held.signer.map(Identity::of_sigstore)] }
    }
}

fn shortened(why: String) -> String {
    match why.char_indices().nth(LONGEST_WHY) {
        Some((end, _)) => format!("{}...", &why[..end]),
        None => why,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn x15_each_form_is_known_by_itself() {
        let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        for (text, form) in [
            (dsse::sign(b"{}", &key).expect("signed"), Form::Dsse),
            (ssh::bundle(b"{}", "none"), Form::Ssh),
            (json!({ "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json" }).to_string(), Form::Sigstore),
            (json!({ "verificationMaterial": {}, "dsseEnvelope": {} }).to_string(), Form::Sigstore),
            ("{}".to_owned(), Form::Unknown),
            ("[]".to_owned(), Form::Unknown),
            ("not JSON".to_owned(), Form::Unknown),
            (" ".repeat(LONGEST + 1), Form::Unknown),
        ] {
            let bundle = Bundle::read(&text, &Root::Embedded);
            assert_eq!(bundle.form, form);
            assert_eq!(bundle.signers.len(), 1);
            assert_eq!(bundle.signers[0].is_ok(), form == Form::Dsse);
        }
    }

    #[test]
    fn a_bundle_with_a_key_twice_counts_for_nobody() {
        let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let text = dsse::sign(b"{}", &key).expect("signed");
        for twice in
            [text.replacen('{', "{\"payload\":\"e30=\",", 1), text.replacen('{', "{\"other\":{\"a\":1,\"a\":2},", 1)]
        {
            let bundle = Bundle::read(&twice, &Root::Embedded);
            assert!(bundle.form == Form::Dsse && bundle.signers.iter().all(Result::is_err), "{twice} {bundle:?}");
        }
    }

    #[test]
    fn what_a_stranger_wrote_is_quoted_in_part() {
        let text = json!({ "payloadType": "x".repeat(5_000), "payload": "", "signatures": [] }).to_string();
        let bundle = Bundle::read(&text, &Root::Embedded);
        assert!(bundle.signers[0].as_ref().is_err_and(|why| why.len() < 400 && why.ends_with("...")));
        assert!(bundle.statement.is_err_and(|why| why.len() < 400));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_never_panic_and_never_verify(text in "\\PC{0,300}", deep in 0..5_000_usize) {
            prop_assert!(Bundle::read(&text, &Root::Embedded).signers.iter().all(Result::is_err));
            prop_assert!(Bundle::read(&"[".repeat(deep), &Root::Embedded).signers.iter().all(Result::is_err));
        }
    }
}
