//! Contract 004: one index of commands from several sources; workflows that are made of them.

pub mod answers;
pub mod binding;
pub mod check;
pub mod commands;
pub mod definition;
pub mod expression;
pub mod finding;
pub mod given;
pub mod graph;
pub mod limits;
pub mod plan;
pub mod render;
pub mod schema;
pub mod source;
pub mod span;
pub mod spec;
pub mod text;
pub mod yaml;

use crate::op::{Domain, Group, Listed, Shape};

/// The group of this domain.
pub const GROUP: &str = "workflow";

/// How its tools answer: an object that begins with the version of the contract's forms.
pub const SHAPE: Shape = Shape::Json(Some("1.0"));

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "workflow",
    operations: &[text::OPS],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Where(|_, _| Ok(false)),
        within_project: true,
        named_over_network: false,
        instructions: "Workflows are YAML texts of commands: validate_workflow finds their mistakes, dry_run shows what they would do.",
    }],
    commands: &[("workflow", "Check, plan and write workflows")],
    resources: &[text::resource::SCHEMA],
    ..Domain::EMPTY
};
