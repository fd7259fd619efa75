//! Runs a test's own tool the way a tool call does, with bubblewrap or podman.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpkg_base::approved::Approved;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;
use mcpkg_registry::package::manifest::Base;
use mcpkg_registry::run::{Call, Outcome, Tool, Tree, Wished, run};
use mcpkg_registry::trust::Status;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use serde_json::Map;
use tempfile::TempDir;

use super::image;
use crate::support::{BINARY, skipped};

/// A folder with a database and a tool's folder, and the context to run the tool in.
pub(super) struct Sandbox {
    folder: TempDir,
    from: Base,
    pub(super) context: Context,
}

impl Sandbox {
    /// Returns a sandbox that uses bubblewrap. Returns `None`, and reports it as skipped, if bubblewrap does not work
    /// on this machine.
    pub(super) fn new() -> Option<Self> {
        Self::of(Base::Host)
    }

    /// Returns a sandbox that uses podman. Returns `None`, and reports it as skipped, if podman does not work on this machine.
    pub(super) fn podman() -> Option<Self> {
        match image::made() {
            Ok(name) => Self::of(Base::Image(name)),
            Err(why) => {
                skipped(&why);
                None
            }
        }
    }

    /// Returns the sandboxes that work on this machine: one with bubblewrap, one with podman.
    pub(super) fn each() -> Vec<Self> {
        [Self::new(), Self::podman()].into_iter().flatten().collect()
    }

    fn of(from: Base) -> Option<Self> {
        mcpkg_base::process::starter::set_program(PathBuf::from(BINARY));
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("tool")).expect("a folder");
        let store = Store::open(&folder.path().join("a.db")).expect("a database");
        let mut context = Context::shell(mcpkg::DOMAINS, store, Selection::default());
        context.approved = Approved::below(folder.path().join("approved"));
        let sandbox = Self { folder, from, context };
        match sandbox.run(&["true"]) {
            Err(error) if error.code() == Code::RunnerUnavailable => {
                skipped(error.message());
                None
            }
            outcome => {
                outcome.expect("true");
                Some(sandbox)
            }
        }
    }

    /// Returns whether the sandbox uses bubblewrap.
    pub(super) fn is_bubblewrap(&self) -> bool {
        self.from == Base::Host
    }

    /// Returns the folder that contains everything.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a tool call that runs this program.
    pub(super) fn call(&self, argv: &[&str]) -> Call {
        let tool = Tool { name: "test/tool".to_owned(), version: None, sha256: None, publisher: String::new() };
        Call {
            tool,
            action: "main".to_owned(),
            tree: Tree::Folder(self.path().join("tool")),
            from: self.from.clone(),
            build: Vec::new(),
            argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
            given: Vec::new(),
            input: Map::new(),
            variables: Vec::new(),
            limits: Wished { time: Some(Duration::from_secs(30)), ..Wished::default() },
            output_schema: None,
            verdict: Status::Unverified,
            is_local: true,
            runner: None,
        }
    }

    pub(super) fn run(&self, argv: &[&str]) -> Result<Outcome> {
        run(&self.context, &self.call(argv))
    }

    /// Runs a shell script and returns its output.
    #[track_caller]
    pub(super) fn printed(&self, script: &str) -> String {
        let outcome = self.run(&["sh", "-c", script]).unwrap_or_else(|error| panic!("{script}: {error:?}"));
        outcome.stdout
    }
}
