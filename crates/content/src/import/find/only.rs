//! Selects the files to import: by the patterns of `--only`, and by folders.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Inventory;
use super::root::relative;
use mcpkg_base::error::{Code, Error, Result};

/// The patterns of `--only`.
pub struct Only {
    named: Gitignore,
    /// The patterns of `named` that have no wildcards.
    exact: Gitignore,
    excluded: Gitignore,
}

impl Only {
    /// Parses the patterns. A pattern that begins with `!` excludes files.
    pub fn new(patterns: &[String]) -> Result<Self> {
        let failed = |error: ignore::Error| Error::new(Code::InvalidArgument, format!("--only: {error}"));
        let matcher = |is_wanted: &dyn Fn(&str) -> bool| {
            let mut builder = GitignoreBuilder::new("");
            for pattern in patterns.iter().filter(|pattern| is_wanted(pattern)) {
                builder.add_line(None, pattern.trim_start_matches('!')).map_err(failed)?;
            }
            builder.build().map_err(failed)
        };
        let excludes = |pattern: &str| pattern.starts_with('!');
        Ok(Self {
            named: matcher(&|pattern| !excludes(pattern))?,
            exact: matcher(&|pattern| !excludes(pattern) && !pattern.contains(['*', '?', '[']))?,
            excluded: matcher(&excludes)?,
        })
    }

    /// Returns whether a pattern names the file or a folder above it, and no pattern excludes the file. If all patterns
    /// exclude files, every other file is taken.
    pub fn takes(&self, relative: &str) -> bool {
        (self.named.is_empty() || self.names(relative)) && !matches(&self.excluded, relative)
    }

    /// Returns whether a pattern names the file or a folder above it.
    pub fn names(&self, relative: &str) -> bool {
        matches(&self.named, relative)
    }

    /// Returns whether a pattern without wildcards names the file or a folder above it.
    pub fn names_exactly(&self, relative: &str) -> bool {
        matches(&self.exact, relative)
    }
}

/// Files and folders of a repository, and whether each was chosen. A file that is not listed itself belongs to the
/// innermost listed folder above it.
#[derive(Clone, Debug, Default)]
pub struct Parts(pub BTreeMap<String, bool>);

impl Parts {
    /// Returns whether the file belongs to a part that was chosen. The part with an empty path is the whole repository.
    pub fn takes(&self, relative: &str) -> bool {
        let ends = relative.rmatch_indices('/').map(|(at, _)| at);
        let mut above = std::iter::once(relative.len()).chain(ends).chain([0]);
        above.find_map(|end| self.0.get(&relative[..end])).copied().unwrap_or_default()
    }

    /// Also chooses the targets of links in chosen parts, if they are below `base`.
    pub fn follow(&mut self, found: &Inventory, base: &Path) {
        let files = found.candidates.values().filter_map(|file| Some((&file.relative, file.real.as_ref()?)));
        let folders = found.folder_links.values().map(|link| (&link.relative, &link.real));
        let chosen = files.chain(folders).filter(|(relative, _)| self.takes(relative));
        let targets = chosen.filter(|(_, real)| real.starts_with(base)).map(|(_, real)| relative(real, base));
        let targets: Vec<_> = targets.collect();
        self.0.extend(targets.into_iter().map(|path| (path, true)));
    }
}

fn matches(patterns: &Gitignore, relative: &str) -> bool {
    patterns.matched_path_or_any_parents(relative, false).is_ignore()
}
