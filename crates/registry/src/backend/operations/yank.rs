//! `mcpkg tool yank` and `unyank`: mark a published version as no longer usable, and revert that.

use schemars::JsonSchema;
use semver::Version;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, REGISTRIES, TOOLS};
use crate::GROUP;
use crate::alias;
use crate::backend::facts::one_line;
use crate::backend::{Known, wire};
use crate::package::{Name, Reference, Wanted};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::answers;
use mcpkg_store::tools::packages::{self, Yank};
use mcpkg_store::tools::registries::LOCAL;

/// Yank a version
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct YankVersion {
    /// Tool and version, such as alice/utils/weather@1.2.0
    #[arg(value_name = "TOOL@VERSION", add = TOOLS)]
    tool: String,
    /// Registry that has the version
    #[arg(long, value_name = "NAME", default_value = LOCAL, add = REGISTRIES)]
    #[serde(default = "local")]
    registry: String,
    /// Reason for the yank, shown to users of the version
    #[arg(long, value_name = "TEXT")]
    #[serde(default)]
    reason: Option<String>,
    /// Version to use instead of the yanked one
    #[arg(long, value_name = "VERSION")]
    #[serde(default)]
    replacement: Option<String>,
}

fn local() -> String {
    LOCAL.to_owned()
}

impl Operation for YankVersion {
    const TOOL: &'static str = "yank_tool";
    const CLI: &'static [&'static str] = &["tool", "yank"];
    const TITLE: &'static str = "Yank a version";
    const ABOUT: &'static str = "Withdraw a published version of a tool, but keep its archive";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool yank alice/utils/weather@1.2.0 --reason 'wrong units' --replacement 1.2.1"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.tool.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (name, version) = exact(&alias::expanded(context, &self.tool)?)?;
        if let Some(replacement) = &self.replacement
            && wire::version(replacement).is_none_or(|replacement| replacement == version)
        {
            let why = format!("The replacement '{}' must be a different version of {name}", replacement.escape_debug());
            return Err(Error::new(Code::InvalidArgument, why).hint("pass a different version, such as 1.2.1"));
        }
        let reason = self.reason.as_deref().map(one_line).filter(|reason| !reason.is_empty());
        let yank = Yank { at: context.clock.now(), reason, replacement: self.replacement };
        Known::named(context, &self.registry)?.open(context)?.yank(&name, &version, Some(&yank))?;
        note(context, &self.registry, &name, &version, Some(&yank))?;
        let data = json!({ "tool": name, "version": version.to_string(), "registry": self.registry, "yanked": yank });
        Ok(Reply::sentence(format!("Yanked {name}@{version} in registry '{}'", self.registry), data))
    }
}

/// Allow a version to be used again
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Unyank {
    /// Tool and version, such as alice/utils/weather@1.2.0
    #[arg(value_name = "TOOL@VERSION", add = TOOLS)]
    tool: String,
    /// Registry that has the version
    #[arg(long, value_name = "NAME", default_value = LOCAL, add = REGISTRIES)]
    #[serde(default = "local")]
    registry: String,
}

impl Operation for Unyank {
    const TOOL: &'static str = "unyank_tool";
    const CLI: &'static [&'static str] = &["tool", "unyank"];
    const TITLE: &'static str = "Undo the yank of a version";
    const ABOUT: &'static str = "Make a yanked version of a tool usable again";
    const HELP: &'static str = "A database that has already recorded the yank still treats the version as yanked. To install the version \
        in such a database, use --allow-yanked.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool unyank alice/utils/weather@1.2.0"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.tool.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (name, version) = exact(&alias::expanded(context, &self.tool)?)?;
        Known::named(context, &self.registry)?.open(context)?.yank(&name, &version, None)?;
        note(context, &self.registry, &name, &version, None)?;
        let data = json!({ "tool": name, "version": version.to_string(), "registry": self.registry });
        Ok(Reply::sentence(format!("{name}@{version} can be used again in registry '{}'", self.registry), data))
    }
}

/// Parses a reference with exactly one version.
fn exact(text: &str) -> Result<(Name, Version)> {
    match Reference::parse(text)? {
        Reference { name, version: Wanted::Exact(version), action: None } => Ok((name, version)),
        reference => {
            let why = format!("'{}' does not name exactly one version", text.escape_debug());
            Err(Error::new(Code::InvalidArgument, why)
                .hint(format!("pass exactly one version, such as {}@1.2.0", reference.name)))
        }
    }
}

/// Updates this database's record of a version in another registry, and drops the cached responses of that registry.
/// Without this, the database would still list a version as yanked after the yank was reverted.
fn note(context: &Context, registry: &str, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()> {
    if registry == LOCAL {
        return Ok(());
    }
    let author = context.author();
    let kind = if yank.is_some() { "tool.yank" } else { "tool.unyank" };
    context.store.write(|db| {
        if let Some(row) = packages::get(db, registry, name.as_str(), &version.to_string())? {
            packages::set_yank(db, row.id, yank)?;
        }
        answers::remove_all(db, registry)?;
        context.event(db, author, None, kind, &format!("{name}@{version}"))
    })
}
