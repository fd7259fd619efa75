//! Compiles test modules from text, and runs them.

mod calls;
mod ends;
mod hostile;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::run::limits::Limits;
use mcpkg_base::clock::Clock;

/// The start of every test module: imports of all WASI calls, a memory, and shared functions.
pub(super) const PRELUDE: &str = include_str!("prelude.wat");

/// The setup of a test run.
pub(super) struct Trial {
    files: FileMap,
    pub(super) arguments: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) inputs: FileMap,
    pub(super) limits: Limits,
    pub(super) cancelled: CancellationToken,
}

impl Trial {
    /// Returns the setup for a module with this text after [`PRELUDE`].
    pub(super) fn of(text: &str) -> Self {
        Self::whole(&format!("(module {PRELUDE} {text})"))
    }

    /// Returns the setup for a module with exactly this text.
    pub(super) fn whole(text: &str) -> Self {
        let module = wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"));
        Self {
            files: FileMap::from([("main.wasm".to_owned(), Arc::from(module))]),
            arguments: vec!["main.wasm".to_owned()],
            variables: BTreeMap::new(),
            inputs: FileMap::new(),
            limits: Limits { time: Duration::from_secs(60), ..Limits::default() },
            cancelled: CancellationToken::new(),
        }
    }

    /// Adds a file to the package.
    pub(super) fn with(mut self, path: &str, content: &str) -> Self {
        self.files.insert(path.to_owned(), Arc::from(content.as_bytes()));
        self
    }

    pub(super) fn program(&self) -> Result<Program, String> {
        Program::compile("main.wasm", Arc::new(self.files.clone()))
    }

    pub(super) fn run(&self) -> Ran {
        let program = self.program().expect("a program");
        let setup = Setup {
            package: &program.files,
            arguments: &self.arguments,
            variables: &self.variables,
            inputs: &self.inputs,
            limits: self.limits,
            clock: Clock::fixed(1_700_000_000_000),
            cancelled: self.cancelled.clone(),
        };
        run(&program, &setup, None).expect("the interpreter is fine")
    }

    /// Runs the module and returns its standard output; it must end with status 0.
    #[track_caller]
    pub(super) fn printed(&self) -> String {
        let ran = self.run();
        assert_eq!(ran.end, End::Exited(0), "{}", ran.stderr.text());
        ran.stdout.text()
    }
}
