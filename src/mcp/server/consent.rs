//! Handles calls that may need a person's consent: the client asks its user, and the call is run again with the answer.
//!
//! In the protocol revisions with a handshake, the server asks during the call (elicitation/create). In revision
//! 2026-07-28, the call ends with the question (`input_required`), and the client calls again with the answer. The call
//! holds no thread, ticket or permit while a person decides.
//!
//! If the client opens pages, the question is the address of the request's page on a console. The call waits for the
//! person's decision there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomNotification, ElicitRequest, InputRequest, InputRequiredResult,
    ServerNotification,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use uuid::Uuid;

use super::read::blocking;
use super::{Server, era, schedule};
use crate::mcp::Config;
use crate::mcp::elicitation::{self, Answer};
use crate::mcp::era::Era;
use crate::mcp::error::error_data;
use crate::mcp::tools::Tool;
use crate::web;
use mcpkg_base::error::Result;
use mcpkg_core::consent::request::{self, Shown};
use mcpkg_core::op::{Connection, Context, Elicit};
use mcpkg_store::consents::{Request, State};

/// The key of the only question of a call.
const KEY: &str = "consent";

/// How long a user may take to answer. The consent request itself stays open longer, so that the user can still approve
/// it at the shell.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How long a call waits for the decision on an open page, in the revision without a handshake. There, clients give up on a
/// call sooner than during a call in which the server asks them something.
const PAGE_TIMEOUT: Duration = Duration::from_secs(45);

/// How often to check whether a person has decided, in case that the database cannot be watched. Otherwise, the commit of the
/// decision ends the wait.
const LOOK: Duration = Duration::from_secs(5);

/// The notification that a person has decided on a page.
const COMPLETE: &str = "notifications/elicitation/complete";

/// Runs a tool for an agent. If it needs consent, the client asks its user.
pub(super) async fn with_consent(
    server: &Server,
    tool: Tool,
    params: CallToolRequestParams,
    config: &Config,
    request: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let CallToolRequestParams { arguments, input_responses, request_state, .. } = params;
    let way = match tool.consent(config) {
        Some(operation) => {
            let operation = operation.to_owned();
            elicitation::way(config, request, console(server, config, request).await).map(|way| (operation, way))
        }
        None => None,
    };
    let Some((operation, way)) = way else {
        return schedule::schedule(server, tool, arguments, config, request, schedule::Asking::default()).await;
    };
    let asking = Asking { server, operation: &operation, config, request };
    let era = era(request);
    let answered = match (era, request_state) {
        (Era::Modern, Some(state)) => {
            let result = input_responses.as_ref().and_then(|responses| responses.get(KEY));
            let answer = way.answer(result.unwrap_or(&Value::Null));
            let shown = Shown::pending(&state).ok_or_else(not_asked)?;
            let id = shown.uuid;
            asking.decide(shown, answer, PAGE_TIMEOUT).await?;
            Some(id)
        }
        _ => None,
    };
    let (result, wanted) = attempt(server, tool.clone(), arguments.clone(), config, request, answered).await;
    let Some(wanted) = wanted.filter(|_| answered.is_none()) else { return result };
    let asked = asking.load(wanted).await?;
    let question = way.question(&asked);
    if era == Era::Modern {
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let questions = BTreeMap::from([(KEY.to_owned(), question)]);
        return Ok(InputRequiredResult::new(Some(questions), Some(Shown::from(&asked).to_text())).into());
    }
    let answer = tokio::select! {
        answer = request.peer.create_elicitation_with_timeout(question, Some(ANSWER_TIMEOUT)) => answer,
        () = request.ct.cancelled() => return result,
        () = server.ending.cancelled() => return result,
    };
    let answer = match answer {
        Ok(answer) => way.answer(&serde_json::to_value(answer).unwrap_or_default()),
        Err(error) => {
            tracing::info!(%error, "the client did not ask its user");
            Answer::Nothing
        }
    };
    if answer == Answer::Nothing {
        return result;
    }
    asking.decide(Shown::from(&asked), answer, ANSWER_TIMEOUT).await?;
    attempt(server, tool, arguments, config, request, Some(wanted)).await.0
}

/// Returns the address of a console whose pages the client can open: the server's own, or this user's console on this
/// machine, if the client is on this machine too.
async fn console(server: &Server, config: &Config, request: &RequestContext<RoleServer>) -> Option<String> {
    if !elicitation::opens_pages(request) {
        return None;
    }
    if let Some(own) = server.console.get() {
        return Some(own.clone());
    }
    let context = context(server, config, request);
    let find = move || web::known_console(&context.approved, context.database());
    if config.connection == Connection::Stdio { blocking(find).await.ok().flatten() } else { None }
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

/// A call whose client asks its user.
struct Asking<'a> {
    server: &'a Server,
    operation: &'a str,
    config: &'a Config,
    request: &'a RequestContext<RoleServer>,
}

impl Asking<'_> {
    fn context(&self) -> Context {
        context(self.server, self.config, self.request)
    }

    /// Returns the consent request for the client to show. Fails unless it comes from the same caller and is for the
    /// same operation.
    async fn load(&self, id: Uuid) -> Result<Request, ErrorData> {
        let context = self.context();
        let found = blocking(move || request::waiting(&context, id, context.clock.now())).await?;
        let found = found.map_err(|error| error_data(&error))?;
        if found.operation == self.operation { Ok(found) } else { Err(not_asked()) }
    }

    /// Stores the user's answer to the question about the request `shown`. If the client opened a page, waits up to
    /// `time` for the person's decision there.
    async fn decide(&self, shown: Shown, answer: Answer, time: Duration) -> Result<(), ErrorData> {
        let id = shown.uuid;
        let state = self.load(id).await?.state;
        let context = self.context();
        let decided = blocking(move || match answer {
            // A person denied the request while the client's question was open. The next attempt returns that denial.
            Answer::Yes if state == State::Denied => Ok(()),
            Answer::Yes => request::approve(&context, shown, None).map(drop),
            Answer::No => request::deny(&context, id, None).map(drop),
            Answer::Declined => request::decline(&context, id),
            Answer::Opened | Answer::Nothing => Ok(()),
        });
        decided.await?.map_err(|error| error_data(&error))?;
        if answer == Answer::Opened && self.wait(id, time).await {
            self.complete(id).await;
        }
        Ok(())
    }

    /// Waits for at most `time` until a person has decided on a request or the request has ended. Returns whether one of
    /// these happened.
    async fn wait(&self, id: Uuid, time: Duration) -> bool {
        let mut commits = self.server.hub.commits();
        let waiting = async {
            loop {
                let context = self.context();
                let found = blocking(move || request::waiting(&context, id, context.clock.now())).await;
                if !matches!(found, Ok(Ok(Request { state: State::Pending, .. }))) {
                    return;
                }
                tokio::select! {
                    Ok(()) = commits.changed() => {}
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        };
        tokio::select! {
            () = waiting => true,
            () = tokio::time::sleep(time) => false,
            () = self.request.ct.cancelled() => false,
            () = self.server.ending.cancelled() => false,
        }
    }

    /// Tells the client that it can close the page, in the revisions that have this notification.
    async fn complete(&self, id: Uuid) {
        if era(self.request) == Era::Modern {
            return;
        }
        let params = json!({ "elicitationId": id.to_string() });
        let complete = ServerNotification::CustomNotification(CustomNotification::new(COMPLETE, Some(params)));
        if let Err(error) = self.request.peer.send_notification(complete).await {
            tracing::debug!(%error, "the client was not notified");
        }
    }
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
