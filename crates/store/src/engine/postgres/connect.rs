//! Connects to a PostgreSQL server: to the first host of the address that answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use postgres::config::SslMode;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::client::{Client, Failed};
use super::errors::{is_password, silent, unreachable};
use super::passwords;
use super::tls::tls;
use mcpkg_base::error::{Error, Result};

/// How long to wait before trying to connect again after a server did not answer. During this time, calls that need a
/// connection fail at once, instead of running into the same timeout one after the other.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct Connector {
    pub(super) address: Arc<Address>,
    shared: Arc<Shared>,
}

/// The state that all connections to one database share.
#[derive(Default)]
struct Shared {
    tls: OnceLock<MakeRustlsConnect>,
    /// The password that was read again after the server refused the password in the address.
    password: Mutex<Option<String>>,
    /// When the server last failed to answer.
    silent_at: Mutex<Option<Instant>>,
    /// Whether this process has locked out all servers.
    is_alone: AtomicBool,
    /// The last move of the database (`mcpkg move`) before this process announced itself as a server. The outer
    /// `Option` is `None` if this process is not a server.
    announced: Mutex<Option<Option<String>>>,
}

impl Connector {
    pub(super) fn new(address: Address) -> Self {
        Self { address: Arc::new(address), shared: Arc::default() }
    }

    /// Connects to the first host that answers and fits the address, for example because it accepts writes. Sends the
    /// settings of the address to the host, such as the schema. If the host refuses a password that came from a
    /// reference, reads the password again.
    pub(super) fn connect(&self) -> Result<Client> {
        self.connect_to_host().map(|(_, client)| client)
    }

    /// Returns the configuration of the host that answers now.
    pub(super) fn answering_host(&self) -> Result<Config> {
        self.connect_to_host().map(|(host, _)| host)
    }

    fn connect_to_host(&self) -> Result<(Config, Client)> {
        // Build the TLS configuration first: if that fails, the server is not to blame.
        self.tls()?;
        if lock(&self.shared.silent_at).is_some_and(|at| at.elapsed() < PAUSE) {
            return Err(silent(&self.address.shown));
        }
        let tried = lock(&self.shared.password).clone();
        let connected = match self.try_hosts() {
            Err(Failed::Refused(error)) if is_password(&error) && self.reads_password_again(tried)? => self.try_hosts(),
            connected => connected,
        };
        connected.map_err(|failed| match failed {
            Failed::Refused(error) => unreachable(&self.address.shown, error),
            Failed::Silent => {
                *lock(&self.shared.silent_at) = Some(Instant::now());
                silent(&self.address.shown)
            }
        })
    }

    fn try_hosts(&self) -> std::result::Result<(Config, Client), Failed> {
        let mut failed = Failed::Silent;
        for mut host in self.address.hosts() {
            if let Some(password) = &*lock(&self.shared.password) {
                host.password(password);
            }
            match self.try_host(&host) {
                Ok(client) => return Ok((host, client)),
                // A refused password has to be read again, whatever the other hosts answer.
                Err(_) if matches!(&failed, Failed::Refused(error) if is_password(error)) => {}
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Connects to a host. The settings are sent as a statement, since poolers reject them as parameters of the connection's
    /// start.
    fn try_host(&self, host: &Config) -> std::result::Result<Client, Failed> {
        let tls = self.tls().map_err(|_| Failed::Silent)?;
        let mut client = Client::connect(host, tls, self.address.connecting(), self.address.limit())?;
        client.batch_execute(&self.address.settings).map_err(|error| match client.is_silent() {
            true => Failed::Silent,
            false => Failed::Refused(error),
        })?;
        Ok(client)
    }

    /// Reads the password again from its source. Returns whether it differs from `tried`, or, without `tried`, from the
    /// password in the address.
    fn reads_password_again(&self, tried: Option<String>) -> Result<bool> {
        let Some(kept_in) = &self.address.kept_in else { return Ok(false) };
        let Some(read) = passwords::read_again(kept_in)? else { return Ok(false) };
        let is_other = match &tried {
            Some(tried) => *tried != read,
            None => self.address.config.get_password() != Some(read.as_bytes()),
        };
        *lock(&self.shared.password) = Some(read);
        Ok(is_other)
    }

    /// Returns the TLS connector; `None` if the address disables TLS.
    pub(super) fn tls(&self) -> Result<Option<MakeRustlsConnect>> {
        if self.address.config.get_ssl_mode() == SslMode::Disable {
            return Ok(None);
        }
        let made = match self.shared.tls.get() {
            Some(made) => made.clone(),
            None => self
                .shared
                .tls
                .get_or_init({
                    let made = tls(self.address.root_certificates.as_deref())?;
                    move || made
                })
                .clone(),
        };
        Ok::<_, Error>(Some(made))
    }

    /// Sets whether this process has locked out all servers. If it has, it may still write itself.
    pub(super) fn set_alone(&self, is_alone: bool) {
        self.shared.is_alone.store(is_alone, Ordering::Release);
    }

    pub(super) fn is_alone(&self) -> bool {
        self.shared.is_alone.load(Ordering::Acquire)
    }

    /// Records that this process has announced itself as a server. `moved` names the last move of the database so
    /// far.
    pub(super) fn announce(&self, moved: Option<String>) {
        lock(&self.shared.announced).get_or_insert(moved);
    }

    /// Whether the database was moved since this process announced itself as a server. `moved` names the last move.
    pub(super) fn is_moved(&self, moved: Option<&str>) -> bool {
        lock(&self.shared.announced).as_ref().is_some_and(|before| before.as_deref() != moved)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_refused_password_is_reported_even_if_the_next_host_is_unreachable() {
        let refuses = TcpListener::bind("127.0.0.1:0").unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        let [one, other] = [&refuses, &gone].map(|listener| listener.local_addr().unwrap().port());
        drop(gone);
        let server = std::thread::spawn(move || {
            let (mut stream, _) = refuses.accept().unwrap();
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            let fields = b"SFATAL\0VFATAL\0C28P01\0Mno\0\0";
            let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
            stream.write_all(&[b"E", &length[..], fields].concat()).unwrap();
        });
        let address = format!("postgres://me:old@127.0.0.1:{one},127.0.0.1:{other}/db?sslmode=disable");
        let connector = Connector::new(Address::read(Path::new(&address)).unwrap());
        let failed = connector.try_hosts().err();
        assert!(matches!(failed, Some(Failed::Refused(error)) if is_password(&error)));
        server.join().unwrap();
    }
}
