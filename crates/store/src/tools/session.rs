//! Installs for one session of a server. They are kept in memory until the session ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// The installs of one session of a server. Their packages are stored in the database.
#[derive(Debug)]
pub struct SessionInstalls {
    id: u64,
    /// Held during a transaction that changes the installs, so that they can be reset if it fails.
    changing: Mutex<()>,
    now: Mutex<Arc<Vec<SessionInstall>>>,
}

#[derive(Clone, Debug)]
pub(super) struct SessionInstall {
    pub(super) id: i64,
    pub(super) package: i64,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) active: bool,
    pub(super) publisher: Option<String>,
    pub(super) installed_at: Millis,
}

impl Default for SessionInstalls {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Self { id, changing: Mutex::default(), now: Mutex::default() }
    }
}

/// Two values are equal only if they belong to the same session.
impl PartialEq for SessionInstalls {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for SessionInstalls {}

impl SessionInstalls {
    /// Returns a number that is unique among the sessions of this process, and never 0.
    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn is_empty(&self) -> bool {
        self.now().is_empty()
    }

    /// Runs a transaction that may change the installs. If it fails, they are reset.
    ///
    /// # Errors
    /// Errors of the transaction.
    pub(super) fn change<T>(&self, transaction: impl FnOnce() -> Result<T>) -> Result<T> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.installs();
        transaction().inspect_err(|_| *self.now() = before)
    }

    /// Returns all installs, in the order in which they were installed.
    pub(super) fn installs(&self) -> Arc<Vec<SessionInstall>> {
        Arc::clone(&self.now())
    }

    /// Installs a package as the version that agents see. Returns false if it was already installed.
    pub(super) fn install(&self, new: SessionInstall) -> bool {
        self.edit(|kept| {
            kept.iter_mut().filter(|other| other.name == new.name).for_each(|other| other.active = false);
            match kept.iter_mut().find(|other| other.name == new.name && other.version == new.version) {
                Some(same) => {
                    (same.package, same.publisher, same.active) = (new.package, new.publisher, true);
                    false
                }
                None => {
                    let id = kept.iter().map(|other| other.id).max().unwrap_or(0) + 1;
                    kept.push(SessionInstall { id, active: true, ..new });
                    true
                }
            }
        })
    }

    /// Makes a version the one that agents see. Returns false if it is not installed.
    pub(super) fn activate(&self, name: &str, version: &str) -> bool {
        self.edit(|kept| {
            let is_there = kept.iter().any(|one| one.name == name && one.version == version);
            if is_there {
                kept.iter_mut().filter(|one| one.name == name).for_each(|one| one.active = one.version == version);
            }
            is_there
        })
    }

    pub(super) fn remove(&self, id: i64) {
        self.edit(|kept| kept.retain(|one| one.id != id));
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut Vec<SessionInstall>) -> T) -> T {
        edit(Arc::make_mut(&mut self.now()))
    }

    fn now(&self) -> MutexGuard<'_, Arc<Vec<SessionInstall>>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Error;

    fn kept(name: &str, version: &str) -> SessionInstall {
        let (name, version) = (name.to_owned(), version.to_owned());
        SessionInstall { id: 0, package: 1, name, version, active: false, publisher: None, installed_at: 0 }
    }

    fn seen(session: &SessionInstalls) -> Vec<(String, bool)> {
        session.installs().iter().map(|one| (format!("{}@{}", one.name, one.version), one.active)).collect()
    }

    #[test]
    fn one_version_of_a_tool_is_active() {
        let session = SessionInstalls::default();
        assert!(session.is_empty());
        assert!(session.install(kept("a/b", "1.0.0")) && session.install(kept("a/b", "2.0.0")));
        assert!(session.install(kept("a/c", "1.0.0")) && !session.install(kept("a/b", "1.0.0")));
        let of = |version: &str| format!("a/b@{version}");
        let other = ("a/c@1.0.0".to_owned(), true);
        assert_eq!(seen(&session), [(of("1.0.0"), true), (of("2.0.0"), false), other.clone()]);
        assert!(session.activate("a/b", "2.0.0") && !session.activate("a/b", "3.0.0"));
        assert_eq!(seen(&session), [(of("1.0.0"), false), (of("2.0.0"), true), other.clone()]);
        session.remove(2);
        assert_eq!(seen(&session), [(of("1.0.0"), false), other]);
    }

    #[test]
    fn a_transaction_that_fails_changes_nothing() {
        let session = SessionInstalls::default();
        session.install(kept("a/b", "1.0.0"));
        let failed = session.change(|| {
            session.install(kept("a/b", "2.0.0"));
            Err::<(), _>(Error::internal("a commit that failed"))
        });
        assert!(failed.is_err());
        assert_eq!(seen(&session), [("a/b@1.0.0".to_owned(), true)]);
        let removed = session.change(|| {
            session.remove(1);
            Ok(())
        });
        assert!(removed.is_ok());
        assert!(session.is_empty());
    }
}
