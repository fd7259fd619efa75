//! Holds the base folders of deployed files: the deploy root, the home folder, and the agents' own folders.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use super::config::TargetConfig;
use super::target::Target;
use mcpkg_base::disk::RealFolders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell;

/// The folders that deployed files are relative to.
#[derive(Clone, Debug)]
pub struct Bases {
    /// The deploy root, if there is one.
    pub root: Option<PathBuf>,
    pub home: PathBuf,
    /// Targets' own folders that an environment variable such as `CODEX_HOME` moves elsewhere.
    pub moved: BTreeMap<Target, PathBuf>,
}

impl Bases {
    pub fn root(&self) -> Result<&PathBuf> {
        self.root.as_ref().ok_or_else(|| {
            Error::new(
                Code::RootRequired,
                "Cannot deploy into this folder: it is the home folder, a folder above it, or an agent's own folder",
            )
            .hint("pass a folder with --root DIR, or bind a folder with `mcpkg project select NAME --here`")
            .hint("to write to the agents' own folders in your home folder, use --scope user")
        })
    }

    /// Returns a target's own folder: the one in its configuration, else the one in its environment variable, else the
    /// default.
    pub fn own(&self, config: &TargetConfig) -> PathBuf {
        let facts = config.target.facts();
        match facts.moved_by.as_ref().and_then(|moved| config.text(moved.option)) {
            Some(path) => self.expand(path),
            None => self.moved.get(&config.target).cloned().unwrap_or_else(|| self.home.join(facts.own_folder)),
        }
    }

    /// Refuses a config repo that sets a target's folder outside the home folder, the deploy root and the folders that
    /// environment variables name, unless the user allowed it. Somebody else's repo must not write anywhere else.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID`; the details have the keys `target` and `path`.
    pub fn check(&self, configs: &[TargetConfig], allows: impl Fn(&Path) -> bool) -> Result<()> {
        let mut real = RealFolders::default();
        for config in movable(configs) {
            let own = self.own(config);
            let found = real.of(&own);
            let mut known = self.root.iter().chain([&self.home]).chain(self.moved.values());
            let goes_up = found.components().any(|part| part == Component::ParentDir);
            if !goes_up && (known.any(|folder| found.starts_with(real.of(folder))) || allows(&found)) {
                continue;
            }
            let path = own.display().to_string();
            let why = format!(
                "The config repo writes {}'s files to `{path}`, which is neither in your home folder nor in the deploy root",
                config.target.facts().title
            );
            return Err(Error::new(Code::ConfigInvalid, why)
                .with_details(json!({ "target": config.target.name(), "path": path }))
                .hint(format!("to allow this, pass --allow-outside {}", shell::quote(&path))));
        }
        Ok(())
    }

    /// Returns the folders that deployed files must stay in: the deploy root, the home folder, and targets' own
    /// folders elsewhere.
    pub fn limits(&self, configs: &[TargetConfig]) -> Vec<PathBuf> {
        let known = self.root.iter().chain([&self.home]).chain(self.moved.values()).cloned();
        known.chain(movable(configs).map(|config| self.own(config))).collect()
    }

    fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None if path == "~" => self.home.clone(),
            None => PathBuf::from(path),
        }
    }
}

fn movable(configs: &[TargetConfig]) -> impl Iterator<Item = &TargetConfig> {
    configs.iter().filter(|config| config.target.facts().moved_by.is_some())
}

/// Returns the targets' own folders that environment variables name, such as `CODEX_HOME`.
pub fn moved() -> BTreeMap<Target, PathBuf> {
    let moved = |target: &Target| {
        let path = std::env::var_os(target.facts().moved_by.as_ref()?.variable)?;
        (!path.is_empty()).then(|| (*target, PathBuf::from(path)))
    };
    Target::all().iter().filter_map(moved).collect()
}

/// Returns the innermost of `folders` that contains `path`, or `path` itself if none does.
pub fn innermost<'b>(folders: &'b [PathBuf], path: &'b Path) -> &'b Path {
    let holding = folders.iter().filter(|folder| path.starts_with(folder));
    holding.max_by_key(|folder| folder.as_os_str().len()).map_or(path, PathBuf::as_path)
}
