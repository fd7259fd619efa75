//! `mcpkg status`: shows which files have drifted, and why.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::answer::{self, PAGED, Page};
use crate::desired::{Desired, Root};
use crate::operations::with_schema;
use crate::plan::budget::{self, Budget, When};
use crate::plan::overlooked;
use crate::plan::prepare::Prepared;
use crate::plan::{self, Change, Drift, Op};
use crate::source::{Choice, Site};
use mcpkg_base::disk;
use mcpkg_base::disk::folder;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256::Sha;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// Contract 000's kinds of drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Deployed, but missing on disk
    Missing,
    /// Different from the content to deploy
    Modified,
    /// On disk, but not deployed by mcpkg
    Extra,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Modified => "modified",
            Kind::Extra => "extra",
        }
    }
}

/// Show what drifted
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Status {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Show only these kinds of drift
    #[arg(long, value_name = "KIND,...", value_enum, value_delimiter = ',')]
    #[serde(default)]
    only: Vec<Kind>,
    #[command(flatten)]
    #[serde(flatten)]
    page: Page,
    /// Also show your own files, which mcpkg did not write
    #[arg(long)]
    #[serde(skip)]
    extras: bool,
    /// Accepted for compatibility; this command never writes files
    #[arg(long, hide = true)]
    #[serde(default)]
    dry_run: bool,
    /// Exit with status 3 if anything drifted
    #[arg(long)]
    #[serde(skip)]
    check: bool,
}

impl Operation for Status {
    const TOOL: &'static str = "status";
    const CLI: &'static [&'static str] = &["status"];
    const TITLE: &'static str = "Status of the deployed files";
    const ABOUT: &'static str =
        "Show which agent files are missing, modified or extra, and whether the user or the source changed each file";
    const HELP: &'static str = "To list files that mcpkg did not write, use --extras or --only extra. The output of --json always \
        includes these files.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg status", "mcpkg status --only modified,missing", "mcpkg status --check || echo drifted"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("status");
    const ADDED: &'static str = PAGED;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let _ = self.dry_run;
        let prepared = Prepared::new(context, &self.choice)?;
        let all = drifted(&prepared)?;
        let is_shown = |item: &Item| self.only.is_empty() || self.only.contains(&item.kind);
        let shown: Vec<&Item> = all.iter().filter(|item| is_shown(item)).collect();
        let (listed, rest) = self.page.of(context, &prepared.site.place.root, &shown, |item| &item.path)?;
        let roots: Vec<Value> = prepared
            .plan
            .desired
            .roots
            .iter()
            .map(|root| {
                let of_root = shown.iter().filter(|item| item.is_of(root)).copied();
                json!({
                    "target": root.target.name(),
                    "root": root.path.display().to_string(),
                    "root_posix": disk::posix(&root.path),
                    "summary": counts(of_root),
                })
            })
            .collect();
        let mut data = json!({
            "profile": prepared.site.profile,
            "targets": plan::names(&prepared.site.selected),
            "drift": listed.iter().map(|item| item.json()).collect::<Vec<_>>(),
            "summary": counts(shown.iter().copied()),
            "summary_by_root": roots,
        });
        if !self.only.is_empty() {
            data["summary_total"] = counts(all.iter());
        }
        let actions = next_actions(context, &prepared, &all);
        if !actions.is_empty() {
            data["next_actions"] = actions.iter().map(|(_, command)| json!(command)).collect();
            data["next_actions_detailed"] =
                actions.iter().map(|(action, command)| json!({ "action": action, "command": command })).collect();
        }
        let budgets = budget::of(&prepared, When::Now)?;
        data["budget"] = budgets.iter().map(Budget::json).collect();
        let asked = self.extras || self.only.contains(&Kind::Extra);
        let is_told = |item: &&&Item| asked || !item.is_own();
        let differs = shown.iter().any(|item| is_told(&item));
        let drifted: Vec<&Item> = listed.iter().filter(is_told).copied().collect();
        let body = Body::Several(vec![table(&drifted, &prepared.site), Body::Sentence(budget::lines(&budgets))]);
        let overlooked = overlooked::warnings(&prepared.site, &prepared.plan.desired)?;
        let mut reply = Reply::new(body, data).warn(prepared.warnings.iter().cloned());
        answer::add_rest(&mut reply, rest, Self::TOOL);
        reply = reply.warn(budgets.iter().filter_map(Budget::warning));
        reply = reply.warn(overlooked);
        reply.differs = self.check && differs;
        if context.is_shell() && (asked || !all.iter().all(Item::is_own)) {
            for (_, command) in actions {
                reply = reply.hint(format!("`{}`", command.replace(" --json", "").replace(" --yes", "")));
            }
        }
        Ok(answer::reply(context, &prepared.site, &self.page, reply))
    }
}

/// A file that has drifted.
#[derive(Debug)]
pub struct Item {
    /// The kind that contract 000 defines.
    pub kind: Kind,
    pub state: Drift,
    targets: Vec<String>,
    root: PathBuf,
    pub path: PathBuf,
    expected: Option<Sha>,
    actual: Option<Sha>,
    /// The modules that the file is made of.
    pub module_ids: Vec<String>,
}

impl Item {
    /// Whether the file is the user's own: no module produces it, and mcpkg did not write it.
    fn is_own(&self) -> bool {
        self.kind == Kind::Extra && self.module_ids.is_empty()
    }

    fn is_of(&self, root: &Root) -> bool {
        self.root == root.path && self.targets.iter().any(|target| target == root.target.name())
    }

