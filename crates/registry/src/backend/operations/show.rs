//! `mcpkg registry show`: shows the details of a registry.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{REGISTRIES, data};
use crate::GROUP;
use crate::backend::Known;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};

/// Show a registry
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the registry
    #[arg(add = REGISTRIES)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_registry";
    const CLI: &'static [&'static str] = &["registry", "show"];
    const TITLE: &'static str = "Show a registry";
    const ABOUT: &'static str =
        "Show a registry's location, where its token is stored, and its position in the search order";
    const EXAMPLES: &'static [&'static str] = &["mcpkg registry show local"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let data = data(context, &Known::named(context, &self.name)?)?;
        let lines = data.as_object().into_iter().flatten().map(|(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{key}: {value}\n")
        });
        Ok(Reply::new(Body::Text(lines.collect()), data.clone()))
    }
}
