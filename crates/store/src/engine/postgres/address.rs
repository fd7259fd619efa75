//! Parses addresses in libpq's form: `postgres://USER@HOST[:PORT],.../DATABASE?KEY=VALUE&...`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use postgres::config::{Host, LoadBalanceHosts, SslMode};
use tokio_postgres::Config;

use super::passwords;
use crate::engine::BUSY_TIMEOUT;
use mcpkg_base::error::{Code, Error, Result};

/// The schema that holds all tables. Other schemas are ignored.
pub(super) const SCHEMA: &str = "mcpkg";

/// The channel on which servers hear of commits.
pub(super) const CHANNEL: &str = "mcpkg";

/// How an address begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The default size of each of the two connection pools.
const CONNECTIONS: u32 = 8;

/// The default parameters of an address, in seconds. A host that acknowledges nothing for twenty seconds counts as
/// gone, and calls that wait for its answer fail. The operating system's own limit is fifteen minutes.
const DEFAULTS: &str =
    "application_name=mcpkg&connect_timeout=5&tcp_user_timeout=20&keepalives_idle=10&keepalives_interval=5";

/// The address of a database, with the settings of the connection.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// The address as given to `--db`, without a password.
    pub(super) shown: PathBuf,
    /// Whether the address contained a password, rather than a reference to one.
    pub(super) has_password: bool,
    /// The reference to the password, as the address gives it: `file:PATH` or the like.
    pub(super) kept_in: Option<String>,
    /// The statement that gives a new connection its settings.
    pub(super) settings: String,
    /// The root certificates to verify the server's certificate with; `None` means the system's.
    pub(super) root_certificates: Option<PathBuf>,
    /// The maximum number of reading connections. The same maximum applies to writing ones.
    pub(super) connections: u32,
    /// How long a call waits for a free connection, and how long a writer waits for another writer.
    pub(super) wait: Duration,
    /// How long a statement may take, not counting the time it waits for other writers.
    answer: Duration,
    /// How long an unused connection is kept. The default is short, because a server limits the total number of
    /// connections of all its clients.
    pub(super) idle: Duration,
}

/// The default time that a statement may take.
const ANSWER: Duration = Duration::from_secs(30);

