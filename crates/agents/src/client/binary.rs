//! Identifies the program that an entry starts, and finds the path of the running mcpkg.

use std::path::{Path, PathBuf};

use super::runs::Runs;
use mcpkg_base::error::{Code, Error, Result};

/// The program that an entry starts, compared with the running mcpkg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// The running program.
    This,
    /// A different program.
    Another,
    /// A missing program.
    Missing,
    /// No program, because the entry connects to a URL.
    None,
}

impl Binary {
    /// Checks the program that an entry starts.
    pub fn of(runs: &Runs) -> Self {
        let Runs::Command(words) = runs else { return Binary::None };
        let Some(program) = words.first().and_then(|word| resolved(word)) else { return Binary::Missing };
        let this = std::env::current_exe().ok().and_then(|path| mcpkg_base::platform::real(&path).ok());
        match mcpkg_base::platform::real(&program) {
            Ok(real) if Some(&real) == this.as_ref() => Binary::This,
            Ok(_) => Binary::Another,
            Err(_) => Binary::Missing,
        }
    }

    /// Returns the name for JSON output, such as `another`.
    pub const fn name(self) -> &'static str {
        match self {
            Binary::This => "this",
            Binary::Another => "another",
            Binary::Missing => "missing",
            Binary::None => "none",
        }
    }

    /// Returns a description for people.
    pub const fn shown(self) -> &'static str {
        match self {
            Binary::This => "this one",
            Binary::Another => "another one",
            Binary::Missing => "missing",
            Binary::None => "-",
        }
    }
}

/// Returns the path of a program. A bare name is searched on PATH.
pub fn resolved(program: &str) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.is_file().then(|| path.to_owned());
    }
    on_path(program)
}

/// Finds a program in the absolute folders of PATH.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let folders = std::env::join_paths(std::env::split_paths(&folders).filter(|folder| folder.is_absolute())).ok()?;
    which::which_in_global(program, Some(folders)).ok()?.next()
}

/// Returns the path of the running mcpkg.
pub fn running() -> Result<String> {
    let gone = |why: String| {
        Error::new(Code::FileFailed, format!("mcpkg cannot find its own program: {why}"))
            .hint("start mcpkg again with its full path")
    };
    let path = std::env::current_exe().map_err(|error| gone(error.to_string()))?;
    if !path.is_file() {
        return Err(gone(format!("`{}` was replaced or deleted", path.display())));
    }
    utf8(&path)
}

pub fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(
            Code::InvalidPath,
            format!(
                "The path `{}` is not valid UTF-8, so it cannot be written to a configuration file",
                path.display()
            ),
        )
    })
}
