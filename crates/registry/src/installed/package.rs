//! Fetches packages, and checks that each is the one that was requested.

use serde_json::Map;

use super::calling::tool_of;
use super::checked;
use crate::backend::{Resolved, download};
use crate::package::archive::{self, Opened};
use crate::run::{Call, Tree, Wished, build};
use crate::trust::target::at_path;
use crate::trust::{self, Subject, Verb, Verdict};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::tools::packages::{Release, Visibility};
use mcpkg_store::tools::registries::PATH;

pub struct Package {
    pub subject: Subject,
    /// The archive, opened and fully read.
    pub opened: Opened,
}

impl Package {
    /// Fetches and opens the archive of a version. Fails if the manifest does not match the request.
    pub fn fetch(context: &Context, resolved: &Resolved) -> Result<Self> {
        let opened = archive::open(download(context, resolved)?)?;
        let subject = checked::subject_of(resolved, &opened.manifest, opened.sha256)?;
        Ok(Self { subject, opened })
    }

    /// Packs the folder or opens the archive at a path; returns `None` if the text is a tool's name.
    pub fn at_path(text: &str) -> Result<Option<Self>> {
        let Some(opened) = at_path(text)? else { return Ok(None) };
        let (name, version) = (opened.manifest.name.to_string(), opened.manifest.published("installed")?.to_string());
        let subject = Subject { name, version, sha256: opened.sha256 };
        Ok(Some(Self { subject, opened }))
    }

    /// Returns the release of a package that came from a path instead of a registry.
    pub fn without_registry(&self, now: Millis) -> Release {
        Release {
            registry: PATH.to_owned(),
            name: self.subject.name.clone(),
            version: self.subject.version.clone(),
            sha256: self.subject.sha256,
            size: self.opened.content.size(),
            publisher: None,
            visibility: Visibility::Private,
            published_at: now,
            yank: None,
        }
    }

    /// Runs the package's build in a sandbox before the install. This way the first call does not have to wait, and
    /// a package that fails to build is not installed. A failed build leaves nothing behind.
    pub fn build(&self, context: &Context, verdict: &Verdict) -> Result<()> {
        let manifest = &self.opened.manifest;
        if manifest.builds().is_empty() {
            return Ok(());
        }
        trust::require(context, Verb::Build, &self.subject)?;
        let call = Call {
            tool: tool_of(&self.subject, Some(verdict)),
            action: String::new(),
            tree: Tree::Fetched(self.opened.content.clone()),
            from: manifest.from.clone(),
            build: manifest.builds(),
            argv: Vec::new(),
            given: Vec::new(),
            input: Map::new(),
            variables: Vec::new(),
            limits: Wished { memory: manifest.resources.memory, disk: manifest.resources.disk, ..Wished::default() },
            output_schema: None,
            verdict: verdict.status,
            is_local: context.caller.is_on_this_machine(),
            runner: None,
        };
        build::ahead(context, &call)
    }
}
