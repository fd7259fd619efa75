//! Builds the prompt that the agent of `mcpkg ask` gets.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::workflows;

use crate::draft;
use crate::saved::model;

const TASK: &str = "Write a workflow for mcpkg that does what the request below asks for. The MCP server mcpkg has the tools: \
    search_commands finds commands, get_command_spec shows what one takes and returns, validate_workflow and dry_run check a \
    text, and propose_workflow submits it. Submit one workflow without errors. A person reviews it, so do not run it, and do \
    not ask questions.";

/// The text of the workflow or draft that a request changes.
struct Base {
    name: String,
    /// The revision of the workflow, or the revision that the draft is based on. `None` for a draft of a new workflow.
    revision: Option<i64>,
    text: String,
}

/// Returns the prompt for a request, with the text of the workflow or draft to change, if one is named.
pub fn prompt(context: &Context, text: &str, workflow: Option<&str>, draft: Option<&str>) -> Result<String> {
    let base = match (workflow, draft) {
        (Some(name), None) => Some(of_workflow(context, name)?),
        (None, Some(id)) => Some(of_draft(context, id)?),
        (None, None) => None,
        (Some(_), Some(_)) => return Err(Error::new(Code::InvalidArgument, "Pass either --workflow or --draft")),
    };
    Ok(written(text, base.as_ref()))
}

fn written(text: &str, base: Option<&Base>) -> String {
    let base = base.map(|Base { name, revision, text }| {
        let replaces = match revision {
            Some(revision) => {
                format!(" Pass \"replaces\": \"{name}\" and \"revision\": {revision} to propose_workflow.")
            }
            None => String::new(),
        };
        format!("\n\nThe request changes this text of the workflow {name}.{replaces}\n\n{}", text.trim_end())
    });
    format!("{TASK}{}\n\nRequest:\n{}\n", base.unwrap_or_default(), text.trim())
}

fn of_workflow(context: &Context, name: &str) -> Result<Base> {
    context.read(|db, project| {
        let workflow = workflows::get(db, project, name)?;
        let text = model::stored(db, workflow.blob)?;
        Ok(Base { name: workflow.name, revision: Some(workflow.revision), text })
    })
}

fn of_draft(context: &Context, id: &str) -> Result<Base> {
    context.read(|db, project| {
        let (draft, text) = draft::waiting(db, project, id)?;
        let workflow = draft.base.map(|base| workflows::by_uuid(db, project.id, base.item)).transpose()?.flatten();
        let name = workflow.map_or(draft.name, |workflow| workflow.name);
        Ok(Base { name, revision: draft.base.map(|base| base.revision), text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_comes_last_and_a_text_to_change_before_it() {
        let plain = written(" Make an app \n", None);
        assert!(plain.starts_with(TASK) && plain.ends_with("\n\nRequest:\nMake an app\n"), "{plain}");
        let base = Base { name: "app".to_owned(), revision: Some(3), text: "workflow: app\n".to_owned() };
        let changed = written("Smaller", Some(&base));
        let end = "Pass \"replaces\": \"app\" and \"revision\": 3 to propose_workflow.\n\nworkflow: app\n\nRequest:\nSmaller\n";
        assert!(changed.ends_with(end), "{changed}");
    }
}
