//! `mcpkg workflow export`: writes a saved workflow to a file, and its fixtures to a second one; without a file, prints
//! the workflow.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use super::model;
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use crate::fixture::beside;
use crate::{GROUP, answer};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows;

/// Export a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Export {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
    /// File to write [default: print the text]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Overwrite a file that has different content
    #[arg(long, requires = "to")]
    #[serde(default)]
    force: bool,
}

impl Operation for Export {
    const TOOL: &'static str = "export_workflow";
    const CLI: &'static [&'static str] = &["workflow", "export"];
    const TITLE: &'static str = "Export a workflow";
    const ABOUT: &'static str = "Write a workflow's text to a file, byte for byte";
    const HELP: &'static str = "mcpkg also writes the workflow's fixtures, to a second file in the same folder: for app.yaml, to \
        app.fixtures.yaml. `mcpkg workflow import` reads both files.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow export app_with_db --to app_with_db.yaml",
        "mcpkg workflow export app_with_db > app_with_db.yaml",
    ];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn writes_files(&self) -> bool {
        self.to.is_some()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (workflow, text, fixtures, project) = context.read(|db, project| {
            let workflow = workflows::get(db, project, &self.name)?;
            let text = model::stored(db, workflow.blob)?;
            let fixtures = beside::of_workflow(db, project.id, workflow.uuid)?;
            Ok((workflow, text, fixtures, project.name.clone()))
        })?;
        let mut data = data(&project, &workflow);
        let Some(file) = &self.to else {
            data["yaml"] = text.clone().into();
            data["fixtures"] = answer::data(&fixtures)?;
            return Ok(Reply::new(Body::Text(text), data));
        };
        let of_fixtures = beside::path(file);
        let mut files = vec![(file, text)];
        if !fixtures.is_empty() {
            files.push((&of_fixtures, beside::text(&fixtures)?));
        }
        // Check all files before writing any, so that a conflict leaves all of them unchanged.
        let mut written = Vec::new();
        for (file, text) in &files {
            if self.has_to_be_written(file, text)? {
                written.push((file, text));
            }
        }
        written.into_iter().try_for_each(|(file, text)| disk::replace(file, text.as_bytes()))?;
        data["file"] = file.display().to_string().into();
        let mut sentence =
            format!("Wrote workflow '{}' to {} ({} bytes)", workflow.name, file.display(), workflow.size);
        if !fixtures.is_empty() {
            data["fixtures_file"] = of_fixtures.display().to_string().into();
            let count = plural::count(fixtures.len(), "fixture");
            sentence.push_str(&format!(", and {count} to {}", of_fixtures.display()));
        }
        Ok(Reply::sentence(sentence, data))
    }
}

impl Export {
    /// Returns whether a file has to be written. A file that already has this content is skipped. Different content is an error
    /// unless it may be overwritten.
    fn has_to_be_written(&self, file: &Path, text: &str) -> Result<bool> {
        match disk::metadata(file)? {
            Some(_) if disk::read(file)? == text.as_bytes() => Ok(false),
            Some(_) if !self.force => {
                let what =
                    format!("The file `{}` already exists with different content; nothing was written", file.display());
                Err(Error::new(Code::AlreadyExists, what).hint("--force overwrites it"))
            }
            _ => Ok(true),
        }
    }
}
