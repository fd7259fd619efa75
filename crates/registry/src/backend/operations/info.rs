//! `mcpkg tool info`: shows the details of a tool in a registry.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{REGISTRIES, TOOLS};
use crate::GROUP;
use crate::alias;
use crate::backend::{Known, Listed, ToolInfo};
use crate::package::Name;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};

/// Show what a registry says about a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Info {
    /// Name of the tool
    #[arg(add = TOOLS)]
    tool: String,
    /// Registry to ask [default: the first registry that has the tool]
    #[arg(long, value_name = "NAME", add = REGISTRIES)]
    #[serde(default)]
    registry: Option<String>,
}

impl Operation for Info {
    const TOOL: &'static str = "tool_info";
    const CLI: &'static [&'static str] = &["tool", "info"];
    const TITLE: &'static str = "Show what a registry says about a tool";
    const ABOUT: &'static str =
        "Show what a registry says about a tool: versions, archive digests, and yanked versions";
    const HELP: &'static str = "The information comes from the registry and from the tool's publisher, and mcpkg does not check it. To \
        read the documentation in the checked archive, use `mcpkg tool learn`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool info alice/utils/weather", "mcpkg tool info alice/utils/weather --registry team"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("versions");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let name = Name::parse(&alias::expanded(context, &self.tool)?)?;
        let (registry, info, warnings) = find(context, &name, self.registry.as_deref())?;
        let rows = info.versions.iter().map(|listed| {
            let sha256 = listed.sha256.map(|sha256| hex::encode(&sha256)).unwrap_or_default();
            vec![listed.version.to_string(), rfc3339(listed.published_at), yanked(listed), sha256]
        });
        let columns = &["VERSION", "PUBLISHED", "YANKED", "SHA-256"];
        let table = Table { columns, rows: rows.collect(), empty: "The tool has no versions".to_owned() };
        let head = format!("{name} in registry '{registry}': {}", info.description);
        let body = Body::Several(vec![Body::Sentence(head), Body::Table(table)]);
        Ok(Reply::new(body, data(&registry, &info)).warn(warnings))
    }
}

/// Returns the tool from the first registry that has it, and warnings about the registries before it that failed.
fn find(context: &Context, name: &Name, registry: Option<&str>) -> Result<(String, ToolInfo, Vec<String>)> {
    let (mut warnings, mut failed) = (Vec::new(), None);
    for known in Known::meant(context, registry)? {
        match known.open(context).and_then(|backend| backend.info(name)) {
            Ok(info) => return Ok((known.name, info, warnings)),
            Err(error) if error.code() == Code::Cancelled => return Err(error),
            Err(error) if error.code() == Code::ToolNotFound => drop(failed.get_or_insert(error)),
            Err(error) => {
                warnings.push(error.public_message().to_owned());
                // Keep this error: it is more useful than "not found" from the other registries.
                failed = Some(error);
            }
        }
    }
    let missing = || Error::new(Code::ToolNotFound, format!("No registry has a tool '{name}'"));
    let error = failed.unwrap_or_else(missing);
    Err(match (error.code(), registry) {
        (Code::ToolNotFound, None) => missing().hint("`mcpkg tool search WORDS` finds tools"),
        _ => error,
    })
}

fn yanked(listed: &Listed) -> String {
    let Some(yank) = &listed.yank else { return String::new() };
    let reason = yank.reason.as_deref().map(|reason| cell(reason).into_owned());
    let replacement = yank.replacement.as_ref().map(|replacement| format!("use {replacement}"));
    let words: Vec<String> = reason.into_iter().chain(replacement).collect();
    if words.is_empty() { "yes".to_owned() } else { words.join("; ") }
}

fn data(registry: &str, info: &ToolInfo) -> Value {
    let versions = info.versions.iter().map(|listed| {
        let mut version = json!({
            "version": listed.version.to_string(),
            "published_at": rfc3339(listed.published_at),
        });
        if let Some(sha256) = &listed.sha256 {
            version["sha256"] = json!(hex::encode(sha256));
        }
        if let Some(yank) = &listed.yank {
            version["yanked"] = json!(yank);
        }
        version
    });
    let mut data = json!({
        "name": info.name,
        "registry": registry,
        "description": info.description,
        "tags": info.tags,
        "versions": versions.collect::<Vec<_>>(),
    });
    if let Some(license) = &info.license {
        data["license"] = json!(license);
    }
    data
}
