//! TLS for connections to PostgreSQL. Verifies the server's certificate with the root certificates that the address
//! names, or else with the system's.

use std::path::Path;
use std::sync::Arc;

use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use mcpkg_base::error::{Code, Error, Result};

/// Returns a TLS connector that trusts the certificates in the file `roots`, else the system's.
///
/// # Errors
/// `E_FILE_FAILED` if the file of roots cannot be read, or contains no certificate or an invalid one;
/// `E_DB_UNAVAILABLE` if the system's certificates cannot be loaded.
pub(super) fn tls(roots: Option<&Path>) -> Result<MakeRustlsConnect> {
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("Cannot set up TLS: {error}")))?;
    let verified = match roots {
        Some(path) => builder.with_root_certificates(read(path)?),
        None => builder.with_platform_verifier().map_err(|error| {
            Error::new(Code::Unavailable, format!("Cannot load the system's certificates: {error}"))
        })?,
    };
    Ok(MakeRustlsConnect::new(verified.with_no_client_auth()))
}

fn read(path: &Path) -> Result<RootCertStore> {
    let unusable = |why: String| {
        Error::new(Code::FileFailed, format!("Cannot use `{}` from `sslrootcert`: {why}", path.display()))
            .hint("name a file that contains certificates in PEM format")
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unusable("it does not contain a certificate".to_owned())) } else { Ok(roots) }
}
