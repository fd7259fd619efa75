//! Runs a tool for tools/call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::read::{blocking, or_cancelled, wait_for_earlier_writes};
use super::{Server, lifecycle};
use crate::mcp::limits::limited;
use crate::mcp::notes::Notes;
use crate::mcp::tickets::Ticket;
use crate::mcp::tools::Tool;
use crate::mcp::{Config, tools};
use crate::op::{Context, Elicit};

/// Runs a tool for an agent, on the blocking pool, after the client's earlier writes.
pub(super) async fn run(
    server: &Server,
    tool: Tool,
    arguments: Option<JsonObject>,
    config: &Config,
    request: &RequestContext<RoleServer>,
    elicit: Option<Arc<Elicit>>,
) -> Result<CallToolResult, ErrorData> {
    let changes = tool.effect().changes();
    let held = Arc::new(Held { ticket: wait_for_earlier_writes(request).await, permit: Mutex::default() });
    let client = request.client_info().map(|client| client.name.clone());
    let (notes, sending) = Notes::to(request, lifecycle::level(server, request));
    let cancelled = CancellationToken::new();
    // A write reads what it needs to the end, or to put back what it changed.
    let store = match changes {
        true => server.store.clone(),
        false => limited(&server.store, config, cancelled.clone()),
    };
    let context = Context {
        progress: notes.progress(request),
        cancelled: cancelled.clone(),
        step_aside: Arc::new({
            let held = Arc::clone(&held);
            move || held.give_back()
        }),
        elicit,
        ..tools::context(store, config, client.as_deref())
    };
    let asker = config.grant.as_ref().map(|grant| grant.key.as_str());
    let working = async {
        let _permit = if tool.one_at_a_time() { server.searching.take(asker).await } else { None };
        // A write waits for the one before it in the database, where nothing else waits for it.
        if !changes {
            *held.permit() = Arc::clone(&**server.reading).acquire_owned().await.ok();
        }
        blocking(move || {
            let result = tools::call(&tool, arguments, &context, &notes);
            // Later reads wait until the handler has ended, also where nobody waits for its reply.
            held.give_back();
            result
        })
        .await
    };
    let result = or_cancelled(request, &server.ending, &cancelled, working).await?;
    sending.end().await;
    Ok(result)
}

/// Lets the client's later reads go on before a call has ended: it changes nothing.
pub(super) fn let_others_read(request: &RequestContext<RoleServer>) {
    if let Some(ticket) = request.extensions.get::<Arc<Ticket>>() {
        ticket.end();
    }
}

/// What a call holds that others wait for.
struct Held {
    /// Its place in its client's order.
    ticket: Option<Arc<Ticket>>,
    /// Its right to read, of a limited number.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Held {
    fn permit(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self) {
        self.permit().take();
        if let Some(ticket) = &self.ticket {
            ticket.end();
        }
    }
}
