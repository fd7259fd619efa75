//! TLS: the certificate and its key, as files.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// Returns what speaks TLS with these files.
///
/// # Errors
/// `E_INVALID_ARGUMENT` that names the file that cannot be read, holds none, or does not fit the other.
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
