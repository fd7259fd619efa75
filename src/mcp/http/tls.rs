//! Sets up TLS from a certificate file and a key file.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// Returns the TLS acceptor for these files.
///
/// # Errors
/// `E_INVALID_ARGUMENT` with the name of a file that cannot be read, contains no certificate or key, or does not match
/// the other file.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let unreadable = |path: &Path, what: &str, error: PemError| {
        Error::new(Code::InvalidArgument, format!("Cannot read a {what} from `{}`: {error}", path.display()))
            .hint("give a file in PEM format")
    };
    let read = |path, what| file::read(path, file::TEXT).map_err(|error| unreadable(path, what, PemError::Io(error)));
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(certificate, "certificate")?)
        .collect::<Result<_, _>>()
        .map_err(|error| unreadable(certificate, "certificate", error))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "certificate", PemError::NoItemsFound));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key, "private key")?)
        .map_err(|error| unreadable(key, "private key", error))?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private).map_err(|error| {
        let (certificate, key) = (certificate.display(), key.display());
        Error::new(
            Code::InvalidArgument,
            format!(
                "The certificate `{certificate}` and the key `{key}` cannot be used \
            together: {error}"
            ),
        )
    })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
