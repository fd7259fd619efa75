//! Addresses of databases on a server, in which a password may be a reference to a secret.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use tokio_util::sync::CancellationToken;

use mcpkg_base::error::Result;
use mcpkg_base::secret::Reference;
use mcpkg_store::Store;

const PASSWORD: &str = "password=";

/// Returns the address for [`Store::open`](mcpkg_store::Store::open), with the password from `password=env:NAME`,
/// `password=file:PATH` or `password=command:ARGV` filled in. Any other path is returned unchanged.
pub fn resolved(database: &Path) -> Result<Cow<'_, Path>> {
    let given = database.to_str().filter(|text| text.starts_with("postgres")).and_then(|text| text.split_once('?'));
    let Some((base, query)) = given else { return Ok(Cow::Borrowed(database)) };
    let mut pairs = Vec::new();
    for pair in query.split('&') {
        let reference = pair
            .strip_prefix(PASSWORD)
            .and_then(|value| percent_decode_str(value).decode_utf8().ok()?.parse::<Reference>().ok());
        match reference {
            Some(reference) => {
                let secret = reference.resolve(&CancellationToken::new())?;
                // Each new connection reads the password again, because it may have changed.
                Store::read_passwords_with(read);
                let password = utf8_percent_encode(secret.expose(), NON_ALPHANUMERIC);
                // The address keeps the reference, so that it can be shown and written into a client's configuration.
                pairs.push(format!("{PASSWORD}{password}&{}", pair.replacen(PASSWORD, "password_from=", 1)));
            }
            None => pairs.push(pair.to_owned()),
        }
    }
    Ok(Cow::Owned(PathBuf::from(format!("{base}?{}", pairs.join("&")))))
}

fn read(kept_in: &str) -> Result<String> {
    let reference: Reference = kept_in.parse()?;
    Ok(reference.resolve(&CancellationToken::new())?.expose().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_read_from_where_it_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "p&w\n").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let named = format!("postgres://u@h/d?password=file:{}&pool_size=2", file.display());
        let expected = format!("postgres://u@h/d?password=p%26w&password_from=file:{}&pool_size=2", file.display());
        assert_eq!(resolved(Path::new(&named)).unwrap(), Path::new(&expected));
        for same in ["mcpkg.db", "postgres://u@h/d", "postgres://u:p@h/d?password=plain"] {
            assert_eq!(resolved(Path::new(same)).unwrap(), Path::new(same));
        }
        assert!(resolved(Path::new("postgres://u@h/d?password=env:MCPKG_NO_SUCH_VARIABLE")).is_err());
    }
}
