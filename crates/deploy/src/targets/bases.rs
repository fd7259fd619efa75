//! The folders that targets' places are relative to.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use super::config::TargetConfig;
use super::target::Target;
use mcpkg_base::disk::RealFolders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell;

/// The deploy root, the home folder, and the targets' own folders that lie elsewhere.
#[derive(Clone, Debug)]
pub struct Bases {
    /// The deploy root, where one is known.
    pub root: Option<PathBuf>,
    /// The user's home folder.
    pub home: PathBuf,
    /// The targets' own folders that an environment variable moves, such as `CODEX_HOME`.
    pub moved: BTreeMap<Target, PathBuf>,
}

impl Bases {
    /// Returns the deploy root.
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

    /// Returns a target's own folder: what its configuration names, else its environment variable, else the usual one.
    pub fn own(&self, config: &TargetConfig) -> PathBuf {
        let facts = config.target.facts();
        match facts.moved_by.as_ref().and_then(|moved| config.text(moved.option)) {
            Some(path) => self.expand(path),
            None => self.moved.get(&config.target).cloned().unwrap_or_else(|| self.home.join(facts.own_folder)),
        }
    }

    /// Refuses a target's folder set by a config repo that is neither below the home folder nor below the deploy root,
    /// unless the user allowed it. A repo from somebody else may not write anywhere else.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID` with target and path.
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

    /// Returns the folders that nothing may leave: the deploy root, the home folder, the targets' own ones elsewhere.
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

/// Returns the targets' own folders that environment variables name.
pub fn moved() -> BTreeMap<Target, PathBuf> {
    let moved = |target: &Target| {
        let path = std::env::var_os(target.facts().moved_by.as_ref()?.variable)?;
        (!path.is_empty()).then(|| (*target, PathBuf::from(path)))
    };
    Target::all().iter().filter_map(moved).collect()
}

/// Returns the innermost of `folders` that holds `path`, else `path` itself.
pub fn innermost<'b>(folders: &'b [PathBuf], path: &'b Path) -> &'b Path {
    let holding = folders.iter().filter(|folder| path.starts_with(folder));
    holding.max_by_key(|folder| folder.as_os_str().len()).map_or(path, PathBuf::as_path)
}
