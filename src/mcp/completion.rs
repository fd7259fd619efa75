//! Answers completion/complete: values for the arguments of prompts and of resource templates.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use super::lookup::{no_variable, not_found};
use super::{Config, live};
use mcpkg_agents::template;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Completing;
use mcpkg_store::{Db, blobs, prompts};

/// Returns the completions of an argument's value.
///
/// For a declared argument of a prompt, these are the values that the prompt's template compares it with. For an
/// argument `name` that the prompt does not declare, they are the names of prompts. For a variable of a resource
/// template, the template's domain decides.
pub(super) fn complete(db: &Db<'_>, config: &Config, request: &CompleteRequestParams) -> Result<CompleteResult> {
    let typed = request.argument.value.as_str();
    let values = match &request.r#ref {
        Reference::Prompt(reference) => {
            let argument = request.argument.name.as_str();
            of_prompt(db, config, &reference.name, argument, typed)?
        }
        Reference::Resource(reference) => {
            let given = request.context.as_ref().and_then(|context| context.arguments.as_ref());
            let given = |name: &str| given.and_then(|given| given.get(name)).map(String::as_str);
            let (selection, limit) = (&config.selection, CompletionInfo::MAX_VALUES + 1);
            let completing =
                Completing { db, selection, variable: &request.argument.name, typed, given: &given, limit };
            of_template(config, &reference.uri, &completing)?
        }
        _ => Vec::new(),
    };
    result(values, typed)
}

/// Returns the values that start with the typed text, ignoring case, up to the limit for one answer.
pub(super) fn result(mut values: Vec<String>, typed: &str) -> Result<CompleteResult> {
    values.retain(|value| value.to_lowercase().starts_with(&typed.to_lowercase()));
    let total = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut completion = CompletionInfo::new(values).map_err(Error::internal)?;
    if !more {
        completion.total = Some(total);
    }
    completion.has_more = Some(more);
    Ok(CompleteResult::new(completion))
}

fn of_prompt(db: &Db<'_>, config: &Config, name: &str, argument: &str, typed: &str) -> Result<Vec<String>> {
    let found = prompts::with(db, &config.selection, name, |prompt| {
        let declared: Vec<prompts::Argument> =
            prompt.arguments.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        if !declared.iter().any(|known| known.name == argument) {
            return Ok(None);
        }
        if template::check_size(prompt.content.size).is_err() {
            return Ok(Some(Vec::new()));
        }
        let source = blobs::read(db, prompt.content)?;
        Ok(Some(template::compared_values(&String::from_utf8_lossy(&source), argument)))
    })?;
    match found {
        Some(Some(values)) => Ok(values),
        _ if argument == "name" => prompts::names(db, &config.selection, typed, CompletionInfo::MAX_VALUES + 1),
        Some(None) => Err(Error::new(Code::InvalidArgument, format!("Prompt '{name}' has no argument '{argument}'"))
            .with_details(serde_json::json!({ "name": name, "argument": argument }))),
        None => Err(not_found(db, &config.selection, "Prompt", "name", name)),
    }
}

fn of_template(config: &Config, template: &str, completing: &Completing<'_>) -> Result<Vec<String>> {
    let mut of_rows = config.providers.resources().filter(|resource| resource.live.is_none() && !live::only(config));
    let Some(resource) = of_rows.find(|resource| resource.uri == template) else {
        let why = format!("Resource template '{}' does not exist", template.escape_debug());
        return Err(Error::new(Code::InvalidArgument, why).with_details(serde_json::json!({ "uri": template })));
    };
    (resource.complete)(completing)?.ok_or_else(|| no_variable(template, completing.variable))
}
