//! `mcpkg flow feature|release|hotfix start|finish|list`: starts, finishes and lists the branches of flows.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::branches;
use super::finish::Finish;
use super::kind::Kind;
use super::start::Start;
use crate::root::Workspace;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply, Shape, Table};

/// Starts a feature.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureStart {
    /// Feature name (without feature/ prefix)
    name: String,
    /// Repository to create the branch in [default: all]
    #[arg(long = "repo", alias = "repos", value_name = "REPO", value_delimiter = ',', add = super::super::REPOS)]
    #[serde(default)]
    repos: Vec<String>,
    /// Check out the branch in new worktrees; the existing checkouts stay unchanged
    #[arg(long)]
    #[serde(default)]
    worktree: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Starts a hotfix.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotfixStart {
    /// Hotfix name (without hotfix/ prefix)
    name: String,
    /// Repository to create the branch in [default: all]
    #[arg(long = "repo", alias = "repos", value_name = "REPO", value_delimiter = ',', add = super::super::REPOS)]
    #[serde(default)]
    repos: Vec<String>,
    /// Check out the branch in new worktrees; the existing checkouts stay unchanged
    #[arg(long)]
    #[serde(default)]
    worktree: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Starts a release.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseStart {
    /// Semver version (e.g., 1.0.0)
    version: String,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Finishes a feature.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureFinish {
    /// Feature name (without feature/ prefix)
    #[arg(add = super::super::FEATURES)]
    name: String,
    /// Squash the branch into one commit
    #[arg(long)]
    #[serde(default)]
    squash: bool,
    /// Keep the branch and its worktrees after finishing
    #[arg(long)]
    #[serde(default)]
    no_delete: bool,
    /// Run the repositories' own merge hooks, such as commit-msg and post-merge
    #[arg(long)]
    #[serde(skip)]
    hooks: bool,
    /// Push the changes to origin after finishing locally
    #[arg(long)]
    #[serde(skip)]
    push: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Finishes a hotfix.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotfixFinish {
    /// Hotfix name (without hotfix/ prefix)
    #[arg(add = super::super::HOTFIXES)]
    name: String,
    /// Squash the branch into one commit
    #[arg(long)]
    #[serde(default)]
    squash: bool,
    /// Keep the branch and its worktrees after finishing
    #[arg(long)]
    #[serde(default)]
    no_delete: bool,
    /// Run the repositories' own merge hooks, such as commit-msg and post-merge
    #[arg(long)]
    #[serde(skip)]
    hooks: bool,
    /// Push the changes to origin after finishing locally
    #[arg(long)]
    #[serde(skip)]
    push: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Finishes a release.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseFinish {
    /// Semver version (e.g., 1.0.0)
    #[arg(add = super::super::RELEASES)]
    version: String,
    /// Run the repositories' own merge hooks, such as commit-msg and post-merge
    #[arg(long)]
    #[serde(skip)]
    hooks: bool,
    /// Push the changes to origin after finishing locally
    #[arg(long)]
    #[serde(skip)]
    push: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

/// Lists features.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureList {}

/// Lists releases.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseList {}

/// Lists hotfixes.
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotfixList {}

const START: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"Feature name (without feature/ prefix)"},"repos":{"type":"array","items":{"type":"string"}},"worktree":{"type":"boolean","default":false}},"required":["name"]}"#;
const FINISH: &str = r#"{"type":"object","properties":{"name":{"type":"string"},"squash":{"type":"boolean","default":false},"no_delete":{"type":"boolean","default":false}},"required":["name"]}"#;
const RELEASE_START: &str = r#"{"type":"object","properties":{"version":{"type":"string","description":"Semver version (e.g., 1.0.0)"}},"required":["version"]}"#;
const RELEASE_FINISH: &str = r#"{"type":"object","properties":{"version":{"type":"string"}},"required":["version"]}"#;

/// The `--help` text of the start commands.
const STARTING: &str = "mcpkg creates the branch in all repositories or in none. Your uncommitted changes stay in \
    the work trees. If git cannot carry these changes over to the new branch, mcpkg creates no branch.";

/// The `--help` text of the finish commands.
const FINISHING: &str = "Before mcpkg changes anything, it checks that every merge in every repository will \
    succeed. If any merge would fail, mcpkg reports all conflicts and changes nothing. If a later step fails, \
    mcpkg undoes all changes. If mcpkg itself is killed, the next mcpkg command in the workspace cleans up.";

macro_rules! flow_operation {
    ($of:ident, $tool:literal, [$($word:literal),+], $title:literal, $about:literal $(=> $words:literal)?,
     $help:expr, [$($example:literal),+], $effect:ident, $schema:expr, |$it:ident| $subject:expr, $run:expr) => {
        impl Operation for $of {
            const TOOL: &'static str = $tool;
            const CLI: &'static [&'static str] = &[$($word),+];
            const TITLE: &'static str = $title;
            const ABOUT: &'static str = $about;
            const USER_WORDS: &'static str = concat!($($words)?);
            const HELP: &'static str = $help;
            const EXAMPLES: &'static [&'static str] = &[$($example),+];
            const EFFECT: Effect = Effect::$effect;
            const LONG: bool = true;
            const SHAPE: Shape = super::super::SHAPE;
            const GROUP: &'static str = super::super::GROUP;
            const FACES: Faces = Faces::Both;
            const SCHEMA: Option<&'static str> = Some($schema);
            type Output = mcpkg_core::op::NoOutput;

            fn subject(&self) -> String {
                let $it = self;
                $subject
            }

            fn run(self, context: &Context) -> Result<Reply> {
                let $it = &self;
                $run.run(context)
            }
        }
    };
}

