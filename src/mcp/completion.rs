//! completion/complete: names of prompts and resources, and the values a template asks for.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use super::lookup::not_found;
use super::{Config, templates};
use crate::content::template;
use crate::error::{Code, Error, Result};
use crate::store::revisions::Kind;
use crate::store::{Db, blobs, prompts, resources};

/// Returns what can complete an argument's value.
///
/// The values of a template's argument are those that the template compares it with. For the argument `name`, where
/// the template does not declare one, they are the names of prompts. The variables of a resource template are names too.
pub(super) fn complete(db: &Db<'_>, config: &Config, request: &CompleteRequestParams) -> Result<CompleteResult> {
    let typed = request.argument.value.as_str();
    let mut values = match &request.r#ref {
        Reference::Prompt(reference) => {
            let argument = request.argument.name.as_str();
            of_prompt(db, config, &reference.name, argument, typed)?
        }
        Reference::Resource(reference) => {
            let before = request.context.as_ref().and_then(|context| context.arguments.as_ref());
            let kind = before.and_then(|arguments| arguments.get("kind")).and_then(|word| Kind::named(word));
            of_template(db, config, &reference.uri, &request.argument.name, kind, typed)?
        }
        _ => Vec::new(),
    };
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

fn of_template(
    db: &Db<'_>,
    config: &Config,
    template: &str,
    variable: &str,
    kind: Option<Kind>,
    typed: &str,
) -> Result<Vec<String>> {
    let most = CompletionInfo::MAX_VALUES + 1;
    let names = |kind: Kind| match kind {
        Kind::Prompt => prompts::names(db, &config.selection, typed, most),
        Kind::Resource => resources::names(db, &config.selection, typed, most),
    };
    match (template, variable) {
        (templates::PROMPT, "name") => names(Kind::Prompt),
        (templates::RESOURCE, "name") => names(Kind::Resource),
        (templates::HISTORY, "kind") => Ok([Kind::Prompt, Kind::Resource].map(|kind| kind.word().to_owned()).into()),
        (templates::HISTORY, "name") => match kind {
            Some(kind) => names(kind),
            None => {
                let mut both = [names(Kind::Prompt)?, names(Kind::Resource)?].concat();
                both.sort_unstable();
                both.dedup();
                Ok(both)
            }
        },
        (templates::PROMPT | templates::RESOURCE | templates::HISTORY | templates::EVENTS, _) => {
            let why = format!("The resource template '{template}' has no variable '{variable}'");
            Err(Error::new(Code::InvalidArgument, why)
                .with_details(serde_json::json!({ "uri": template, "argument": variable })))
        }
        _ => Err(Error::new(
            Code::InvalidArgument,
            format!("There is no resource template '{}'", template.escape_debug()),
        )
        .with_details(serde_json::json!({ "uri": template }))),
    }
}
