//! Lets a client ask its user for consent: the clients that are trusted with it, the question, and what counts as a yes.

use rmcp::RoleServer;
use rmcp::model::{BooleanSchema, ElicitRequestParams, ElicitationSchema};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::Config;
use mcpkg_core::consent::request::{effects, shortened};
use mcpkg_store::consents::Request;

/// The one field of the form.
const FIELD: &str = "approve";

/// Lines of what is done that a form shows; a last one counts the rest.
const MAX_LINES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    /// They sent the form off with a no.
    No,
    /// The client declined. Some do so by themselves, with nobody before them.
    Declined,
    /// Nothing: the form was closed, or the user was away.
    Nothing,
}

/// Whether the client of a request declared that it shows forms, and its answer counts: a program of this user's that
/// started the server, or one with an access key that may consent.
pub(super) fn is_trusted(config: &Config, request: &RequestContext<RoleServer>) -> bool {
    let declared = request.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    // One that names no mode shows forms.
    let forms = declared.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none());
    forms && config.caller(None).rights().consent
}

/// Returns the form that asks for consent.
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

/// Returns what an ElicitResult says. Only a form that was sent off with a yes in it is one.
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
    fn only_a_form_with_a_yes_in_it_is_a_yes() {
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
