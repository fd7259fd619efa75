//! Asks for consent with a form that the client shows: decides which clients are trusted, writes the question, and
//! interprets the answer.

use rmcp::RoleServer;
use rmcp::model::{BooleanSchema, ElicitRequestParams, ElicitationSchema};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::Config;
use mcpkg_core::consent::request::{effects, shortened};
use mcpkg_store::consents::Request;

/// The only field of the form.
const FIELD: &str = "approve";

/// The maximum number of lines that a form shows about the change. If there are more, one further line says how many.
const MAX_LINES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    /// The user submitted the form and chose no.
    No,
    /// The client declined. Some clients do so without asking anybody.
    Declined,
    /// The form was closed, or the user did not answer.
    Nothing,
}

/// Returns whether the client can show forms and mcpkg accepts its answers. mcpkg accepts answers if one of this user's
/// programs started the server, or if the client's access key may consent.
pub(super) fn is_trusted(config: &Config, request: &RequestContext<RoleServer>) -> bool {
    let declared = request.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    // A client that names no mode supports forms.
    let forms = declared.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none());
    forms && config.caller(None).rights().consent
}

pub(super) fn question(request: &Request) -> ElicitRequestParams {
    let all = effects(request);
    let shown = shortened(&all, MAX_LINES);
    let mut message = format!("{}?\n", request.summary);
    for line in &shown {
        message.push_str(&format!("\n- {line}"));
    }
    if shown != all {
        message.push_str(&format!(
            "\n\nThis text is shortened; to see the full text, run `mcpkg consent show {}`",
            request.uuid
        ));
    }
    let approve = BooleanSchema::new()
        .title("Consent")
        .description("Allow the agent to do this once; later requests require your consent again");
    let requested_schema = ElicitationSchema::builder().required_bool_with(FIELD, |_| approve).build_unchecked();
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
}

/// Interprets an ElicitResult. Only a submitted form with the answer yes counts as consent.
pub(super) fn answer(result: &Value) -> Answer {
    match (result["action"].as_str(), result["content"][FIELD].as_bool()) {
        (Some("accept"), Some(true)) => Answer::Yes,
        (Some("accept"), Some(false)) => Answer::No,
        (Some("decline"), _) => Answer::Declined,
        _ => Answer::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_submitted_form_with_yes_counts_as_consent() {
        for (result, means) in [
            (json!({ "action": "accept", "content": { "approve": true } }), Answer::Yes),
            (json!({ "action": "accept", "content": { "approve": false } }), Answer::No),
            (json!({ "action": "decline" }), Answer::Declined),
            (json!({ "action": "decline", "content": { "approve": true } }), Answer::Declined),
            (json!({ "action": "accept" }), Answer::Nothing),
            (json!({ "action": "accept", "content": { "approve": "true" } }), Answer::Nothing),
            (json!({ "action": "accept", "content": { "yes": true } }), Answer::Nothing),
            (json!({ "action": "cancel" }), Answer::Nothing),
            (json!({ "action": "ACCEPT", "content": { "approve": true } }), Answer::Nothing),
            (json!("accept"), Answer::Nothing),
            (json!(null), Answer::Nothing),
        ] {
            assert_eq!(answer(&result), means, "{result}");
        }
    }
}
