//! `mcpkg access rule list`: lists the access rules.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::rule::{data, may};
use super::standing::project_name;
use crate::access::GROUP;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_store::access_rules::{self, Rule};

/// List access rules
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct ListRules {}

impl Operation for ListRules {
    const TOOL: &'static str = "list_access_rules";
    const CLI: &'static [&'static str] = &["access", "rule", "list"];
    const TITLE: &'static str = "List access rules";
    const ABOUT: &'static str = "List access rules: which claims of a token give access to what";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access rule list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("rules");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let rules = context.store.read(|db| {
            let rules = access_rules::list(db)?;
            rules.into_iter().map(|rule| Ok((project_name(db, rule.project)?, rule))).collect::<Result<Vec<_>>>()
        })?;
        let row = |(project, rule): &(Option<String>, Rule)| {
            let otherwise = if rule.project.is_none() { "all" } else { "(deleted)" };
            let project = project.as_deref().unwrap_or(otherwise);
            vec![rule.claim.clone(), project.to_owned(), may(rule), rfc3339(rule.created_at)]
        };
        let table = Table {
            columns: &["CLAIM", "PROJECT", "MAY", "CREATED"],
            rows: rules.iter().map(row).collect(),
            empty: "No access rules yet. Add one with `mcpkg access rule add --claim NAME=VALUE`".to_owned(),
        };
        let data: Vec<Value> = rules.iter().map(|(project, rule)| data(rule, project.as_deref())).collect();
        Ok(Reply::new(Body::Table(table), json!({ "rules": data })))
    }
}
