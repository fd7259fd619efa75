//! What stands for the engine in a program that was built without the feature `gate-onnx`.

use std::io::Read;

use super::given::{Given, Stopped};
use super::tensor::Tensor;

/// Nothing runs models.
pub const NAME: Option<&str> = None;

/// What builds an mcpkg that runs models.
pub const BUILD: &str = "`cargo install --path . --features full`";

/// Runs nothing: nobody starts a worker without an engine.
///
/// # Errors
/// That there is none.
pub fn run(_: &mut dyn Read, _: Vec<(String, Tensor)>, _: &[String]) -> Result<Given, Stopped> {
    Err(Stopped::new("engine_missing", "this mcpkg was built without an engine"))
}
