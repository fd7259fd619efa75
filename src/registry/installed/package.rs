//! Packages on their way into the database: fetched, and compared with what was asked for.

use super::checked;
use crate::clock::Millis;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::registry::backend::{Resolved, download};
use crate::registry::package::archive::{self, Opened};
use crate::registry::trust::Subject;
use crate::registry::trust::target::at_path;
use crate::store::tools::packages::{Release, Visibility};
use crate::store::tools::registries::PATH;

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

    /// Packs the folder, or opens the archive, that a path of the user's leads to; `None` where a text names a tool.
    ///
    /// # Errors
    /// As [`at_path`].
    pub fn at_path(text: &str) -> Result<Option<Self>> {
        let Some(opened) = at_path(text)? else { return Ok(None) };
        let (name, version) = (opened.manifest.name.to_string(), opened.manifest.published("installed")?.to_string());
        let subject = Subject { name, version, sha256: opened.sha256 };
        Ok(Some(Self { subject, opened }))
    }

    /// Returns what is kept of a package that came from a path, in the place of what a registry says.
    pub fn without_registry(&self, now: Millis) -> Release {
        Release {
            registry: PATH.to_owned(),
            name: self.subject.name.clone(),
            version: self.subject.version.clone(),
            sha256: self.subject.sha256,
            size: self.opened.bytes().len() as u64,
            publisher: None,
            visibility: Visibility::Private,
            published_at: now,
            yank: None,
        }
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
