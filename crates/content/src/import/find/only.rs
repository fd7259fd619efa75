//! Selects the files to import by the patterns of `--only`.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use mcpkg_base::error::{Code, Error, Result};

/// The patterns of `--only`.
pub struct Only {
    named: Gitignore,
    excluded: Gitignore,
}

impl Only {
    /// Parses the patterns. A pattern that begins with `!` excludes files.
    pub fn new(patterns: &[String]) -> Result<Self> {
        let failed = |error: ignore::Error| Error::new(Code::InvalidArgument, format!("--only: {error}"));
        let matcher = |excludes: bool| {
            let mut builder = GitignoreBuilder::new("");
            for pattern in patterns.iter().filter(|pattern| pattern.starts_with('!') == excludes) {
                builder.add_line(None, pattern.trim_start_matches('!')).map_err(failed)?;
            }
            builder.build().map_err(failed)
        };
        Ok(Self { named: matcher(false)?, excluded: matcher(true)? })
    }

    /// Returns whether a pattern matches the file or a folder above it, and no pattern excludes the file. Without patterns
    /// that name files, all match.
    pub fn takes(&self, relative: &str) -> bool {
        (self.named.is_empty() || self.names(relative)) && !matches(&self.excluded, relative)
    }

    /// Returns whether a pattern names the file or a folder above it.
    pub fn names(&self, relative: &str) -> bool {
        matches(&self.named, relative)
    }
}

fn matches(patterns: &Gitignore, relative: &str) -> bool {
    patterns.matched_path_or_any_parents(relative, false).is_ignore()
}
