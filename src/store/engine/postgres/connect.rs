//! How a server is connected to.

use std::sync::{Arc, OnceLock};

use postgres::config::SslMode;
use postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::tls::tls;
use crate::error::{Error, Result};

/// What opens connections to one database.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) address: Arc<Address>,
    tls: Arc<OnceLock<MakeRustlsConnect>>,
}

impl Connector {
    pub(super) fn new(address: Address) -> Self {
        Self { address: Arc::new(address), tls: Arc::default() }
    }

    /// Connects to the first of the hosts that answers and is what the address asks for. The server's settings are those of the
    /// address: which schema, and how long a lock is waited for.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` with what the server or the system answered.
    pub(super) fn connect(&self) -> Result<Client> {
        let config = &self.address.config;
        let tls = self.tls()?;
        let client = tokio::task::block_in_place(|| match tls {
            Some(tls) => config.connect(tls),
            None => config.connect(NoTls),
        });
        client.map_err(|error| super::errors::unreachable(&self.address.shown, error))
    }

    /// Returns what makes TLS connections, where the address lets them be.
    pub(super) fn tls(&self) -> Result<Option<MakeRustlsConnect>> {
        if self.address.config.get_ssl_mode() == SslMode::Disable {
            return Ok(None);
        }
        let made = match self.tls.get() {
            Some(made) => made.clone(),
            None => self
                .tls
                .get_or_init({
                    let made = tls(self.address.root_certificates.as_deref())?;
                    move || made
                })
                .clone(),
        };
        Ok::<_, Error>(Some(made))
    }
}
