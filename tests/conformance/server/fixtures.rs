//! The fixtures that are rows of the database: plain prompts, templates, texts and an image.

use mcpkg_core::op::Context;
use serde_json::{Value, json};

/// An image of one pixel.
pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Creates the project and its content through mcpkg's operations.
pub fn fill(context: &Context) -> mcpkg_base::error::Result<()> {
    run(context, &["project", "create"], json!({ "name": "conformance" }))?;
    let argument =
        |name: &str| json!({ "name": name, "description": format!("What {name} stands for"), "required": true });
    let prompts = [
        ("test_simple_prompt", "This is a simple prompt for testing.", json!([])),
        (
            "test_prompt_with_arguments",
            "Prompt with arguments: arg1='{{ arg1 }}', arg2='{{ arg2 }}'",
            json!([argument("arg1"), argument("arg2")]),
        ),
        // The provider in `tools.rs` answers these three prompts. The rows only put them in the list.
        ("test_prompt_with_embedded_resource", "{{ resourceUri }}", json!([argument("resourceUri")])),
        ("test_prompt_with_image", "An image.", json!([])),
        ("test_input_required_result_prompt", "A prompt that asks.", json!([])),
    ];
    for (name, content, arguments) in prompts {
        let mut prompt =
            json!({ "name": name, "content": content, "description": "A fixture of the conformance suite" });
        if arguments != json!([]) {
            prompt["arguments"] = arguments;
        }
        run(context, &["prompt", "create"], prompt)?;
    }
    let resources = [
        ("static-text", "text/plain", "This is the content of the static text resource."),
        ("watched-resource", "text/plain", "Watched resource content"),
    ];
    for (name, mime_type, content) in resources {
        run(
            context,
            &["resource", "create"],
            json!({
                "name": name,
                "uri": format!("test://{name}"),
                "content": content,
                "mime_type": mime_type,
                "description": "A fixture of the conformance suite",
            }),
        )?;
    }
    run(
        context,
        &["resource", "create"],
        json!({
            "name": "static-binary",
            "uri": "test://static-binary",
            "content": PIXEL,
            "mime_type": "image/png",
            "description": "A fixture of the conformance suite",
        }),
    )
}

/// Runs an operation with JSON arguments, like a call by an agent.
pub fn run(context: &Context, command: &[&str], arguments: Value) -> mcpkg_base::error::Result<()> {
    let found = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command);
    let entry = found.ok_or_else(|| mcpkg_base::error::Error::internal(format!("no operation {command:?}")))?;
    entry.from_agent(arguments)?.run(context).map(drop)
}
