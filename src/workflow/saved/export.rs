//! `mcpkg workflow export`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use super::model;
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::store::workflows;
use crate::workflow::GROUP;
use crate::workflow::answer::VERSION;
use crate::workflow::completions::WORKFLOWS;

/// Export a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Export {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
    /// File to write; the text is printed where none is named
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Write over a file that holds something else
    #[arg(long, requires = "to")]
    #[serde(default)]
    force: bool,
}

impl Operation for Export {
    const TOOL: &'static str = "export_workflow";
    const CLI: &'static [&'static str] = &["workflow", "export"];
    const TITLE: &'static str = "Export a workflow";
    const ABOUT: &'static str = "Write a workflow's text to a file, byte for byte, which imports back";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow export app_with_db --to app_with_db.yaml",
        "mcpkg workflow export app_with_db > app_with_db.yaml",
    ];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (workflow, text, project) = context.read(|db, project| {
            let workflow = workflows::get(db, project, &self.name)?;
            let text = model::stored(db, workflow.blob)?;
            Ok((workflow, text, project.name.clone()))
        })?;
        let mut data = data(&project, &workflow);
        let Some(file) = &self.to else {
            data["yaml"] = text.clone().into();
            return Ok(Reply::new(Body::Text(text), data));
        };
        self.write(file, text.as_bytes())?;
        data["file"] = file.display().to_string().into();
        let sentence = format!("Wrote workflow '{}' to {} ({} bytes)", workflow.name, file.display(), workflow.size);
        Ok(Reply::sentence(sentence, data))
    }
}

impl Export {
    /// Writes the file; one that holds the same stays as it is.
    fn write(&self, file: &Path, text: &[u8]) -> Result<()> {
        match disk::metadata(file)? {
            Some(_) if disk::read(file)? == text => Ok(()),
            Some(_) if !self.force => {
                let what = format!("The file `{}` holds something else; nothing was written", file.display());
                Err(Error::new(Code::AlreadyExists, what).hint("--force writes over it"))
            }
            _ => disk::replace(file, text),
        }
    }
}
