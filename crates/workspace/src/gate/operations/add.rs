//! `mcpkg gate models add` (tool `smctl_gate_models_add`): registers an ONNX file as a model.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::table;
use crate::gate::files::Files;
use crate::gate::open;
use crate::names;
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Register a model with the gate
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Path to ONNX model file
    #[arg(value_hint = clap::ValueHint::FilePath)]
    path: String,
    /// Name of the model [default: the file's name without its extension]
    #[arg(long, value_name = "NAME")]
    #[serde(skip)]
    name: Option<String>,
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    url: Option<String>,
    /// Show what would be registered, without registering it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Add {
    const TOOL: &'static str = "smctl_gate_models_add";
    const CLI: &'static [&'static str] = &["gate", "models", "add"];
    const TITLE: &'static str = "Register model";
    const ABOUT: &'static str = "Register a new ONNX model with ModelGate";
    const HELP: &'static str = "The model must be a single file of up to 1 GiB that includes the model's weights. \
        mcpkg reads the header of the file first, and refuses a file that is truncated, has no graph or is not an \
        ONNX model. Adding the same file again changes nothing. mcpkg refuses to add a different file under a name \
        that is already in use.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg gate models add resnet50.onnx",
        "mcpkg gate models add build/model.onnx --name resnet50 --dry-run",
        "mcpkg gate models add resnet50.onnx --url http://127.0.0.1:8080",
    ];
    const EFFECT: Effect = Effect::Create;
    const OPEN_WORLD: bool = true;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"path":{"type":"string","description":"Path to ONNX model file"}},"required":["path"]}"#,
    );
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.path.clone())
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let name = self.named()?;
        let gate = open(context, &workspace, self.url.as_deref())?;
        let mut files = Files::of(context, &workspace);
        if self.dry_run {
            let model = gate.look(&mut files, &self.path, &name)?;
            let data = json!({ "dry_run": true, "model": model });
            return Ok(Reply::new(Body::Table(table(&[model])), data).hint("nothing was registered"));
        }
        let (model, is_new) = gate.add(&mut files, &self.path, &name)?;
        let did = if is_new { "Registered model" } else { "Already registered: model" };
        let mut data = json!(model);
        data["registered"] = is_new.into();
        Ok(Reply::sentence(format!("{did} '{}'", mcpkg_core::op::cell(&model.name)), data))
    }
}

impl Add {
    fn named(&self) -> Result<String> {
        let stem = || Path::new(&self.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let name = self.name.clone().unwrap_or_else(stem);
        if names::is_name(&name) {
            return Ok(name);
        }
        let message = format!("`{}` is not a valid model name", name.escape_debug());
        Err(Error::new(Code::InvalidArgument, message).hint(
            "a name has up to 100 letters, digits, `.`, `_` and `-`, and starts with a letter or digit; set a name with `--name`",
        ))
    }
}
