//! `mcpkg tool use`: chooses which installed version of a tool agents see.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, TOOLS, named};
use crate::GROUP;
use crate::alias;
use crate::package::Wanted;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::tools::installs;

/// Choose the version of a tool that agents see
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Use {
    /// Tool with an installed version, such as alice/utils/weather@1.2.0
    #[arg(value_name = "TOOL@VERSION", add = TOOLS)]
    tool: String,
    /// Choose the version for the selected project only
    #[arg(long)]
    #[serde(skip)]
    for_project: bool,
}

impl Operation for Use {
    const TOOL: &'static str = "use_tool";
    const CLI: &'static [&'static str] = &["tool", "use"];
    const TITLE: &'static str = "Choose the version of a tool that agents see";
    const ABOUT: &'static str = "Choose which installed version of a tool agents see and call";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool use alice/utils/weather@1.2.0"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = CHANGES;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.tool.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let reference = named(&alias::expanded(context, &self.tool)?, None)?;
        let Wanted::Exact(version) = &reference.version else {
            return Err(Error::new(Code::InvalidArgument, format!("'{}' does not name a version", self.tool))
                .hint(format!("write {}@1.2.0; `mcpkg tool list` lists the installed versions", reference.name)));
        };
        let (scope, name, version) =
            (super::scope(context, self.for_project)?, reference.name.as_str(), version.to_string());
        let author = context.author();
        context.store.write(|db| {
            if !installs::activate(db, &scope, name, &version)? {
                return Err(Error::new(Code::VersionNotFound, format!("{name}@{version} is not installed")).hint(
                    format!("`mcpkg tool install {name}@{version}` installs this version next to the other versions"),
                ));
            }
            context.event(db, author, None, "tool.use", &self.tool)
        })?;
        let message = format!("Agents now see {name}@{version}");
        Ok(Reply::sentence(message, json!({ "tool": name, "version": version })))
    }
}
