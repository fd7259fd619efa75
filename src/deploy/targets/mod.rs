//! Where each target reads its modules.

mod current;
mod original;

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::deploy::desired::{Desired, Landing};
use crate::deploy::module::{Kind, Module, Target};
use crate::deploy::source::shell_word;
use crate::disk::RealFolders;
use crate::error::{Code, Error, Result};

/// Whose table of places a target follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Contract 000's original: what config repos were made for.
    Original,
    /// Where the agents read today.
    Current,
}

/// A target as its source configures it.
#[derive(Clone, Debug)]
pub struct Aim {
    /// The target.
    pub target: Target,
    /// Whether it lands in the user's own folders.
    pub user: bool,
    /// Whether it lands below the deploy root.
    pub project: bool,
    /// Whose table it follows.
    pub layout: Layout,
    /// The options of a config repo.
    pub options: Map<String, Value>,
}

impl Aim {
    /// Returns a yes-or-no option; what is neither counts as the default.
    pub fn option(&self, name: &str, default: bool) -> bool {
        match self.options.get(name) {
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) if number.as_i64() == Some(1) => true,
            Some(Value::Number(number)) if number.as_i64() == Some(0) => false,
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => true,
                "false" | "no" | "0" => false,
                _ => default,
            },
            _ => default,
        }
    }
}

/// The folders that places are counted from.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The deploy root, where one is known.
    pub root: Option<PathBuf>,
    /// The user's home folder.
    pub home: PathBuf,
    /// `CODEX_HOME`, where it is set.
    pub codex_home: Option<PathBuf>,
}

impl Ground {
    /// Returns the deploy root.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED`.
    pub fn root(&self) -> Result<&PathBuf> {
        self.root.as_ref().ok_or_else(|| {
            Error::new(
                Code::RootRequired,
                "No deploy root is known: this folder is the home folder, above it, or an agent's own",
            )
            .hint("name one with --root DIR, or bind a folder with `mcpkg project select NAME --here`")
            .hint("--scope user writes to the agents' own folders of the user")
        })
    }

    /// Returns the folder of Codex.
    fn codex(&self, aim: &Aim) -> PathBuf {
        let configured = aim.options.get("codex_home").and_then(Value::as_str).filter(|path| !path.is_empty());
        match configured {
            Some(path) => self.expand(path),
            None => self.codex_home.clone().unwrap_or_else(|| self.home.join(".codex")),
        }
    }

    /// Refuses a place for Codex, named by a config repo, that is neither below the home folder nor below the deploy root,
    /// unless the user allowed it: a repo from somebody else writes nowhere else.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID` with target and path.
    pub fn check(&self, aims: &[Aim], allows: impl Fn(&Path) -> bool) -> Result<()> {
        let Some(aim) = aims.iter().find(|aim| aim.target == Target::Codex) else { return Ok(()) };
        let mut real = RealFolders::default();
        let place = self.codex(aim);
        let found = real.of(&place);
        let mut own = self.root.iter().chain([&self.home]).chain(&self.codex_home);
        let goes_up = found.components().any(|part| part == Component::ParentDir);
        if !goes_up && (own.any(|folder| found.starts_with(real.of(folder))) || allows(&found)) {
            return Ok(());
        }
        let path = place.display().to_string();
        let why = format!(
            "The config repo sends Codex' files to `{path}`, which is neither in your home folder nor in the deploy root"
        );
        Err(Error::new(Code::ConfigInvalid, why)
            .with_details(json!({ "target": "codex", "path": path }))
            .hint(format!("where that is meant, allow it with --allow-outside {}", shell_word(&path))))
    }

    fn expand(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None if path == "~" => self.home.clone(),
            None => PathBuf::from(path),
        }
    }
}

/// Returns the folders that nothing may leave: the deploy root, the home folder, Codex's.
pub fn bases(aims: &[Aim], ground: &Ground) -> Vec<PathBuf> {
    let bases = ground.root.iter().chain([&ground.home]).chain(ground.codex_home.as_ref());
    let codex = aims.iter().find(|aim| aim.target == Target::Codex).map(|aim| ground.codex(aim));
    bases.cloned().chain(codex).collect()
}

/// Returns the innermost of `bases` that holds `root`, else `root` itself.
pub fn base_of<'b>(bases: &'b [PathBuf], root: &'b Path) -> &'b Path {
    let holding = bases.iter().filter(|base| root.starts_with(base));
    holding.max_by_key(|base| base.as_os_str().len()).map_or(root, PathBuf::as_path)
}

/// Lands the modules for the targets `selected`. All that are configured take part, so that a choice of targets never
/// moves a text from one file to another.
///
/// # Errors
/// `E_ROOT_REQUIRED`, `E_IO_INVALID_PATH`, `E_DESIRED_STATE_CONFLICT`.
pub fn land(modules: &[Module], aims: &[Aim], selected: &[Target], ground: &Ground) -> Result<Desired> {
    let mut landing = Landing::below(bases(aims, ground));
    let needs_root = |aim: &&Aim| aim.project && selected.contains(&aim.target);
    if aims.iter().any(|aim| needs_root(&aim)) {
        ground.root()?;
    }
    let reachable: Vec<Aim> =
        aims.iter().cloned().map(|aim| Aim { project: aim.project && ground.root.is_some(), ..aim }).collect();
    for aim in reachable.iter().filter(|aim| aim.layout == Layout::Original) {
        original::land(&mut landing, modules, aim, ground)?;
    }
    let current: Vec<&Aim> = reachable.iter().filter(|aim| aim.layout == Layout::Current).collect();
    current::land(&mut landing, modules, &current, ground)?;
    let mut desired = landing.finish(selected);
    warn_of_the_homeless(&mut desired, modules, aims, selected);
    Ok(desired)
}

/// A module that was meant for a target and has no place there is told of, and not passed over in silence.
fn warn_of_the_homeless(desired: &mut Desired, modules: &[Module], aims: &[Aim], selected: &[Target]) {
    let mut landed = std::collections::HashSet::new();
    for output in desired.outputs.values() {
        for part in &output.parts {
            landed.extend(output.targets.iter().map(|target| (part.module_id.as_str(), *target)));
        }
    }
    let mut warnings = Vec::new();
    for module in modules {
        for target in module.targets.iter().filter(|target| selected.contains(target)) {
            if !landed.contains(&(module.id.as_str(), *target)) && aims.iter().any(|aim| aim.target == *target) {
                warnings.push(homeless(&module.id, module.kind, *target));
            }
        }
        if module.targets.is_empty() && !selected.iter().any(|target| landed.contains(&(module.id.as_str(), *target))) {
            warnings.push(format!(
                "module '{}' ({}) has no place in any of the targets",
                module.id,
                module.kind.word()
            ));
        }
    }
    desired.warnings.extend(warnings);
}

fn homeless(id: &str, kind: Kind, target: Target) -> String {
    format!("module '{id}' ({}) has no place in {}", kind.word(), target.name())
}

/// Returns the modules of a kind that are for a target.
fn of_kind(modules: &[Module], kind: Kind, target: Target) -> impl Iterator<Item = &Module> {
    modules.iter().filter(move |module| module.kind == kind && module.is_for(target))
}

/// The last part of a module file's path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
