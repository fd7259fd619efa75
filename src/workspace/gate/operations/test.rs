//! `mcpkg gate test`, and the tool `smctl_gate_test`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::store::projects::Selection;
use crate::workspace::gate::files::Files;
use crate::workspace::gate::{MODELS, has_engine, open};
use crate::workspace::root::Workspace;
use crate::workspace::{GROUP, SHAPE};

/// Characters of an output that people are shown.
const SHOWN: usize = 400;

/// Run a model on an input
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Name of the model, or the endpoint of a route to it
    #[arg(add = MODELS)]
    model: String,
    /// Path to input data file: .json, .pb or .npy, or a folder with `input_0.pb`
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    input: String,
    /// Address of the gate [default: MODELGATE_URL, or `[gate].url` of the manifest, else the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    url: Option<String>,
}

impl Operation for Test {
    const TOOL: &'static str = "smctl_gate_test";
    const CLI: &'static [&'static str] = &["gate", "test"];
    const TITLE: &'static str = "Test model";
    const ABOUT: &'static str = "Run test inference against a registered model";
    const HELP: &'static str = "A .json input is {\"NAME\": {\"dtype\": \"float32\", \"shape\": [1, 2], \"data\": [0.5, 1]}}, or the array \
        alone where the model takes one input. A .pb file is a tensor of ONNX's, a .npy file one of NumPy's; a folder has \
        `input_0.pb` and so on, and where it has `output_0.pb`, the outputs are compared with them: the exit status is 1 where they \
        differ. The embedded gate runs the model in a process of its own, with 2 GiB of memory and 30 seconds at most, which \
        opens no file.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg gate test resnet50 cat.npy",
        "mcpkg gate test resnet50 testdata/resnet50/ --json",
        "mcpkg gate test resnet50 cat.json --url http://127.0.0.1:8080",
    ];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const WORKS: fn(&Selection) -> bool = has_engine;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"model":{"type":"string"},"input":{"type":"string","description":"Path to input data file"}},"required":["model","input"]}"#,
    );
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let mut files = Files::of(context, &workspace);
        let tested = open(context, &workspace, self.url.as_deref())?.test(&mut files, &self.model, &self.input)?;
        let mut bodies = vec![Body::Sentence(sentence(&tested))];
        bodies.extend(outputs(&tested["output"]));
        let differs = tested["expected_match"] == false;
        let warnings = tested["differs"].as_array().cloned().unwrap_or_default();
        let warnings = warnings.iter().filter_map(Value::as_str).map(|line| format!("not as expected: {line}"));
        let warnings: Vec<String> = warnings.collect();
        let mut reply = Reply::new(Body::Several(bodies), tested).warn(warnings);
        reply.failed = differs;
        Ok(reply)
    }
}

fn sentence(tested: &Value) -> String {
    let model = tested["model"].as_str().unwrap_or_default();
    let took = tested["latency_ms"].as_f64().map_or_else(String::new, |took| format!(" in {took} ms"));
    let expected = match tested["expected_match"].as_bool() {
        Some(true) => ", and gave what was expected",
        Some(false) => ", and gave something else than was expected",
        None => "",
    };
    format!("Model '{}' ran{took}{expected}", crate::op::cell(model))
}

/// Returns the beginnings of the outputs, a line each.
fn outputs(output: &Value) -> Option<Body> {
    let short = |text: String| match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    };
    let lines: Vec<String> = match output.as_object() {
        Some(outputs) => outputs.iter().map(|(name, tensor)| line(name, tensor, short)).collect(),
        None => vec![short(output.to_string())],
    };
    (!lines.is_empty()).then(|| Body::Text(lines.join("\n") + "\n"))
}

fn line(name: &str, tensor: &Value, short: impl Fn(String) -> String) -> String {
    let name = crate::op::cell(name);
    match (tensor["dtype"].as_str(), tensor["shape"].as_array(), tensor["data"].as_array()) {
        (Some(dtype), Some(_), Some(_)) => {
            format!("{name} {}{}: {}", crate::op::cell(dtype), tensor["shape"], short(tensor["data"].to_string()))
        }
        _ => format!("{name}: {}", short(tensor.to_string())),
    }
}