    /// Returns the item as contract 000's JSON, with `state` added.
    pub fn json(&self) -> Value {
        let prefixed = |sha256: &Option<Sha>| sha256.as_ref().map(|sha256| format!("sha256:{}", hex::encode(sha256)));
        json!({
            "target": self.targets.first(),
            "root": self.root.display().to_string(),
            "root_posix": disk::posix(&self.root),
            "path": self.path.display().to_string(),
            "path_posix": disk::posix(&self.path),
            "expected": prefixed(&self.expected),
            "actual": prefixed(&self.actual),
            "kind": self.kind.word(),
            "state": self.state.word(),
        })
    }
}

/// Returns all files that differ from the desired state, sorted by target and path.
pub fn drifted(prepared: &Prepared) -> Result<Vec<Item>> {
    let mut items: Vec<Item> = prepared.plan.changes.iter().map(item).collect();
    items.extend(extras(&prepared.plan.desired, prepared)?);
    items.sort_by(|a, b| (a.targets.first(), &a.path).cmp(&(b.targets.first(), &b.path)));
    Ok(items)
}

fn item(change: &Change) -> Item {
    let kind = match (change.op, change.drift) {
        (Op::Create, _) => Kind::Missing,
        (_, Drift::Extra) => Kind::Extra,
        _ => Kind::Modified,
    };
    Item {
        kind,
        state: change.drift,
        targets: change.targets.clone(),
        root: change.root.clone(),
        path: change.path.clone(),
        expected: change.after.sha256().filter(|_| kind != Kind::Extra).copied(),
        actual: change.before.sha256().copied(),
        module_ids: change.module_ids.clone(),
    }
}

/// Returns the files in the targets' folders that no module produces and mcpkg does not manage.
fn extras(desired: &Desired, prepared: &Prepared) -> Result<Vec<Item>> {
    let known: HashSet<&Path> = prepared.plan.changes.iter().map(|change| change.path.as_path()).collect();
    let mut found = Vec::new();
    let mut walked: HashSet<PathBuf> = HashSet::new();
    for root in desired.roots.iter().filter(|root| root.scan_extras) {
        let Ok(real) = mcpkg_base::platform::real(&root.path) else { continue };
        // Report the files of a folder once, even if two targets share the folder.
        if !walked.insert(real.clone()) {
            continue;
        }
        let mut folders = vec![real];
        while let Some(folder) = folders.pop() {
            for (name, kind) in prepared.listings.of(&folder).iter().flat_map(|listing| listing.iter()) {
                let path = folder.join(name);
                if *kind == folder::Kind::Folder {
                    folders.push(path);
                } else if *kind == folder::Kind::File && !is_known(&path, desired, prepared, &known) {
                    let actual = disk::look(&path)?.sha256().copied();
                    found.push(Item {
                        kind: Kind::Extra,
                        state: Drift::Extra,
                        targets: vec![root.target.name().to_owned()],
                        root: root.path.clone(),
                        path,
                        expected: None,
                        actual,
                        module_ids: Vec::new(),
                    });
                }
            }
        }
    }
    Ok(found)
}

fn is_known(path: &Path, desired: &Desired, prepared: &Prepared, changed: &HashSet<&Path>) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    desired.output(path).is_some()
        || changed.contains(path)
        || prepared.plan.rows.contains_key(path.to_string_lossy().as_ref())
        || name.starts_with(".agentpack.manifest")
}

fn counts<'i>(items: impl Iterator<Item = &'i Item>) -> Value {
    let (mut modified, mut missing, mut extra) = (0, 0, 0);
    for item in items {
        match item.kind {
            Kind::Modified => modified += 1,
            Kind::Missing => missing += 1,
            Kind::Extra => extra += 1,
        }
    }
    json!({ "modified": modified, "missing": missing, "extra": extra })
}

/// Returns suggestions for the next steps: contract 000's actions in the contract's order, each with a command.
fn next_actions(context: &Context, prepared: &Prepared, items: &[Item]) -> Vec<(&'static str, String)> {
    let arguments = prepared.site.arguments();
    // A server that runs as `agentpack` also suggests shell commands, as agentpack does.
    let said = |shell: String, agent: &str| if answer::is_brief(context) { agent.to_owned() } else { shell };
    let mut actions = Vec::new();
    if !items.is_empty() {
        let shell = format!("mcpkg preview --diff{arguments} --json");
        actions.push(("preview_diff", said(shell, "preview with diff=true")));
    }
    if items.iter().any(|item| item.kind != Kind::Extra || !item.module_ids.is_empty()) {
        let shell = format!("mcpkg deploy --apply{arguments} --yes --json");
        actions.push((
            "deploy_apply",
            said(shell, "deploy, then deploy_apply with yes=true and the confirm_token from deploy"),
        ));
    }
    if items.iter().any(|item| item.state == Drift::UserModified) {
        let shell = format!("mcpkg evolve propose{arguments} --yes --json");
        actions.push(("evolve_propose", said(shell, "evolve_propose with yes=true")));
    }
    actions
}

fn table(items: &[&Item], site: &Site) -> Body {
    let rows = items
        .iter()
        .map(|item| {
            vec![
                item.kind.word().to_owned(),
                item.state.word().to_owned(),
                item.targets.join(","),
                item.path.display().to_string(),
            ]
        })
        .collect();
    let empty = format!("Nothing drifted below {}", site.place.root);
    let table = Table { columns: &["kind", "state", "targets", "path"], rows, empty };
    Body::Below(site.place.root.clone(), Box::new(Body::Table(table)))
}
