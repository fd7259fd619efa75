//! Handles calls that may need a person's consent: the client asks its user, and the call is run again with the answer.
//!
//! In the protocol revisions with a handshake, the server asks during the call (elicitation/create). In revision
//! 2026-07-28, the call ends with the question (`input_required`), and the client calls again with the answer. The call
//! holds no thread, ticket or permit while a person decides.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, ElicitRequest, InputRequest, InputRequiredResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use uuid::Uuid;

use super::read::blocking;
use super::{Server, era, schedule};
use crate::mcp::Config;
use crate::mcp::elicitation::{self, Answer};
use crate::mcp::era::Era;
use crate::mcp::error::error_data;
use crate::mcp::tools::Tool;
use mcpkg_base::error::Result;
use mcpkg_core::consent::request;
use mcpkg_core::op::{Context, Elicit};
use mcpkg_store::consents::{Request, State};

/// The key of the only question of a call.
const KEY: &str = "consent";

/// How long a user may take to answer. The consent request itself stays open longer, so that the user can still approve
/// it at the shell.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Runs a tool for an agent. If it needs consent, the client asks its user.
pub(super) async fn with_consent(
    server: &Server,
    tool: Tool,
    params: CallToolRequestParams,
    config: &Config,
    request: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let CallToolRequestParams { arguments, input_responses, request_state, .. } = params;
    let operation = match tool.consent(config) {
        Some(operation) if elicitation::is_trusted(config, request) => operation.to_owned(),
        _ => return schedule::schedule(server, tool, arguments, config, request, schedule::Asking::default()).await,
    };
    let era = era(request);
    let answered = match (era, request_state) {
        (Era::Modern, Some(state)) => {
            let result = input_responses.as_ref().and_then(|responses| responses.get(KEY));
            let answer = elicitation::answer(result.unwrap_or(&Value::Null));
            let request_id = Uuid::parse_str(&state).map_err(|_| not_asked())?;
            let asked = load(server, &operation, config, request, request_id).await?;
            decide(server, &operation, config, request, asked, answer).await?;
            Some(request_id)
        }
        _ => None,
    };
    let (result, wanted) = attempt(server, tool.clone(), arguments.clone(), config, request, answered).await;
    let Some(wanted) = wanted.filter(|_| answered.is_none()) else { return result };
    let asked = load(server, &operation, config, request, wanted).await?;
    let question = elicitation::question(&asked);
    if era == Era::Modern {
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let questions = BTreeMap::from([(KEY.to_owned(), question)]);
        return Ok(InputRequiredResult::new(Some(questions), Some(wanted.to_string())).into());
    }
    let answer = tokio::select! {
        answer = request.peer.create_elicitation_with_timeout(question, Some(ANSWER_TIMEOUT)) => answer,
        () = request.ct.cancelled() => return result,
        () = server.ending.cancelled() => return result,
    };
    let answer = match answer {
        Ok(answer) => elicitation::answer(&serde_json::to_value(answer).unwrap_or_default()),
        Err(error) => {
            tracing::info!(%error, "the client did not ask its user");
            Answer::Nothing
        }
    };
    if answer == Answer::Nothing {
        return result;
    }
    decide(server, &operation, config, request, asked, answer).await?;
    attempt(server, tool, arguments, config, request, Some(wanted)).await.0
}

/// Runs the tool. If it needs consent, also returns the id of the consent request, unless the call has become a task:
/// then the task's result reports the request.
async fn attempt(
    server: &Server,
    tool: Tool,
    arguments: Option<rmcp::model::JsonObject>,
    config: &Config,
    request: &RequestContext<RoleServer>,
    answered: Option<Uuid>,
) -> (Result<CallToolResponse, ErrorData>, Option<Uuid>) {
    let wanted: Arc<Mutex<Option<Uuid>>> = Arc::default();
    let elicit: Arc<Elicit> = {
        let wanted = Arc::clone(&wanted);
        Arc::new(move |id| *wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(id))
    };
    let asking = schedule::Asking { elicit: Some(elicit), answered };
    let result = schedule::schedule(server, tool, arguments, config, request, asking).await;
    let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner).take();
    (result, wanted)
}

/// Returns the consent request for the client to show. Fails unless it comes from the same caller and is for the same
/// operation.
async fn load(
    server: &Server,
    operation: &str,
    config: &Config,
    request: &RequestContext<RoleServer>,
    id: Uuid,
) -> Result<Request, ErrorData> {
    let context = context(server, config, request);
    let found = blocking(move || request::waiting(&context, id, context.clock.now())).await?;
    let found = found.map_err(|error| error_data(&error))?;
    if found.operation == operation { Ok(found) } else { Err(not_asked()) }
}

/// Stores the user's answer to the question about the request `shown`.
async fn decide(
    server: &Server,
    operation: &str,
    config: &Config,
    request: &RequestContext<RoleServer>,
    shown: Request,
    answer: Answer,
) -> Result<(), ErrorData> {
    let id = shown.uuid;
    let state = load(server, operation, config, request, id).await?.state;
    let context = context(server, config, request);
    let decided = blocking(move || match answer {
        // A person denied the request while the client's question was open. The next attempt returns that denial.
        Answer::Yes if state == State::Denied => Ok(()),
        Answer::Yes => request::approve(&context, &Request { state: State::Pending, ..shown }, None).map(drop),
        Answer::No => request::deny(&context, id, None).map(drop),
        Answer::Declined => request::decline(&context, id),
        Answer::Nothing => Ok(()),
    });
    decided.await?.map_err(|error| error_data(&error))
}

fn context(server: &Server, config: &Config, request: &RequestContext<RoleServer>) -> Context {
    let client = request.client_info().map(|client| client.name);
    let caller = config.caller(client.as_deref());
    let context = Context::new(crate::DOMAINS, caller, server.store.clone(), config.selection.clone());
    Context { connection: server.session.id.clone(), ..context }
}

fn not_asked() -> ErrorData {
    ErrorData::invalid_params("Invalid params for tools/call: `requestState` was not created by this server", None)
}
