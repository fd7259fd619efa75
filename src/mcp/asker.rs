//! Who asked: the access key of a request, else this user on this machine.

use super::Config;

/// Who asked. Two connections of one asker are one asker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asker(String);

impl Asker {
    /// Returns who sent a request that reaches what `config` says.
    pub(super) fn of(config: &Config) -> Self {
        match &config.grant {
            Some(grant) => Self::key(&grant.key),
            None => Self::user(),
        }
    }

    /// Returns the holder of the access key of that name; no other key ever gets the name.
    pub(super) fn key(name: &str) -> Self {
        Self(format!("key:{name}"))
    }

    #[cfg(unix)]
    fn user() -> Self {
        Self(format!("user:{}", rustix::process::getuid().as_raw()))
    }

    #[cfg(not(unix))]
    fn user() -> Self {
        Self("user".to_owned())
    }

    /// Returns the asker as the database has it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
