//! Checks the signature of a bundle, and returns the signer.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sigstore_verify::crypto::install_default_provider;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::intoto::Digest;
use sigstore_verify::types::{Artifact, ArtifactDigest, Bundle, HashAlgorithm, SignatureContent, Statement};
use sigstore_verify::{
    CertificateError, Error, TimestampError, TransparencyLogError, VerificationPolicy, VerificationResult, Verifier,
};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::oid::AssociatedOid;
use x509_cert::ext::pkix::SubjectAltName;

use super::crypto::Ring;
use super::name::of_certificate;
use super::{Held, Root};

/// The verifier of a root, with the id of the root.
type OfRoot = ([u8; 32], Arc<Verifier>);

/// The verifier that was used last: making one takes longer than checking a bundle.
static LAST: Mutex<Option<OfRoot>> = Mutex::new(None);

/// The verifier of the embedded root.
static EMBEDDED: LazyLock<Result<Arc<Verifier>, String>> = LazyLock::new(|| made(SIGSTORE_PRODUCTION_TRUSTED_ROOT));

/// Reads a bundle and checks it against a root: the certificate's chain and its log, the log entry with its proof and its time,
/// which has to lie in the certificate's life, and the signature over the statement.
///
/// Which archive the statement binds, and whether the signer is trusted, is decided elsewhere.
pub fn read(text: &str, root: &Root) -> Held {
    let bundle = match Bundle::from_json(text) {
        Ok(bundle) => bundle,
        Err(error) => return Held::unreadable(format!("the attestation is not a Sigstore bundle: {error}")),
    };
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
        return Held::unreadable("the bundle signs only the digest of a file, not a statement".to_owned());
    };
    // The bytes that are checked are the bytes that count: the text is not read a second time.
    let payload = envelope.payload.as_bytes();
    let signer = verifier(root).and_then(|verifier| signer(&verifier, &bundle, payload));
    Held { payload: Ok(payload.to_vec()), signer }
}

fn signer(verifier: &Verifier, bundle: &Bundle, payload: &[u8]) -> Result<String, String> {
    let fails = |why: String| format!("the bundle does not verify: {why}");
    // The library asks for an artifact that the statement is about. It gets one of those that the statement names: whether
    // that is the archive is decided where all attestations are weighed.
    let statement: Statement = serde_json::from_slice(payload).map_err(|error| fails(error.to_string()))?;
    let named = statement.subject.iter().find_map(|subject| match &subject.digest {
        Digest { sha256: Some(sha256), .. } => Some(ArtifactDigest::sha256(*sha256)),
        Digest { sha512: Some(sha512), .. } => {
            ArtifactDigest::new(HashAlgorithm::Sha2512, sha512.as_bytes().to_vec()).ok()
        }
        _ => None,
    });
    let Some(digest) = named else { return Err("the statement contains no supported digest".to_owned()) };
    // Nothing is left out of the check. The signer is read from the certificate that was checked.
    let checked = verifier
        .verify(Artifact::Digest(digest), bundle, &VerificationPolicy::any_identity())
        .map_err(|error| fails(reason(&error)))?;
    if !is_whole(&checked) {
        return Err(fails("part of the bundle was not checked".to_owned()));
    }
    // A certificate with several names, of which one may be trusted, does not identify the signer.
    let names = bundle.signing_certificate().and_then(|certificate| names(certificate.as_bytes()));
    if names.is_none_or(|names| names > 1) {
        return Err("the certificate has more than one name".to_owned());
    }
    match (checked.identity(), checked.issuer(), checked.certificate()) {
        (Some(name), Some(issuer), Some(certificate)) => of_certificate(name, issuer, &certificate.ci_claims),
        _ => Err("the certificate does not name its owner".to_owned()),
    }
}

/// Whether the certificate, its log and the log of the signature were checked, and the time is known.
/// Returns why the library does not verify a bundle, for people. Its own words hold debug text of the libraries below it.
fn reason(error: &Error) -> String {
    tracing::debug!(%error, "a Sigstore bundle does not verify");
    let reason = match error {
        Error::Certificate(CertificateError::NotYetValid { .. } | CertificateError::Expired { .. })
        | Error::Timestamp(TimestampError::OutsideAuthorityValidity { .. }) => return error.to_string(),
        Error::SignatureInvalid(_) => "the signature does not match the certificate and the statement",
        Error::Certificate(CertificateError::ChainInvalid(_) | CertificateError::NoValidAuthority { .. }) => {
            "no authority of the trusted root issued the certificate"
        }
        Error::Certificate(CertificateError::Sct(_)) => "no certificate log of the trusted root lists the certificate",
        Error::Certificate(_) => "the certificate is malformed",
        Error::TransparencyLog(TransparencyLogError::UnknownLog { .. }) => {
            "the signature is in a log that the trusted root does not name"
        }
        Error::TransparencyLog(TransparencyLogError::EntryMismatch(_)) => "the log entry is for a different signature",
        Error::TransparencyLog(_) => "the log entry has no valid proof",
        Error::Timestamp(_) => "no trusted timestamp shows when the statement was signed",
        Error::UnsupportedBundle(_) | Error::UnsupportedArtifact(_) => "mcpkg does not support this kind of bundle",
        Error::ArtifactMismatch(_) => "the statement is for a different file",
        _ => "the bundle is malformed",
    };
    reason.to_owned()
}

/// Returns how many names a certificate has, of all kinds. The library shows only the first address or URI.
fn names(certificate: &[u8]) -> Option<usize> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let extensions = certificate.tbs_certificate.extensions.unwrap_or_default();
    let names = extensions.iter().filter(|extension| extension.extn_id == SubjectAltName::OID);
    names.map(|names| Some(SubjectAltName::from_der(names.extn_value.as_bytes()).ok()?.0.len())).sum()
}

fn is_whole(checked: &VerificationResult) -> bool {
    checked.certificate_verified()
        && checked.sct_verified()
        && checked.tlog_verified()
        && !checked.verified_timestamps().is_empty()
}

/// Returns what checks bundles against a root.
///
/// # Errors
/// Why the root is invalid, for people.
pub(super) fn verifier(root: &Root) -> Result<Arc<Verifier>, String> {
    let text = match root {
        Root::Embedded => return EMBEDDED.clone(),
        Root::Unreadable => return Err("the Sigstore root that you chose cannot be read".to_owned()),
        Root::Replaced(root) => &root.text,
    };
    let id = root.id();
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, verifier)) = last().as_ref().filter(|(of, _)| *of == id) {
        return Ok(Arc::clone(verifier));
    }
    let verifier = made(text)?;
    *last() = Some((id, Arc::clone(&verifier)));
    Ok(verifier)
}

fn made(text: &str) -> Result<Arc<Verifier>, String> {
    // The first one stays for the life of the process, and it is always this one.
    let _ = install_default_provider(&Ring);
    let root = TrustedRoot::from_json(text).map_err(|error| error.to_string())?;
    for (missing, what) in [
        (root.certificate_authorities.is_empty(), "certificate authority"),
        (root.tlogs.is_empty(), "signature log"),
        (root.ctlogs.is_empty(), "certificate log"),
    ] {
        if missing {
            return Err(format!("the root names no {what}"));
        }
    }
    Verifier::new(&root).map(Arc::new).map_err(|error| error.to_string())
}
