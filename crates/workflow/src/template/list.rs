//! `list_templates`, `mcpkg template list` and `show`: list the templates, and show one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::library::{LibraryTemplate, TEMPLATES, all, require};
use crate::GROUP;
use crate::answer::{VERSION, data};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Rate, Reply, Shape, Table, cell};

/// List templates
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

/// The templates
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    templates: Vec<Item>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Whether the template comes with mcpkg
    built_in: bool,
    /// The template's parameters, keyed by name
    parameters: Map<String, Value>,
}

impl Item {
    fn of(kept: &LibraryTemplate) -> Self {
        let template = &kept.template;
        Self {
            name: template.name.clone(),
            title: template.title.clone(),
            description: template.description.clone(),
            built_in: !kept.is_own,
            parameters: template.parameters.clone(),
        }
    }
}

impl Operation for List {
    const TOOL: &'static str = "list_templates";
    const CLI: &'static [&'static str] = &["template", "list"];
    const TITLE: &'static str = "List templates";
    const ABOUT: &'static str = "List the workflow templates and their parameters";
    const EXAMPLES: &'static [&'static str] = &["mcpkg template list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("templates");
    type Output = Listed;

    fn run(self, context: &Context) -> Result<Reply> {
        let all = context.store.read(|db| all(db, &context.selection))?;
        let row = |kept: &LibraryTemplate| {
            let needed =
                kept.template.parameters.iter().filter(|(_, of)| of.get("default").is_none() && of.get("of").is_none());
            let needed: Vec<&str> = needed.map(|(name, _)| name.as_str()).collect();
            let about = kept.template.description.as_deref().unwrap_or_default();
            let from = if kept.is_own { "project" } else { "built in" };
            [&kept.template.name, &needed.join(", "), from, about].map(|text| cell(text).into_owned()).to_vec()
        };
        let table = Table {
            columns: &["NAME", "NEEDS", "FROM", "DESCRIPTION"],
            rows: all.iter().map(row).collect(),
            empty: String::new(),
        };
        let listed = Listed { templates: all.iter().map(Item::of).collect() };
        Ok(Reply::new(Body::Table(table), data(&listed)?))
    }
}

/// Show a template
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Template name
    #[arg(add = TEMPLATES)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_template";
    const CLI: &'static [&'static str] = &["template", "show"];
    const TITLE: &'static str = "Show a template";
    const ABOUT: &'static str = "Show the text of a template";
    const EXAMPLES: &'static [&'static str] = &["mcpkg template show create_and_wait"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let kept = require(context, &self.name)?;
        let data = json!({ "name": kept.template.name, "built_in": !kept.is_own, "yaml": kept.text });
        Ok(Reply::new(Body::Text(kept.text), data))
    }
}
