//! Generates random operations, and performs them.

use mcpkg_base::error::Code;
use mcpkg_core::op::Context;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::run;

/// An operation. Small numbers stand for names, so that operations often use the same item.
#[derive(Clone, Debug)]
pub enum Step {
    Create(Kind, u8, String),
    Update(Kind, u8, String),
    Describe(Kind, u8, String),
    Rename(u8, u8),
    Delete(Kind, u8),
    Restore(Kind, u8, u8),
    Project(u8),
    Select(u8),
    DropProject(u8),
    RenameProject(u8, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Prompt,
    Resource,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Prompt => "prompt",
            Kind::Resource => "resource",
        }
    }
}

/// Returns a sequence of random operations.
pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![Just(Kind::Prompt), Just(Kind::Resource)];
    let name = 0..4_u8;
    let content = prop_oneof!["[a-c]{1,3}( [a-c]{1,3}){0,3}", "\\PC{1,40}", Just("x".repeat(70_000))];
    let step = prop_oneof![
        5 => (kind.clone(), name.clone(), content.clone()).prop_map(|(kind, n, text)| Step::Create(kind, n, text)),
        5 => (kind.clone(), name.clone(), content).prop_map(|(kind, n, text)| Step::Update(kind, n, text)),
        2 => (kind.clone(), name.clone(), "[d-f]{0,5}").prop_map(|(kind, n, text)| Step::Describe(kind, n, text)),
        3 => (name.clone(), name.clone()).prop_map(|(n, to)| Step::Rename(n, to)),
        3 => (kind.clone(), name.clone()).prop_map(|(kind, n)| Step::Delete(kind, n)),
        4 => (kind, name.clone(), 1..6_u8).prop_map(|(kind, n, revision)| Step::Restore(kind, n, revision)),
        1 => name.clone().prop_map(Step::Project),
        2 => name.clone().prop_map(Step::Select),
        1 => name.clone().prop_map(Step::DropProject),
        1 => (name.clone(), name).prop_map(|(n, to)| Step::RenameProject(n, to)),
    ];
    proptest::collection::vec(step, 1..50)
}

pub fn name(n: u8) -> String {
    format!("n{n}")
}

pub fn project(n: u8) -> String {
    format!("p{n}")
}

/// Performs the step in the database.
pub fn perform(context: &Context, step: &Step) -> Result<(), Code> {
    let uri = |kind: &Kind, n: &u8| if *kind == Kind::Resource { json!(format!("test:{n}")) } else { Value::Null };
    let (command, arguments) = match step {
        Step::Create(kind, n, content) => {
            ([kind.word(), "create"], json!({ "name": name(*n), "uri": uri(kind, n), "content": content }))
        }
        Step::Update(kind, n, content) => ([kind.word(), "update"], json!({ "name": name(*n), "content": content })),
        Step::Describe(kind, n, text) => ([kind.word(), "update"], json!({ "name": name(*n), "description": text })),
        Step::Rename(n, to) => (["prompt", "rename"], json!({ "name": name(*n), "to": name(*to) })),
        Step::Delete(kind, n) => ([kind.word(), "delete"], json!({ "name": name(*n) })),
        Step::Restore(kind, n, revision) => {
            ([kind.word(), "restore"], json!({ "name": name(*n), "revision": revision }))
        }
        Step::Project(n) => (["project", "create"], json!({ "name": project(*n) })),
        Step::Select(n) => (["project", "select"], json!({ "name": project(*n) })),
        Step::DropProject(n) => (["project", "delete"], json!({ "name": project(*n) })),
        Step::RenameProject(n, to) => (["project", "rename"], json!({ "name": project(*n), "to": project(*to) })),
    };
    run(context, &command, arguments).map(drop).map_err(|error| error.code())
}
