//! Asks for consent through the client: decides how, writes the question, and interprets the answer.
//!
//! A client opens the request's page on a console, where a person decides, or shows a form. The answer to a form counts
//! only if the client is trusted. The client's report that it opened the page never counts as consent.

use rmcp::RoleServer;
use rmcp::model::{BooleanSchema, ElicitRequestParams, ElicitationCapability, ElicitationSchema};
use rmcp::service::RequestContext;
use serde_json::Value;

use super::Config;
use crate::web::request_page;
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
    /// The client has opened the page, where the person decides.
    Opened,
    /// The client declined. Some clients do so without asking anybody.
    Declined,
    /// The form was closed, or the user did not answer.
    Nothing,
}

/// The way in which a client asks its user for consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With a form. mcpkg accepts the answer.
    Form,
    /// With the request's page on the console at this address (SEP-1036), where the person decides.
    Page(String),
}

/// Returns whether the client can open pages for its user.
pub(super) fn opens_pages(request: &RequestContext<RoleServer>) -> bool {
    declared(request).is_some_and(|elicitation| elicitation.url.is_some())
}

/// Returns how the client asks its user, if it can. `console` is the address of a console whose pages it can open. mcpkg
/// accepts answers to forms if one of this user's programs started the server, or if the client's access key may
/// consent.
pub(super) fn way(config: &Config, request: &RequestContext<RoleServer>, console: Option<String>) -> Option<Way> {
    if let Some(console) = console.filter(|_| opens_pages(request)) {
        return Some(Way::Page(console));
    }
    // A client that names no mode supports forms.
    let forms = declared(request).is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none());
    (forms && config.caller(None).rights().consent).then_some(Way::Form)
}

fn declared(request: &RequestContext<RoleServer>) -> Option<ElicitationCapability> {
    request.client_capabilities().and_then(|capabilities| capabilities.elicitation)
}

impl Way {
    pub(super) fn question(&self, request: &Request) -> ElicitRequestParams {
        match self {
            Way::Form => form(request),
            Way::Page(console) => ElicitRequestParams::UrlElicitationParams {
                meta: None,
                message: format!("{}? Open this page to see what it does, and to approve or deny it", request.summary),
                url: request_page(console, request.uuid),
                elicitation_id: request.uuid.to_string(),
            },
        }
    }

    /// Interprets an ElicitResult. Only a submitted form with the answer yes counts as consent.
    pub(super) fn answer(&self, result: &Value) -> Answer {
        match (self, result["action"].as_str(), result["content"][FIELD].as_bool()) {
            (_, Some("decline"), _) => Answer::Declined,
            (Way::Page(_), Some("accept"), _) => Answer::Opened,
            (Way::Form, Some("accept"), Some(true)) => Answer::Yes,
            (Way::Form, Some("accept"), Some(false)) => Answer::No,
            _ => Answer::Nothing,
        }
    }
}

fn form(request: &Request) -> ElicitRequestParams {
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
            assert_eq!(Way::Form.answer(&result), means, "{result}");
            let opened = match means {
                Answer::Declined => Answer::Declined,
                _ if result["action"] == "accept" => Answer::Opened,
                _ => Answer::Nothing,
            };
            assert_eq!(Way::Page(String::new()).answer(&result), opened, "{result}");
        }
    }
}
