//! `mcpkg toolset create`: creates a toolset.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CHANGES, add, data, installed, write};
use crate::GROUP;
use crate::installed::TOOLS;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::toolsets;

/// Make a toolset
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// The name of the toolset
    name: String,
    /// Tools to put into the toolset [default: all installed tools]
    #[arg(value_name = "TOOL", add = TOOLS)]
    #[serde(default)]
    tools: Vec<String>,
    /// Make an empty toolset
    #[arg(long, conflicts_with = "tools")]
    #[serde(default)]
    empty: bool,
}

impl Operation for Create {
    const TOOL: &'static str = "create_toolset";
    const CLI: &'static [&'static str] = &["toolset", "create"];
    const TITLE: &'static str = "Make a toolset";
    const ABOUT: &'static str = "Make a toolset from all or some of the installed tools";
    const HELP: &'static str = "The toolset has no effect until you activate it with `mcpkg toolset use NAME`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg toolset create web-dev",
        "mcpkg toolset create data alice/data/csv",
        "mcpkg toolset create new --empty",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        check_name(&self.name)?;
        let (number, data) = write(context, "toolset.create", &self.name, |db| {
            let id = toolsets::create(db, &self.name, context.clock.now())?;
            let tools = if self.empty {
                Vec::new()
            } else if self.tools.is_empty() {
                installed(db)?
            } else {
                self.tools.clone()
            };
            let added = add(context, db, id, &tools)?;
            Ok((added.len(), data(db, &toolsets::get(db, &self.name)?)?))
        })?;
        let sentence = format!("Made toolset '{}' of {}", self.name, plural::count(number, "tool"));
        Ok(Reply::sentence(sentence, data)
            .hint(format!("to show agents only these tools: `mcpkg toolset use {}`", self.name)))
    }
}

/// Checks the name of a toolset: 1 to 64 characters of `[A-Za-z0-9._-]`, not starting with `-`.
pub fn check_name(name: &str) -> Result<()> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if (1..=64).contains(&name.len()) && name.chars().all(is_legal) && !name.starts_with('-') {
        return Ok(());
    }
    let shown = name.escape_debug();
    Err(Error::new(Code::InvalidArgument, format!("'{shown}' is not a valid toolset name"))
        .hint("a toolset name has up to 64 characters: a-z, 0-9, `.`, `_` and `-`"))
}
