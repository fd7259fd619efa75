//! The identities of signers.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ed25519_dalek::VerifyingKey;
use ssh_key::public::{Ed25519PublicKey, KeyData};
use ssh_key::{HashAlg, PublicKey};

use super::sigstore;
use mcpkg_base::error::{Code, Error, Result};

/// The prefix of the identity of an ed25519 key.
const ED25519: &str = "ed25519:";

/// The identity of a signer. A key has the identity `ed25519:SHA256:FINGERPRINT`, with the fingerprint that
/// `ssh-keygen -l` prints. A Sigstore certificate has a name such as `github:alice`.
///
/// A key has the same identity in every form of signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(String);

impl Identity {
    pub fn of(key: &VerifyingKey) -> Self {
        let data = KeyData::Ed25519(Ed25519PublicKey(key.to_bytes()));
        Self(format!("{ED25519}{}", data.fingerprint(HashAlg::Sha256)))
    }

    pub(super) fn of_sigstore(name: String) -> Self {
        Self(name)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the fingerprint of the key, such as `SHA256:47DEQpj8...`, which is also the keyid in envelopes. For a
    /// Sigstore identity, returns the whole identity.
    pub fn fingerprint(&self) -> &str {
        self.0.strip_prefix(ED25519).unwrap_or(&self.0)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Identity {
    type Err = Error;

    /// Parses `ed25519:SHA256:FINGERPRINT`, with or without `ed25519:`, or a name from Sigstore such as
    /// `github:alice`.
    ///
    /// # Errors
    /// `E_TRUST_UNSUPPORTED` for a Sigstore identity if this mcpkg cannot check Sigstore bundles;
    /// `E_INVALID_ARGUMENT` for an invalid identity.
    fn from_str(text: &str) -> Result<Self> {
        if let Some(name) = sigstore::name(text)? {
            return Ok(Self(name));
        }
        let fingerprint = text.strip_prefix(ED25519).unwrap_or(text);
        let digest = fingerprint.strip_prefix("SHA256:").and_then(|digest| STANDARD_NO_PAD.decode(digest).ok());
        match digest {
            Some(digest) if digest.len() == 32 => Ok(Self(format!("{ED25519}{fingerprint}"))),
            _ => Err(Error::new(Code::InvalidArgument, format!("'{}' is not an identity", text.escape_debug()))
                .hint(sigstore::forms!())
                .hint("`mcpkg tool key show` and `ssh-keygen -l` print the fingerprint of a key")),
        }
    }
}

/// Parses an ed25519 key in an OpenSSH line such as `ssh-ed25519 AAAA... comment`.
///
/// # Errors
/// `E_KEY_INVALID` if the line is malformed, or contains a weak key or a key of another kind.
pub fn public_key(line: &str) -> Result<VerifyingKey> {
    let key = PublicKey::from_openssh(line.trim())
        .map_err(|error| invalid("Not a public key in OpenSSH format").with_source(error))?;
    verifying_key(key.key_data())
}

/// Returns the ed25519 key in OpenSSH key data.
///
/// # Errors
/// `E_KEY_INVALID` for a key of another kind, or a weak key, whose signatures prove nothing.
pub fn verifying_key(data: &KeyData) -> Result<VerifyingKey> {
    let KeyData::Ed25519(key) = data else {
        return Err(invalid(&format!("Unsupported kind of key: {}", data.algorithm())));
    };
    let key = VerifyingKey::from_bytes(&key.0)
        .map_err(|error| invalid("Invalid key: it is not a point on the curve").with_source(error))?;
    if key.is_weak() {
        return Err(invalid("Weak key: anybody can forge its signatures"));
    }
    Ok(key)
}

pub fn line_of(key: &VerifyingKey) -> Result<String> {
    PublicKey::from(KeyData::Ed25519(Ed25519PublicKey(key.to_bytes())))
        .to_openssh()
        .map_err(|error| Error::internal("a public key cannot be encoded").with_source(error))
}

fn invalid(why: &str) -> Error {
    Error::new(Code::KeyInvalid, why)
        .hint("use an ed25519 key, made with `mcpkg tool key new` or `ssh-keygen -t ed25519`")
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;

    #[test]
    fn an_identity_is_the_fingerprint_that_openssh_prints() {
        // `ssh-keygen -lf` prints the same fingerprint for this line.
        let line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop a comment";
        let key = public_key(line).expect("a key");
        assert_eq!(key.to_bytes(), SigningKey::from_bytes(&[0; 32]).verifying_key().to_bytes());
        assert!(line.starts_with(&line_of(&key).expect("a line")));
        let identity = Identity::of(&key);
        assert_eq!(identity.as_str().parse::<Identity>().expect("the same"), identity);
        assert_eq!(identity.fingerprint().parse::<Identity>().expect("without the kind"), identity);
        assert!(identity.fingerprint().starts_with("SHA256:"));
    }

    #[test]
    fn an_invalid_identity_is_refused_with_the_reason() {
        for (text, code) in [
            ("alice", Code::InvalidArgument),
            ("", Code::InvalidArgument),
            ("ed25519:SHA256:short", Code::InvalidArgument),
            ("ed25519:MD5:00", Code::InvalidArgument),
            ("ed25519:SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Code::InvalidArgument),
        ] {
            assert_eq!(text.parse::<Identity>().expect_err(text).code(), code, "{text}");
        }
        for text in ["github:alice", "google:a@example.com"] {
            let code = text.parse::<Identity>().map_err(|error| error.code()).map(|identity| identity.to_string());
            let expected = if sigstore::is_checked() { Ok(text.to_owned()) } else { Err(Code::TrustUnsupported) };
            assert_eq!(code, expected);
        }
        for line in ["", "ssh-rsa AAAA", "ssh-ed25519 AAAA", "-----BEGIN"] {
            assert_eq!(public_key(line).expect_err(line).code(), Code::KeyInvalid, "{line}");
        }
        // The neutral element of the curve is a weak key: it has a signature that is valid for every text.
        let mut weak = [0; 32];
        weak[0] = 1;
        let data = KeyData::Ed25519(Ed25519PublicKey(weak));
        assert_eq!(verifying_key(&data).expect_err("weak").code(), Code::KeyInvalid);
    }
}
