//! Reads passwords from libpq's password file, or again from the source that an address names. The file is
//! `PGPASSFILE`, else `~/.pgpass`, and has lines of `host:port:database:user:password`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use postgres::config::Host;
use tokio_postgres::Config;

use mcpkg_base::error::Result;
use mcpkg_base::file;

/// The maximum size of the file in bytes.
const MOST: u64 = 1 << 20;

/// Reads a password from its source, such as `file:PATH`.
pub(crate) type Reader = fn(&str) -> Result<String>;

static READER: OnceLock<Reader> = OnceLock::new();

/// Sets the function that reads a password again from its source after a server has refused it.
pub(crate) fn read_with(reader: Reader) {
    READER.get_or_init(|| reader);
}

/// Reads a password again; `None` if no reader was set.
pub(super) fn read_again(kept_in: &str) -> Result<Option<String>> {
    READER.get().map(|read| read(kept_in)).transpose()
}

/// Returns the password for the first host that a line of the file matches. Returns `None` if no line matches, or if
/// other users may read the file.
pub(super) fn password_of(config: &Config) -> Option<String> {
    let path = path()?;
    let text = match file::read_private(&path, MOST) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "ignored the password file");
            return None;
        }
    };
    let (user, database) = (config.get_user().unwrap_or_default(), config.get_dbname().unwrap_or_default());
    let ports = config.get_ports();
    config.get_hosts().iter().enumerate().find_map(|(n, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            // libpq uses this name for every socket.
            #[cfg(unix)]
            Host::Unix(_) => "localhost".to_owned(),
        };
        let port = ports.get(n).or(ports.first()).copied().unwrap_or(5432).to_string();
        find(&text, [&host, &port, database, user])
    })
}

fn path() -> Option<PathBuf> {
    match std::env::var_os("PGPASSFILE") {
        Some(path) => Some(PathBuf::from(path)),
        None => std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass")),
    }
}

/// Returns the password of the first line that matches; `*` matches everything.
fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [place @ .., password] = &fields[..] else { return None };
        let fits = place.len() == 4 && place.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        fits.then(|| password.clone())
    })
}

/// Splits a line at its first four `:`. A `\` escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().into_iter().for_each(|field| field.extend(chars.next())),
            c => fields.last_mut().into_iter().for_each(|field| field.push(c)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# a comment\nother:5432:db:me:no\nh:*:db:me:one\\:two\\\\\n*:*:*:*:last:with:colons";
        assert_eq!(find(text, ["h", "5432", "db", "me"]).as_deref(), Some("one:two\\"));
        assert_eq!(find(text, ["x", "1", "db", "me"]).as_deref(), Some("last:with:colons"));
        assert_eq!(find("h:5432:db:me", ["h", "5432", "db", "me"]), None);
    }
}
