//! `mcpkg tool validate`: checks the manifest of a package.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::package::manifest::{self, Problem};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Check a tool's manifest
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Validate {
    /// Folder of the package [default: the current folder]
    #[arg(value_name = "DIR", default_value = ".")]
    #[serde(default = "here")]
    folder: PathBuf,
}

pub(super) fn here() -> PathBuf {
    PathBuf::from(".")
}

impl Operation for Validate {
    const TOOL: &'static str = "validate_tool";
    const CLI: &'static [&'static str] = &["tool", "validate"];
    const TITLE: &'static str = "Check a tool";
    const ABOUT: &'static str = "Check a tool's manifest, and report every error with its line and column";
    const HELP: &'static str = "The manifest is the first of these files that exists: SKILL.md, skill.package.yaml, skill.package.yml, \
        skill.yml, enact.md, enact.yaml, enact.yml. If there is a YAML manifest next to SKILL.md, mcpkg uses the YAML manifest and takes \
        the documentation from SKILL.md. The exit status is 1 if the manifest has an error. mcpkg reports possible improvements as \
        warnings.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool validate", "mcpkg tool validate ./weather --json"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        let checked = manifest::of_folder(&self.folder)?;
        let (file, advice) = (checked.file, checked.warnings.clone());
        let manifest = checked.manifest()?;
        let actions: Vec<&str> = manifest.actions.iter().map(|action| action.name.as_str()).collect();
        let what = match actions.len() {
            0 => "a document".to_owned(),
            count => plural::count(count, "action"),
        };
        let sentence = format!("{} is valid: {what} in `{file}`", manifest.reference());
        let data = json!({
            "name": manifest.name,
            "version": manifest.version.as_ref().map(ToString::to_string),
            "file": file,
            "actions": actions,
            "errors": [],
            "advice": advice,
        });
        Ok(Reply::sentence(sentence, data).warn(advice.iter().map(Problem::shown)))
    }
}
