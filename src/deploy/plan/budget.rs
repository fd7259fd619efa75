//! How much an agent loads in each session, now and after a deploy.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::prepare::Prepared;
use super::{After, Change};
use crate::deploy::desired::{Output, layout, rule};
use crate::deploy::targets::facts::{AgentsMd, OwnInstructions, Rules};
use crate::deploy::targets::{Target, TargetConfig};
use crate::disk::{self, RealFolders};
use crate::error::Result;
use crate::store::modules::Applies;

const AGENTS_MD: &str = "AGENTS.md";

/// Bytes of a rule of the user's that is looked into; a longer one counts without that.
const MAX_LOOKED_INTO: u64 = 1 << 20;

/// What one agent loads in each session.
#[derive(Debug)]
pub struct Budget {
    target: Target,
    /// The files with their sizes.
    files: BTreeMap<PathBuf, u64>,
    limit: Option<Limit>,
}

/// An agent's limit, and how near the deploy comes to it.
#[derive(Debug)]
struct Limit {
    /// The most bytes that it loads.
    bytes: u64,
    /// The most bytes that stand on the way from the root to a folder.
    used: u64,
    /// The last file on that way, which is cut first.
    at: PathBuf,
    /// The modules on that way, the largest first.
    modules: Vec<String>,
}

impl Budget {
    /// The bytes of all files.
    fn bytes(&self) -> u64 {
        self.files.values().sum()
    }

    /// The data of it.
    pub fn json(&self) -> Value {
        let file = |(path, bytes): (&PathBuf, &u64)| json!({ "path": path.display().to_string(), "bytes": bytes });
        let limit = self
            .limit
            .as_ref()
            .map(|limit| json!({ "bytes": limit.bytes, "used": limit.used, "path": limit.at.display().to_string() }));
        json!({
            "target": self.target.name(),
            "bytes": self.bytes(),
            "tokens": self.bytes() / 4,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "limit": limit,
        })
    }

    /// The warning where the agent would not load all of it.
    pub fn warning(&self) -> Option<String> {
        let Limit { bytes, used, at, modules } = self.limit.as_ref().filter(|limit| limit.used > limit.bytes)?;
        let what = match modules.as_slice() {
            [] => String::new(),
            modules => {
                format!("; say what the largest apply to with `mcpkg module set ID --globs`: {}", modules.join(", "))
            }
        };
        let (title, cut) = (self.target.facts().title, used - bytes);
        Some(format!(
            "{title} loads {bytes} bytes of {AGENTS_MD} files at most: the last {cut} of `{}` are cut{what}",
            at.display()
        ))
    }
}

/// Returns the line that tells a person what each agent loads.
pub fn line(budgets: &[Budget]) -> String {
    let one = |budget: &Budget| {
        format!("{} {} bytes (about {} tokens)", budget.target.facts().title, budget.bytes(), budget.bytes() / 4)
    };
    format!("Loaded in each session: {}", budgets.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// When the files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As they stand on disk.
    Now,
    /// As the deploy leaves them.
    After,
}

/// Returns what each of the chosen targets loads, in the order of their names.
///
/// # Errors
/// `E_IO_PERMISSION_DENIED`, `E_IO_PATH_TOO_LONG`, `E_FILE_FAILED`.
pub fn of(prepared: &Prepared, when: When) -> Result<Vec<Budget>> {
    let site = &prepared.site;
    let changes = prepared.plan.changes.iter().filter(|_| when == When::After);
    let changes = changes.map(|change| (change.path.as_path(), change)).collect();
    let mut files = Files { prepared, changes, when, folders: RealFolders::default() };
    let chosen = site.configs.iter().filter(|config| site.selected.contains(&config.target));
    chosen.map(|config| files.budget(config)).collect()
}

/// The files at one time.
struct Files<'p> {
    prepared: &'p Prepared,
    /// The changes by path; none where the files are looked at as they are.
    changes: HashMap<&'p Path, &'p Change>,
    when: When,
    folders: RealFolders,
}

