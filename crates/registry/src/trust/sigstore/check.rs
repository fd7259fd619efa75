//! Checks the signature of a Sigstore bundle, and returns the signer.

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
use super::{BundleContents, Root};

/// The id of a root and its verifier.
type OfRoot = ([u8; 32], Arc<Verifier>);

/// The last verifier, cached because creating one takes longer than checking a bundle.
static LAST: Mutex<Option<OfRoot>> = Mutex::new(None);

static EMBEDDED: LazyLock<Result<Arc<Verifier>, String>> = LazyLock::new(|| made(SIGSTORE_PRODUCTION_TRUSTED_ROOT));

/// Parses a bundle and checks it against a root. The checks cover the certificate's chain and log, the signature's log
/// entry with its proof, the signing time, which must be within the certificate's validity, and the signature itself.
///
/// Other modules decide which archive the statement is about, and whether the signer is trusted.
pub fn read(text: &str, root: &Root) -> BundleContents {
    let bundle = match Bundle::from_json(text) {
        Ok(bundle) => bundle,
        Err(error) => return BundleContents::unreadable(format!("the attestation is not a Sigstore bundle: {error}")),
    };
    let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
        return BundleContents::unreadable("the bundle signs only the digest of a file, not a statement".to_owned());
    };
    // The statement is taken from the same bytes that were checked; the text is not parsed a second time.
    let payload = envelope.payload.as_bytes();
    let signer = verifier(root).and_then(|verifier| signer(&verifier, &bundle, payload));
    BundleContents { payload: Ok(payload.to_vec()), signer }
}

fn signer(verifier: &Verifier, bundle: &Bundle, payload: &[u8]) -> Result<String, String> {
    let fails = |why: String| format!("the bundle does not verify: {why}");
    // The library requires the digest of an artifact, so pass a digest that the statement itself names. Whether the
    // statement is about the right archive is decided later, when all attestations are weighed.
    let statement: Statement = serde_json::from_slice(payload).map_err(|error| fails(error.to_string()))?;
    let named = statement.subject.iter().find_map(|subject| match &subject.digest {
        Digest { sha256: Some(sha256), .. } => Some(ArtifactDigest::sha256(*sha256)),
        Digest { sha512: Some(sha512), .. } => {
            ArtifactDigest::new(HashAlgorithm::Sha2512, sha512.as_bytes().to_vec()).ok()
        }
        _ => None,
    });
    let Some(digest) = named else { return Err("the statement contains no supported digest".to_owned()) };
    // Accept any identity here, but check everything else. The signer is then read from the verified certificate.
    let checked = verifier
        .verify(Artifact::Digest(digest), bundle, &VerificationPolicy::any_identity())
        .map_err(|error| fails(reason(&error)))?;
    if !is_whole(&checked) {
        return Err(fails("part of the bundle was not checked".to_owned()));
    }
    // A certificate with several names does not identify the signer, since only one of the names might be trusted.
    let names = bundle.signing_certificate().and_then(|certificate| names(certificate.as_bytes()));
    if names.is_none_or(|names| names > 1) {
        return Err("the certificate has more than one name".to_owned());
    }
    match (checked.identity(), checked.issuer(), checked.certificate()) {
        (Some(name), Some(issuer), Some(certificate)) => of_certificate(name, issuer, &certificate.ci_claims),
        _ => Err("the certificate does not name its owner".to_owned()),
    }
}

/// Explains why a bundle does not verify. Many messages of the library itself contain debug output.
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

/// Returns the number of names of all kinds in a certificate. The library only shows the first address or URI.
fn names(certificate: &[u8]) -> Option<usize> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let extensions = certificate.tbs_certificate.extensions.unwrap_or_default();
    let names = extensions.iter().filter(|extension| extension.extn_id == SubjectAltName::OID);
    names.map(|names| Some(SubjectAltName::from_der(names.extn_value.as_bytes()).ok()?.0.len())).sum()
}

/// Returns whether the certificate, its log, the signature's log and the signing time were all checked.
fn is_whole(checked: &VerificationResult) -> bool {
    checked.certificate_verified()
        && checked.sct_verified()
        && checked.tlog_verified()
        && !checked.verified_timestamps().is_empty()
}

/// Returns the verifier of a root; an error says why the root is invalid.
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
    // The first provider that is installed stays until the process ends, and this code always installs the same
    // one. So a failure only means that it is already installed.
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