/// The default time that an unused connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Whether `--db` names a database server.
pub(crate) fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT`, which names the part that cannot be read, and never the password.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = path.to_str().ok_or_else(|| invalid("it is not UTF-8"))?;
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut address = Self {
            config: Config::new(),
            shown: PathBuf::from(shown(base, query)),
            has_password: false,
            kept_in: None,
            settings: String::new(),
            root_certificates: None,
            connections: CONNECTIONS,
            wait: BUSY_TIMEOUT,
            answer: ANSWER,
            idle: IDLE,
        };
        let (mut passed, mut options) = (Vec::new(), String::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| invalid(format!("`{pair}` has no value")))?;
            let value = decoded(value)?;
            match key {
                "sslrootcert" => address.root_certificates = Some(PathBuf::from(value)),
                // The reference to the password. The caller has already resolved it: `password` contains the result.
                "password_from" => address.kept_in = Some(value),
                "options" => options = value,
                "pool_size" => address.connections = number(key, &value, 1..=1000)?,
                "pool_timeout" => address.wait = Duration::from_secs(number(key, &value, 1..=3600)?.into()),
                "idle_timeout" => address.idle = Duration::from_secs(number(key, &value, 1..=3600)?.into()),
                "answer_timeout" => address.answer = Duration::from_secs(number(key, &value, 1..=3600)?.into()),
                // Every TLS connection verifies the certificate and the host's name, which libpq calls verify-full.
                "sslmode" if value == "verify-full" => passed.push("sslmode=require"),
                "sslmode" if !["disable", "prefer", "require"].contains(&&*value) => {
                    return Err(invalid("`sslmode` must be `disable`, `prefer`, `require` or `verify-full`"));
                }
                _ => passed.push(pair),
            }
        }
        let config = format!("{base}?{DEFAULTS}&{}", passed.join("&")).parse::<Config>();
        address.config = config.map_err(|error| invalid(reason(&error)))?;
        address.has_password = address.config.get_password().is_some() && address.kept_in.is_none();
        address.complete(&options)?;
        Ok(address)
    }

    /// Returns how long it may take until a connection to a host is usable: twice the connect timeout, which applies
    /// to each IP address separately.
    pub(super) fn connecting(&self) -> Duration {
        self.config.get_connect_timeout().map_or(ANSWER, |time| *time * 2)
    }

    /// Returns how long to wait for a statement's answer, including the time that the statement may wait for a lock.
    pub(super) fn limit(&self) -> Duration {
        self.answer + self.wait
    }

    /// Returns one configuration per host, in the order in which to try them, so that a host which does not answer uses up only
    /// its own time.
    pub(super) fn hosts(&self) -> Vec<Config> {
        let config = &self.config;
        let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
        let one = |n: usize| {
            let mut one = Config::new();
            match hosts.get(n) {
                Some(Host::Tcp(name)) => drop(one.host(name)),
                #[cfg(unix)]
                Some(Host::Unix(path)) => drop(one.host_path(path)),
                None => {}
            }
            if let Some(address) = addresses.get(n) {
                one.hostaddr(*address);
            }
            if let Some(port) = ports.get(n).or(ports.first()) {
                one.port(*port);
            }
            config.get_user().map(|user| one.user(user));
            config.get_password().map(|password| one.password(password));
            config.get_dbname().map(|name| one.dbname(name));
            config.get_application_name().map(|name| one.application_name(name));
            config.get_connect_timeout().map(|time| one.connect_timeout(*time));
            config.get_tcp_user_timeout().map(|time| one.tcp_user_timeout(*time));
            config.get_keepalives_interval().map(|time| one.keepalives_interval(time));
            config.get_keepalives_retries().map(|times| one.keepalives_retries(times));
            one.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
            one.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
            one.target_session_attrs(config.get_target_session_attrs());
            one.channel_binding(config.get_channel_binding());
            one
        };
        let count = hosts.len().max(addresses.len());
        let mut all: Vec<Config> = (0..count).map(one).collect();
        if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
            all.rotate_left(uuid::Uuid::new_v4().as_u128() as usize % count);
        }
        all
    }

    /// Fills in the defaults.
    fn complete(&mut self, options: &str) -> Result<()> {
        let config = &mut self.config;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(invalid("it does not name a host"));
        }
        if config.get_user().is_none() {
            let user = std::env::var("PGUSER").or_else(|_| std::env::var("USER"));
            config.user(&user.map_err(|_| invalid("it does not name a user"))?);
        }
        if config.get_dbname().is_none() {
            let name = config.get_user().unwrap_or_default().to_owned();
            config.dbname(&name);
        }
        if self.root_certificates.is_some() && config.get_ssl_mode() == SslMode::Prefer {
            config.ssl_mode(SslMode::Require);
        }
        // A statement is planned once per connection. Otherwise PostgreSQL would plan each page of a large table again, which
        // takes longer than reading the page. An address can override this, since its options come last.
        let wait = self.wait.as_millis().to_string();
        let own = [("search_path", SCHEMA), ("plan_cache_mode", "force_generic_plan"), ("lock_timeout", &wait)];
        let given = settings(options)?;
        let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let set = own.into_iter().chain(given);
        let set = set.map(|(name, value)| format!("set_config({}, {}, false)", text(name), text(value)));
        self.settings = format!("SELECT {}", set.collect::<Vec<_>>().join(", "));
        if config.get_password().is_none()
            && let Some(password) = passwords::password_of(config)
        {
            config.password(password);
        }
        Ok(())
    }
}

/// Returns the settings in `options`, which has the form of the server's command line: `-c NAME=VALUE` and `--NAME=VALUE`.
fn settings(options: &str) -> Result<Vec<(String, String)>> {
    let unknown = || invalid("`options` may only contain `-c NAME=VALUE`");
    let mut words = Vec::new();
    let (mut word, mut chars) = (String::new(), options.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            c if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let mut settings = Vec::new();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("--").or(word.strip_prefix("-c").filter(|rest| !rest.is_empty())) {
            Some(setting) => setting.to_owned(),
            None if word == "-c" => words.next().ok_or_else(unknown)?,
            None => return Err(unknown()),
        };
        let (name, value) = setting.split_once('=').ok_or_else(unknown)?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
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
    let text = percent_decode_str(value).decode_utf8().map_err(|_| invalid("one of its values is not UTF-8"))?;
    Ok(text.into_owned())
}

fn number(key: &str, value: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32> {
    let number = value.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| invalid(format!("`{key}` must be a number from {} to {}", range.start(), range.end())))
}

/// Returns the client library's reason for rejecting an address.
fn reason(error: &postgres::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

fn invalid(why: impl std::fmt::Display) -> Error {
    Error::new(Code::InvalidArgument, format!("Invalid database address: {why}")).hint(
        "write the address as postgres://USER@HOST[:PORT]/DATABASE; docs/how-to/postgresql.md lists the options that can follow",
    )
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
    fn options_become_settings_that_are_applied_after_connecting() {
        let address =
            read("postgres://me@a/db?options=-c%20work_mem%3D8MB%20--search-path%3Da%5C%20b%27s&pool_timeout=2")
                .unwrap();
        assert!(address.config.get_options().is_none(), "a pooler takes none");
        assert_eq!(
            address.settings,
            "SELECT set_config('search_path', 'mcpkg', false), set_config('plan_cache_mode', 'force_generic_plan', false), \
             set_config('lock_timeout', '2000', false), set_config('work_mem', '8MB', false), \
             set_config('search_path', 'a b''s', false)"
        );
        assert!(
            read("postgres://me@a/db?options=-B%205").err().is_some_and(|error| error.message().contains("`options`"))
        );
    }

    #[test]
    fn each_host_is_tried_by_itself() {
        let hosts = read("postgres://me@a:1,b:2/db?target_session_attrs=read-write").unwrap().hosts();
        let seen: Vec<_> = hosts.iter().map(|host| (host.get_hosts().len(), host.get_ports().to_vec())).collect();
        assert_eq!(seen, [(1, vec![1]), (1, vec![2])]);
        assert_eq!(hosts[1].get_target_session_attrs(), postgres::config::TargetSessionAttrs::ReadWrite);
        assert_eq!(hosts[1].get_tcp_user_timeout(), Some(&Duration::from_secs(20)));
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, why) in [
            ("postgres://me@h/db?nonsense=1", "nonsense"),
            ("postgres://me@h/db?pool_size=0", "pool_size"),
            ("postgres://me@h:port/db", "port"),
            ("postgres:///db", "host"),
            (
                "postgres://me:s3cret@h/db?sslmode=s3cret",
                "`sslmode` must be `disable`, `prefer`, `require` or `verify-full`",
            ),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.message().contains(why), "{text}: {}", error.message());
            assert!(!error.message().contains("s3cret"), "{}", error.message());
        }
    }

    #[test]
    fn a_path_is_not_an_address() {
        assert!(is_address(Path::new("postgresql://h/db")));
        assert!(!is_address(Path::new("postgres.db")));
        assert!(!is_address(Path::new("./postgres://h")));
    }
}
