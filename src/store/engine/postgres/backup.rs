//! Backups into a file, and the way back from one.

use std::path::{Path, PathBuf};

use super::database::Database;
use crate::error::Result;
use crate::store::Db;
use crate::store::engine::Progress;

impl Database {
    /// As [`crate::store::Store::backup`].
    pub(in crate::store) fn backup(&self, _to: &Path, _progress: &Progress<'_>) -> Result<u64> {
        todo!()
    }

    /// As [`crate::store::Store::restore`].
    pub(in crate::store) fn restore(
        &self,
        _from: &Path,
        _kept: &Path,
        _carry: impl FnOnce(&Db<'_>) -> Result<()>,
        _progress: &Progress<'_>,
    ) -> Result<()> {
        todo!()
    }

    /// As [`crate::store::Store::kept_beside`].
    pub(in crate::store) fn kept_beside(&self, _stamp: &str) -> PathBuf {
        todo!()
    }
}
