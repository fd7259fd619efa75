//! What an address says: `postgres://USER@HOST[:PORT],.../DATABASE?KEY=VALUE&...`, as libpq writes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use postgres::Config;
use postgres::config::SslMode;

use super::passwords;
use crate::error::{Code, Error, Result};
use crate::store::engine::BUSY_TIMEOUT;

/// The schema that all tables stand in; what stands beside it is not looked at.
pub(super) const SCHEMA: &str = "mcpkg";

/// What servers listen to, to be told of what others commit.
pub(super) const CHANNEL: &str = "mcpkg";

/// How an address begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Connections of each of the two pools, unless the address says otherwise.
const CONNECTIONS: u32 = 8;

/// What holds unless the address says otherwise, in seconds. A host that acknowledges nothing for twenty is taken for gone, and what
/// waits for its answer fails: the system's own limit is a quarter of an hour.
const DEFAULTS: &str =
    "application_name=mcpkg&connect_timeout=5&tcp_user_timeout=20&keepalives_idle=10&keepalives_interval=5";

/// Where a database is, and how it is connected to.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// What `--db` names it by, without a password.
    pub(super) shown: PathBuf,
    /// Whether a password stood in it, and not where one is kept.
    pub(super) has_password: bool,
    /// The certificates that the server's has to come from; else the system's.
    pub(super) root_certificates: Option<PathBuf>,
    /// The most connections that read, and the most that write.
    pub(super) connections: u32,
    /// How long a call waits for a connection, and a writer for another one.
    pub(super) wait: Duration,
}

/// Whether `--db` names a database server.
pub(in crate::store) fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` that names what of it cannot be read, and not its password.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = path.to_str().ok_or_else(|| invalid("it is not UTF-8"))?;
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut address = Self {
            config: Config::new(),
            shown: PathBuf::from(shown(base, query)),
            has_password: false,
            root_certificates: None,
            connections: CONNECTIONS,
            wait: BUSY_TIMEOUT,
        };
        let (mut passed, mut is_kept) = (Vec::new(), false);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| invalid(format!("`{pair}` has no value")))?;
            let value = decoded(value)?;
            match key {
                "sslrootcert" => address.root_certificates = Some(PathBuf::from(value)),
                // Where the password was kept; the caller has put it in its place.
                "password_from" => is_kept = true,
                "pool_size" => address.connections = number(key, &value, 1..=1000)?,
                "pool_timeout" => address.wait = Duration::from_secs(number(key, &value, 1..=3600)?.into()),
                // What libpq calls verify-full is what happens wherever TLS is spoken: no certificate is taken unseen.
                "sslmode" if value == "verify-full" => passed.push("sslmode=require"),
                "sslmode" if !["disable", "prefer", "require"].contains(&&*value) => {
                    return Err(invalid("`sslmode` is `disable`, `prefer`, `require` or `verify-full`"));
                }
                _ => passed.push(pair),
            }
        }
        let config = format!("{base}?{DEFAULTS}&{}", passed.join("&")).parse::<Config>();
        address.config = config.map_err(|error| invalid(reason(&error)))?;
        address.has_password = address.config.get_password().is_some() && !is_kept;
        address.complete()?;
        Ok(address)
    }

    /// Fills in what the address does not say.
    fn complete(&mut self) -> Result<()> {
        let config = &mut self.config;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(invalid("it names no host"));
        }
        if config.get_user().is_none() {
            let user = std::env::var("PGUSER").or_else(|_| std::env::var("USER"));
            config.user(&user.map_err(|_| invalid("it names no user"))?);
        }
        if config.get_dbname().is_none() {
            let name = config.get_user().unwrap_or_default().to_owned();
            config.dbname(&name);
        }
        if self.root_certificates.is_some() && config.get_ssl_mode() == SslMode::Prefer {
            config.ssl_mode(SslMode::Require);
        }
        let given = config.get_options().unwrap_or_default();
        // A statement is planned once for each connection: in a large table PostgreSQL would else plan a page of a list each
        // time anew, which takes longer than reading it. What an address says of it holds, since it comes last.
        let options = format!(
            "-c search_path={SCHEMA} -c plan_cache_mode=force_generic_plan -c lock_timeout={} {given}",
            self.wait.as_millis()
        );
        config.options(options.trim_end());
        if config.get_password().is_none()
            && let Some(password) = passwords::password_of(config)
        {
            config.password(password);
        }
        Ok(())
    }
}

/// Returns the address without its passwords.
fn shown(base: &str, query: &str) -> String {
    let (scheme, rest) = base.split_once("://").unwrap_or(("postgres", base));
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let authority = match authority.rsplit_once('@') {
        Some((user, hosts)) => format!("{}@{hosts}", user.split(':').next().unwrap_or_default()),
        None => authority.to_owned(),
    };
    let shown = query.split('&').filter(|pair| !pair.starts_with("password=") && !pair.is_empty());
    let query: Vec<String> = shown.map(|pair| pair.replacen("password_from=", "password=", 1)).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}{path}{mark}{}", query.join("&"))
}

fn decoded(value: &str) -> Result<String> {
    let text = percent_decode_str(value).decode_utf8().map_err(|_| invalid("a value of it is not UTF-8"))?;
    Ok(text.into_owned())
}

fn number(key: &str, value: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
    let number = value.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| invalid(format!("`{key}` is a number from {} to {}", range.start(), range.end())))
}

/// Returns why the client does not take an address.
fn reason(error: &postgres::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

fn invalid(why: impl std::fmt::Display) -> Error {
    Error::new(Code::InvalidArgument, format!("The address of the database cannot be used: {why}"))
        .hint("write it as postgres://HOST[:PORT]/DATABASE, with a user and @ before HOST; docs/engines.md names what may follow")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Address> {
        Address::read(Path::new(text))
    }

    #[test]
    fn a_password_is_used_and_never_shown() {
        let address = read("postgres://me:s3cret@a:5433,b/db?password=s3cret&pool_size=3&connect_timeout=1").unwrap();
        assert_eq!(address.shown, Path::new("postgres://me@a:5433,b/db?pool_size=3&connect_timeout=1"));
        assert_eq!(address.config.get_password(), Some(&b"s3cret"[..]));
        assert_eq!((address.connections, address.config.get_hosts().len()), (3, 2));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(1)));
        assert_eq!(address.config.get_tcp_user_timeout(), Some(&Duration::from_secs(20)));
        assert!(address.has_password);
        let kept = read("postgres://me@a/db?password=s3cret&password_from=env:A").unwrap();
        assert_eq!((kept.has_password, &*kept.shown), (false, Path::new("postgres://me@a/db?password=env:A")));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, why) in [
            ("postgres://me@h/db?nonsense=1", "nonsense"),
            ("postgres://me@h/db?pool_size=0", "pool_size"),
            ("postgres://me@h:port/db", "port"),
            ("postgres:///db", "host"),
            (
                "postgres://me:s3cret@h/db?sslmode=s3cret",
                "`sslmode` is `disable`, `prefer`, `require` or `verify-full`",
            ),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.message().contains(why), "{text}: {}", error.message());
            assert!(!error.message().contains("s3cret"), "{}", error.message());
        }
    }

    #[test]
    fn a_file_is_no_address() {
        assert!(is_address(Path::new("postgresql://h/db")));
        assert!(!is_address(Path::new("postgres.db")));
        assert!(!is_address(Path::new("./postgres://h")));
    }
}