flow_operation!(
    FeatureStart,
    "smctl_flow_feature_start",
    ["flow", "feature", "start"],
    "Start feature",
    "Create a feature branch across repos, optionally with worktree",
    STARTING,
    ["mcpkg flow feature start login", "mcpkg flow feature start login --repo api --repo web --worktree"],
    Create,
    START,
    |it| it.name.clone(),
    Start { kind: Kind::Feature, name: &it.name, repos: &it.repos, worktree: it.worktree, dry_run: it.dry_run }
);

flow_operation!(
    HotfixStart,
    "smctl_flow_hotfix_start",
    ["flow", "hotfix", "start"],
    "Start hotfix",
    "Create a hotfix branch from main across repos, optionally with worktree",
    STARTING,
    ["mcpkg flow hotfix start crash", "mcpkg flow hotfix start 1.0.1 --repo api"],
    Create,
    START,
    |it| it.name.clone(),
    Start { kind: Kind::Hotfix, name: &it.name, repos: &it.repos, worktree: it.worktree, dry_run: it.dry_run }
);

flow_operation!(
    ReleaseStart,
    "smctl_flow_release_start",
    ["flow", "release", "start"],
    "Start release",
    "Create a release branch from develop in all repos" => "smctl_flow_release_finish merges the branch and sets the tag",
    STARTING,
    ["mcpkg flow release start 1.0.0"],
    Create,
    RELEASE_START,
    |it| it.version.clone(),
    Start { kind: Kind::Release, name: &it.version, repos: &[], worktree: false, dry_run: it.dry_run }
);

flow_operation!(
    FeatureFinish,
    "smctl_flow_feature_finish",
    ["flow", "feature", "finish"],
    "Finish feature",
    "Merge feature into develop across repos",
    FINISHING,
    ["mcpkg flow feature finish login", "mcpkg flow feature finish login --squash --dry-run"],
    Write,
    FINISH,
    |it| it.name.clone(),
    Finish {
        kind: Kind::Feature,
        name: &it.name,
        squash: it.squash,
        no_delete: it.no_delete,
        hooks: it.hooks,
        push: it.push,
        dry_run: it.dry_run
    }
);

flow_operation!(
    HotfixFinish,
    "smctl_flow_hotfix_finish",
    ["flow", "hotfix", "finish"],
    "Finish hotfix",
    "Merge hotfix into main and develop across repos, and tag it",
    FINISHING,
    ["mcpkg flow hotfix finish crash"],
    Write,
    FINISH,
    |it| it.name.clone(),
    Finish {
        kind: Kind::Hotfix,
        name: &it.name,
        squash: it.squash,
        no_delete: it.no_delete,
        hooks: it.hooks,
        push: it.push,
        dry_run: it.dry_run
    }
);

flow_operation!(
    ReleaseFinish,
    "smctl_flow_release_finish",
    ["flow", "release", "finish"],
    "Finish release",
    "Finalize release: merge to main+develop, tag, changelog",
    FINISHING,
    ["mcpkg flow release finish 1.0.0", "mcpkg flow release finish 1.0.0 --push"],
    Write,
    RELEASE_FINISH,
    |it| it.version.clone(),
    Finish {
        kind: Kind::Release,
        name: &it.version,
        squash: false,
        no_delete: false,
        hooks: it.hooks,
        push: it.push,
        dry_run: it.dry_run
    }
);

macro_rules! flow_list {
    ($of:ident, $tool:literal, $kind:ident, $word:literal, $rows:literal, $title:literal, $about:literal, $example:literal) => {
        impl Operation for $of {
            const TOOL: &'static str = $tool;
            const CLI: &'static [&'static str] = &["flow", $word, "list"];
            const TITLE: &'static str = $title;
            const ABOUT: &'static str = $about;
            const EXAMPLES: &'static [&'static str] = &[$example];
            const EFFECT: Effect = Effect::Read;
            const SHAPE: Shape = super::super::SHAPE;
            const GROUP: &'static str = super::super::GROUP;
            const FACES: Faces = Faces::Shell;
            const LISTS: Option<&'static str> = Some($rows);
            type Output = mcpkg_core::op::NoOutput;

            fn run(self, context: &Context) -> Result<Reply> {
                list(context, Kind::$kind, $rows)
            }
        }
    };
}

flow_list!(
    FeatureList,
    "smctl_flow_feature_list",
    Feature,
    "feature",
    "features",
    "List features",
    "List the open features",
    "mcpkg flow feature list"
);
flow_list!(
    ReleaseList,
    "smctl_flow_release_list",
    Release,
    "release",
    "releases",
    "List releases",
    "List the open releases",
    "mcpkg flow release list"
);
flow_list!(
    HotfixList,
    "smctl_flow_hotfix_list",
    Hotfix,
    "hotfix",
    "hotfixes",
    "List hotfixes",
    "List the open hotfixes",
    "mcpkg flow hotfix list"
);

fn list(context: &Context, kind: Kind, key: &str) -> Result<Reply> {
    let workspace = Workspace::open(context)?;
    let mut branches = branches::all(&workspace, &context.cancelled);
    branches.retain(|branch| branch.kind == kind.title());
    let rows = branches
        .iter()
        .map(|branch| {
            let merged = if branch.merged == Some(true) { "merged" } else { "" }.to_owned();
            let head = super::rows::at(&branch.head);
            vec![branch.name.clone(), branch.repo.clone(), head, merged, branch.worktree.clone().unwrap_or_default()]
        })
        .collect();
    let columns = &["BRANCH", "REPO", "COMMIT", "MERGED", "WORKTREE"];
    let table = Table { columns, rows, empty: format!("no {} is open", kind.word()) };
    let values: Vec<_> = branches.iter().map(branches::Branch::value).collect();
    let mut data = json!({});
    data[key] = values.into();
    Ok(Reply::new(Body::Table(table), data))
}