impl Files<'_> {
    fn budget(&mut self, config: &TargetConfig) -> Result<Budget> {
        let (target, bases) = (config.target, &self.prepared.site.bases);
        let (project, user) = (&target.facts().project, &target.facts().user);
        let mut budget = Budget { target, files: BTreeMap::new(), limit: None };
        if let (true, Some(root)) = (config.project, &bases.root) {
            let is_hidden = match project.agents_md {
                AgentsMd::Always => false,
                AgentsMd::UnlessHiddenBy(file) => layout::hiding_text(root, file)?.is_some(),
            };
            let shared = Some(AGENTS_MD).filter(|_| !is_hidden);
            for file in shared.iter().chain(project.always_loaded) {
                self.add(&mut budget, &root.join(file));
            }
            if let Some(OwnInstructions::Rules(rules)) = project.own_instructions {
                self.add_rules(&mut budget, rules, root)?;
            }
            budget.limit = project.agents_md_limit.and_then(|bytes| self.limit(target, root, bytes));
        }
        if config.user {
            if let Some(file) = user.instructions {
                self.add(&mut budget, &bases.own(config).join(file));
            }
            if let Some(rules) = user.scoped_rules {
                self.add_rules(&mut budget, rules, &bases.home)?;
            }
        }
        Ok(budget)
    }

    /// Adds a file once, whatever links lead to it.
    fn add(&mut self, budget: &mut Budget, path: &Path) {
        let real = self.real(path);
        let size = self.size(&real);
        if size > 0 {
            budget.files.insert(real, size);
        }
    }

    /// Adds the rules that always apply: those that the deploy writes, and the user's own.
    fn add_rules(&mut self, budget: &mut Budget, rules: Rules, base: &Path) -> Result<()> {
        let always = |bytes: &[u8]| rule::read(&rules.matter, bytes) == Some(Applies::Always);
        let folder = self.folders.of(&base.join(rules.folder));
        let outputs = &self.prepared.plan.desired.outputs;
        let of_target = |output: &&Output| output.targets.contains(&budget.target) && output.path.starts_with(&folder);
        if self.when == When::After {
            let ours: Vec<&Output> =
                outputs.values().filter(of_target).filter(|output| always(&output.bytes)).collect();
            budget.files.extend(ours.into_iter().map(|output| (output.path.clone(), output.bytes.len() as u64)));
        }
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            let Ok(listing) = std::fs::read_dir(&folder) else { continue };
            for entry in listing.flatten() {
                let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                let is_rule = kind.is_file() && path.to_string_lossy().ends_with(rules.ending);
                let is_counted = self.when == When::After && outputs.contains_key(&path);
                if !is_rule || is_counted || self.changes.contains_key(path.as_path()) {
                    continue;
                }
                let size = entry.metadata().map_or(0, |metadata| metadata.len());
                if size > MAX_LOOKED_INTO || always(&disk::read(&path)?) {
                    budget.files.insert(path, size);
                }
            }
        }
        Ok(())
    }

    /// Returns how near the files from the root to a folder come to a limit, on the way that has the most.
    fn limit(&mut self, target: Target, root: &Path, bytes: u64) -> Option<Limit> {
        let real_root = self.folders.of(root);
        let outputs = &self.prepared.plan.desired.outputs;
        let mut ends: HashSet<&Path> = HashSet::from([real_root.as_path()]);
        let is_agents_md = |output: &&Output| output.targets.contains(&target) && output.path.ends_with(AGENTS_MD);
        ends.extend(outputs.values().filter(is_agents_md).filter_map(|output| output.path.parent()));
        let ways = ends.into_iter().filter(|end| end.starts_with(&real_root)).map(|end| {
            let folders = end.ancestors().take_while(|folder| folder.starts_with(&real_root));
            let files: Vec<PathBuf> = folders.map(|folder| folder.join(AGENTS_MD)).collect();
            (files.iter().map(|file| self.size(file)).sum::<u64>(), files)
        });
        // Of two with as many bytes the first by path, so that a plan says the same each time.
        let (used, files) = ways.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)))?;
        let parts = files.iter().filter_map(|file| outputs.get(file)).flat_map(|output| &output.parts);
        let mut modules: Vec<(usize, &str)> = parts.map(|part| (part.bytes.len(), part.module_id.as_str())).collect();
        modules.sort_unstable_by(|a, b| b.cmp(a));
        modules.dedup();
        let modules = modules.into_iter().take(3).map(|(_, id)| id.to_owned()).collect();
        files.into_iter().next().map(|at| Limit { bytes, used, at, modules })
    }

    /// Where a file really is, after links.
    fn real(&mut self, path: &Path) -> PathBuf {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => self.folders.of(folder).join(name),
            _ => path.to_owned(),
        }
    }

    fn size(&self, path: &Path) -> u64 {
        match self.changes.get(path).map(|change| &change.after) {
            Some(After::File { bytes, .. }) => bytes.len() as u64,
            Some(After::Absent | After::Link(_)) => 0,
            None => path.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |metadata| metadata.len()),
        }
    }
}
