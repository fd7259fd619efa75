//! Packages on their way into the database: fetched, and compared with what was asked for.

use super::checked;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::registry::backend::{Resolved, download};
use crate::registry::package::archive::{self, Opened};
use crate::registry::trust::Subject;

/// A package whose archive was checked.
pub struct Package {
    /// What it is, as one archive.
    pub subject: Subject,
    /// Its archive, read whole.
    pub opened: Opened,
}

impl Package {
    /// Brings the archive of a version, opens it and compares what it says of itself with what was asked for.
    ///
    /// # Errors
    /// As [`download`]; `E_ARCHIVE_INVALID`, `E_MANIFEST_INVALID`.
    pub fn fetch(context: &Context, resolved: &Resolved) -> Result<Self> {
        let opened = archive::open(download(context, resolved)?.archive.bytes)?;
        let subject = checked::subject_of(resolved, &opened.manifest, opened.sha256)?;
        Ok(Self { subject, opened })
    }

    /// Refuses what has to be built before it runs.
    ///
    /// # Errors
    /// `E_RUNNER_UNAVAILABLE`.
    pub fn refuse_builds(&self) -> Result<()> {
        if self.opened.manifest.build.is_empty() && self.opened.manifest.postinstall.is_empty() {
            return Ok(());
        }
        let what = format!("{} has to be built when it is installed, which is not supported", self.subject.reference());
        Err(Error::new(Code::RunnerUnavailable, what).hint("ask its publisher for a package that is built"))
    }
}
