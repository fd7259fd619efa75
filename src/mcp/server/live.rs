//! Answers resources/list, resources/read and completion/complete for live resources, which are not database rows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rmcp::model::{
    CompleteRequestParams, CompleteResult, ListResourcesResult, ReadResourceResponse, ReadResourceResult, Reference,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::read::{acquire_permit, or_cancelled, release_permit, wait_for_earlier_writes};
use super::{Server, era};
use crate::mcp::error::error_data;
use crate::mcp::limits::limited;
use crate::mcp::live::{self, LiveResource};
use crate::mcp::methods::only_page;
use crate::mcp::{Config, completion, long_calls, tools};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// Answers resources/list on a server with only live resources.
pub(super) async fn list(
    server: &Server,
    cursor: Option<String>,
    request: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    only_page(cursor)?;
    let (config, hub) = (server.config(&request.extensions), Arc::clone(&server.hub));
    let listed = run(server, request, move |context| {
        let listed = live::list(&config, context)?;
        hub.listed(&config, live::list_validator(&listed)?);
        Ok(listed)
    });
    listed.await.map(ListResourcesResult::with_all_items)
}

pub(super) async fn read(
    server: &Server,
    found: LiveResource,
    uri: String,
    request: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let contents = run(server, request, move |context| {
        let started = Instant::now();
        let text = found.read(&uri, context);
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let outcome = text.as_ref().map_or_else(|error| error.code().name(), |_| "ok");
        tracing::info!(uri, outcome, micros, "resources/read");
        if let Ok(text) = &text {
            tracing::debug!(uri, text, "resources/read answers");
        }
        Ok(found.contents(&uri, text?))
    });
    contents.await.map(|contents| ReadResourceResult::new(vec![contents]).into())
}

/// Answers completion/complete for a template of live resources. Returns `None` if the request is for something else.
pub(super) async fn complete(
    server: &Server,
    params: &CompleteRequestParams,
    request: &RequestContext<RoleServer>,
) -> Option<Result<CompleteResult, ErrorData>> {
    let Reference::Resource(reference) = &params.r#ref else { return None };
    let config = server.config(&request.extensions);
    let names = match live::complete(&config, &reference.uri, &params.argument.name)? {
        Ok(names) => names,
        Err(error) => return Some(Err(error_data(&error))),
    };
    let typed = params.argument.value.clone();
    Some(run(server, request, move |context| completion::result(names(context)?, &typed)).await)
}

/// Runs `f` on its own thread, after the client's earlier writes. `f` may run git, which takes a while.
async fn run<T: Send + 'static>(
    server: &Server,
    request: &RequestContext<RoleServer>,
    f: impl FnOnce(&Context) -> Result<T> + Send + 'static,
) -> Result<T, ErrorData> {
    let ticket = wait_for_earlier_writes(request).await;
    release_permit(request);
    let config = server.config(&request.extensions);
    let cancelled = CancellationToken::new();
    let context = context(server, &config, request, &cancelled);
    let era = era(request);
    let (sender, answered) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let deliver = move |answer| {
        if let Some(sender) = sender.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // Sending fails if the caller no longer waits for the answer.
            drop(sender.send(answer));
        }
    };
    let asker = config.asker();
    let working = async {
        match server.long.take(&asker, "resources/read").await {
            Some(permit) => long_calls::run(
                permit,
                move || {
                    let _ticket = ticket;
                    f(&context).map_err(|error| live::failure(&error, era))
                },
                deliver,
            ),
            None => deliver(Err(error_data(&Error::new(Code::Cancelled, "The server is stopping")))),
        }
        answered.await
    };
    let answer = or_cancelled(request, &server.ending, &cancelled, working).await;
    acquire_permit(request).await;
    answer.unwrap_or_else(|_| Err(error_data(&Error::internal("a handler crashed"))))
}

fn context(
    server: &Server,
    config: &Config,
    request: &RequestContext<RoleServer>,
    cancelled: &CancellationToken,
) -> Context {
    let client = request.client_info().map(|client| client.name.clone());
    let store = limited(&server.store, config, cancelled.clone()).reading();
    Context { cancelled: cancelled.clone(), ..tools::context(store, config, client.as_deref()) }
}
