//! The cryptography for checking bundles. It uses ring, which is already linked in for network connections.

use ring::digest::{self, Context};
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use sigstore_verify::crypto::{CryptoProvider, Error, HashContext, Result, SigningScheme};
use sigstore_verify::types::HashAlgorithm;

#[derive(Debug)]
pub(super) struct Ring;

struct Hash(Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

/// Returns the algorithm of a scheme; `None` if ring does not support it, such as ML-DSA.
fn algorithm(scheme: SigningScheme) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match scheme {
        SigningScheme::EcdsaP256Sha256 => &signature::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &signature::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &signature::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &signature::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &signature::ED25519,
        SigningScheme::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
        SigningScheme::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        _ => return None,
    })
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        let algorithm = match algorithm {
            HashAlgorithm::Sha2256 => &digest::SHA256,
            HashAlgorithm::Sha2384 => &digest::SHA384,
            HashAlgorithm::Sha2512 => &digest::SHA512,
            _ => return Err(Error::UnsupportedAlgorithm(format!("unsupported digest algorithm {algorithm}"))),
        };
        Ok(Box::new(Hash(Context::new(algorithm))))
    }

    fn verify_raw(&self, scheme: SigningScheme, key: &[u8], data: &[u8], signature: &[u8]) -> Result<()> {
        let Some(algorithm) = algorithm(scheme) else {
            return Err(Error::UnsupportedAlgorithm(format!("unsupported signature scheme {}", scheme.name())));
        };
        UnparsedPublicKey::new(algorithm, key)
            .verify(data, signature)
            .map_err(|_| Error::Verification(format!("invalid {} signature", scheme.name())))
    }

    /// Always fails: ring cannot check a signature over a digest computed elsewhere. Only bundles without a
    /// statement need that.
    fn verify_prehashed(&self, scheme: SigningScheme, _: &[u8], _: &[u8], _: &[u8]) -> Result<()> {
        Err(Error::UnsupportedAlgorithm(format!("unsupported: {} signatures of a digest", scheme.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_their_algorithms() {
        assert_eq!(Ring.sha256(b"x"), mcpkg_base::sha256::of(b"x"));
        // The known first bytes of the digests of an empty text.
        assert!(Ring.sha384(b"").starts_with(&[0x38, 0xb0, 0x60, 0xa7]));
        assert!(Ring.sha512(b"").starts_with(&[0xcf, 0x83, 0xe1, 0x35]));
    }

    #[test]
    fn a_signature_that_cannot_be_checked_is_invalid() {
        use ed25519_dalek::Signer as _;
        let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let (public, good) = (key.verifying_key().to_bytes(), key.sign(b"data").to_bytes());
        assert!(Ring.verify_raw(SigningScheme::Ed25519, &public, b"data", &good).is_ok());
        assert!(Ring.verify_raw(SigningScheme::Ed25519, &public, b"other", &good).is_err());
        for scheme in [SigningScheme::EcdsaP256Sha256, SigningScheme::RsaPssSha256, SigningScheme::MlDsa44] {
            assert!(Ring.verify_raw(scheme, &public, b"data", &good).is_err());
            assert!(Ring.verify_prehashed(scheme, &public, &[0; 32], &good).is_err());
        }
    }
}
