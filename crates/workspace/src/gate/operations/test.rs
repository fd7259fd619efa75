//! `mcpkg gate test` (tool `smctl_gate_test`): runs a model on a test input.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::gate::files::Files;
use crate::gate::interface::Options;
use crate::gate::tensor::Tolerance;
use crate::gate::{MODELS, has_engine, open, summary};
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::projects::Selection;

/// A person sees at most this many characters of an output.
const SHOWN: usize = 400;

fn relative() -> f64 {
    Tolerance::default().relative
}

fn absolute() -> f64 {
    Tolerance::default().absolute
}

/// Parses a tolerance: a number of 0 or more.
fn tolerance(text: &str) -> std::result::Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err("it must be 0 or more".to_owned()) }
}

/// Run a model on an input
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Name of a model, or an endpoint with an active route to a model
    #[arg(add = MODELS)]
    model: String,
    /// Path to input data file: .json, .pb or .npy, or a folder with `input_0.pb`
    #[arg(value_hint = clap::ValueHint::AnyPath)]
    input: String,
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    url: Option<String>,
    /// Write the complete outputs to this file, as JSON
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    #[serde(skip)]
    output: Option<PathBuf>,
    /// Relative tolerance: largest allowed difference, as a fraction of the expected number
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, default_value_t = relative())]
    #[serde(skip, default = "relative")]
    rtol: f64,
    /// Absolute tolerance, added to the relative tolerance
    #[arg(long, value_name = "NUMBER", value_parser = tolerance, default_value_t = absolute())]
    #[serde(skip, default = "absolute")]
    atol: f64,
}

impl Operation for Test {
    const TOOL: &'static str = "smctl_gate_test";
    const CLI: &'static [&'static str] = &["gate", "test"];
    const TITLE: &'static str = "Test model";
    const ABOUT: &'static str = "Run test inference against a registered model";
    const HELP: &'static str = "The input can be a .json file, a .pb file, a .npy file or a folder. The content of \
        a .json file is {\"NAME\": {\"dtype\": \"float32\", \"shape\": [1, 2], \"data\": [0.5, 1]}}, or just the \
        array if the model takes only one input. A .pb file is an ONNX tensor, and a .npy file is a NumPy array. A \
        folder contains `input_0.pb`, `input_1.pb` and so on. If the folder also contains `output_0.pb` and so on, \
        mcpkg compares the model's outputs with those files. The exit status is 1 if any output differs by more \
        than --rtol and --atol allow. mcpkg shows the first 32 elements of each output, the minimum, maximum and \
        mean, and the position of the maximum; with --output, mcpkg writes all elements to a file. The embedded \
        gate runs the model in a separate process that opens no files. The process can use up to 2 GiB of memory, \
        and is stopped after 30 seconds.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg gate test resnet50 cat.npy",
        "mcpkg gate test resnet50 testdata/resnet50/ --json",
        "mcpkg gate test yolov8 street.npy --output detections.json",
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

    fn writes_files(&self) -> bool {
        self.output.is_some()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let mut files = Files::of(context, &workspace);
        let tolerance = Tolerance { relative: self.rtol, absolute: self.atol };
        let options = Options { tolerance, whole: self.output.is_some() };
        let gate = open(context, &workspace, self.url.as_deref())?;
        let mut tested = gate.test(&mut files, &self.model, &self.input, options)?;
        if let Some(file) = &self.output {
            disk::replace(file, tested["output"].to_string().as_bytes())?;
        }
        let left_out = summary::cut(&mut tested["output"]);
        if left_out > 0 {
            tested["outputs_left_out"] = left_out.into();
        }
        let mut bodies = vec![Body::Sentence(sentence(&tested))];
        bodies.extend(outputs(&tested["output"]));
        let differs = tested["expected_match"] == false;
        let warnings = tested["differs"].as_array().cloned().unwrap_or_default();
        let warnings = warnings.iter().filter_map(Value::as_str).map(|line| format!("unexpected output: {line}"));
        let warnings: Vec<String> = warnings.collect();
        let mut reply = Reply::new(Body::Several(bodies), tested).warn(warnings);
        if left_out > 0 {
            reply = reply.warn([format!("{} not shown", plural::count(left_out, "more output"))]);
        }
        reply.failed = differs;
        Ok(reply)
    }
}

fn sentence(tested: &Value) -> String {
    let model = tested["model"].as_str().unwrap_or_default();
    let took = tested["latency_ms"].as_f64().map_or_else(String::new, |took| format!(" in {took} ms"));
    let expected = match tested["expected_match"].as_bool() {
        Some(true) => "; the outputs match the expected ones",
        Some(false) => "; the outputs do not match the expected ones",
        None => "",
    };
    format!("Model '{}' ran{took}{expected}", mcpkg_core::op::cell(model))
}

/// Returns the start of each output, one per line.
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
    let name = mcpkg_core::op::cell(name);
    match (tensor["dtype"].as_str(), tensor["shape"].as_array(), tensor["data"].as_array()) {
        (Some(dtype), Some(_), Some(_)) => {
            let figures = ["min", "max", "mean", "argmax"].iter().filter(|figure| !tensor[**figure].is_null());
            let figures: String = figures.map(|figure| format!(", {figure} {}", tensor[*figure])).collect();
            let data = short(tensor["data"].to_string());
            format!("{name} {}{}: {data}{figures}", mcpkg_core::op::cell(dtype), tensor["shape"])
        }
        _ => format!("{name}: {}", short(tensor.to_string())),
    }
}
