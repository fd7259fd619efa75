//! Runs a read on the blocking pool, after the client's earlier writes, and cancels it if the client no longer waits.

use std::sync::Arc;

use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::{Server, era};
use crate::mcp::Config;
use crate::mcp::error::error_data;
use crate::mcp::in_flight::HandlerGuard;
use crate::mcp::limits::limited;
use crate::mcp::reads::{self, Read};
use crate::mcp::tickets::Ticket;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::Db;

impl Server {
    /// Runs `f` on the blocking pool in one read transaction, after the client's earlier writes.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        request: &RequestContext<RoleServer>,
        f: impl FnOnce(&Db<'_>, &Config) -> Result<T> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let ticket = wait_for_earlier_writes(request).await;
        let cancelled = CancellationToken::new();
        let config = self.config(&request.extensions);
        let store = limited(&self.store, &config, cancelled.clone());
        let working = async {
            let _permit = self.reading.acquire().await;
            blocking(move || {
                let _ticket = ticket;
                store.read(|db| f(db, &config))
            })
            .await
        };
        let value = or_cancelled(request, &self.ending, &cancelled, working).await?;
        value.map_err(|error| error_data(&error))
    }

    /// Answers a read as the fast path ([`crate::mcp::front`]) does, but with rmcp's types.
    pub(super) async fn answer<T: DeserializeOwned>(
        &self,
        request: &RequestContext<RoleServer>,
        read: Read<'static>,
    ) -> Result<T, ErrorData> {
        let era = era(request);
        let json = self
            .read(request, move |db, config| {
                let mut out = Vec::new();
                reads::answer(db, config, &read, era, &mut out)?;
                Ok(out)
            })
            .await?;
        serde_json::from_slice(&json)
            .map_err(|error| error_data(&Error::internal("a response does not match rmcp's type").with_source(error)))
    }
}

/// Waits until the client's earlier writes have ended, and then for a permit to run. Returns the request's own ticket,
/// which later reads wait for.
pub(super) async fn wait_for_earlier_writes(request: &RequestContext<RoleServer>) -> Option<Arc<Ticket>> {
    let ticket = request.extensions.get::<Arc<Ticket>>().cloned();
    if let Some(ticket) = &ticket {
        ticket.wait().await;
    }
    acquire_permit(request).await;
    ticket
}

/// Lets the client's later reads continue before this call has ended, because it changes nothing.
pub(super) fn let_others_read(request: &RequestContext<RoleServer>) {
    if let Some(ticket) = request.extensions.get::<Arc<Ticket>>() {
        ticket.end();
    }
}

/// Waits for a permit to run. It is held until the answer was sent. Each client has a limited number of permits.
pub(super) async fn acquire_permit(request: &RequestContext<RoleServer>) {
    if let Some(guard) = request.extensions.get::<Arc<HandlerGuard>>() {
        guard.acquire_permit().await;
    }
}

/// Releases the permit while the handler waits for something long. It must acquire the permit again before the answer.
pub(super) fn release_permit(request: &RequestContext<RoleServer>) {
    if let Some(guard) = request.extensions.get::<Arc<HandlerGuard>>() {
        guard.release_permit();
    }
}

/// Waits for `working`. If the client cancels the request or the server ends, cancels `working` and then waits for its
/// end.
pub(super) async fn or_cancelled<T>(
    request: &RequestContext<RoleServer>,
    ending: &CancellationToken,
    cancelled: &CancellationToken,
    working: impl Future<Output = T>,
) -> T {
    let mut working = std::pin::pin!(working);
    tokio::select! {
        done = &mut working => return done,
        () = request.ct.cancelled() => {}
        () = ending.cancelled() => {}
    }
    cancelled.cancel();
    working.await
}

pub(super) async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Result<T, ErrorData> {
    tokio::task::spawn_blocking(f).await.map_err(|error| {
        tracing::error!(%error, "a handler crashed");
        error_data(&Error::internal("a handler crashed"))
    })
}
