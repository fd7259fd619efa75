//! `mcpkg worktree list`: lists the sets and the state of their worktrees.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::set::{self, Member};
use crate::root::Workspace;
use crate::status::changes;
use mcpkg_base::error::Result;
use mcpkg_base::git::status::Extra;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// List the sets of worktrees
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "smctl_worktree_list";
    const CLI: &'static [&'static str] = &["worktree", "list"];
    const TITLE: &'static str = "List worktree sets";
    const ABOUT: &'static str = "List active worktree sets with branch and status info";
    const EXAMPLES: &'static [&'static str] = &["mcpkg worktree list"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = crate::GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("sets");
    const SCHEMA: Option<&'static str> = Some(r#"{"type":"object","properties":{}}"#);
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let members = looked_at(context, &workspace)?;
        let rows = members.iter().map(|member| {
            let changes = match &member.status {
                Some(status) => changes(status, member.operation),
                None => "its folder is missing".to_owned(),
            };
            vec![member.set.clone(), member.repo.name.clone(), member.branch().to_owned(), changes]
        });
        let table = Table {
            columns: &["SET", "REPO", "BRANCH", "CHANGES"],
            rows: rows.collect(),
            empty: "There are no worktree sets; create one with `mcpkg worktree add NAME`".to_owned(),
        };
        Ok(Reply::new(Body::Table(table), data(&members)))
    }
}

/// Returns the reply of `smctl_worktree_list` and of the resource `smctl://worktree/list`.
pub fn read(context: &Context) -> Result<Value> {
    Ok(data(&looked_at(context, &Workspace::open(context)?)?))
}

fn looked_at<'w>(context: &Context, workspace: &'w Workspace) -> Result<Vec<Member<'w>>> {
    let mut members = set::registered(context, workspace)?;
    set::look(context, &mut members, Extra::Untracked)?;
    Ok(members)
}

fn data(members: &[Member<'_>]) -> Value {
    let sets = members.chunk_by(|a, b| a.set == b.set).map(|members| {
        let worktrees: Vec<Value> = members.iter().map(Member::data).collect();
        json!({ "name": members.first().map(|member| &member.set), "worktrees": worktrees })
    });
    json!({ "sets": sets.collect::<Vec<_>>() })
}
