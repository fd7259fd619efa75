//! Answers subscriptions/listen of 2026-07-28, and resources/subscribe and resources/unsubscribe of older revisions.

use std::sync::Arc;

use rmcp::model::{SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};

use super::read::blocking;
use super::{Server, era};
use crate::mcp::error::error_data;
use crate::mcp::subscriptions::{LONGEST_URI, MAX_URIS, accepted};
use crate::mcp::tasks::TaskIds;
use crate::mcp::{by_uri, live};
use mcpkg_base::error::{Code, Error};

pub(super) fn accepted_filter(requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
    Some(accepted(requested))
}

/// Answers subscriptions/listen: notifies the client of changes until the client or the server ends the stream.
pub(super) async fn listen(server: &Server, context: SubscriptionContext) -> Result<(), ErrorData> {
    let extensions = &context.request_context().extensions;
    let config = server.config(extensions);
    let ids = extensions.get::<TaskIds>().cloned().unwrap_or_default();
    let (tasks, asker) = (Arc::clone(&server.tasks), config.asker());
    let followed = blocking(move || tasks.follow(asker, ids)).await?;
    let of_transport = extensions.get::<http::request::Parts>().and_then(|parts| parts.extensions.get());
    let since = extensions.get().or(of_transport).cloned().unwrap_or_else(|| server.hub.since());
    server.hub.listen(context, &config, since, followed).await;
    Ok(())
}

/// Notifies this session of changes to one resource.
pub(super) async fn subscribe(
    server: &Server,
    params: &SubscribeRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let (subscriber, hub) = (Arc::clone(server.subscriber(&request.extensions)), Arc::clone(&server.hub));
    let (config, uri) = (server.config(&request.extensions), params.uri.clone());
    if live::find(&config, &uri).is_none() {
        if live::only(&config) {
            return Err(live::failure(&live::not_found(&uri), era(request)));
        }
        let asked = uri.clone();
        server.read(request, move |db, config| by_uri::may_come(db, config, &asked)).await?;
    }
    if blocking(move || hub.subscribe_one(&subscriber, &config, &uri)).await? {
        return Ok(());
    }
    let why =
        format!("A client can subscribe to at most {MAX_URIS} resources, with URIs of at most {LONGEST_URI} bytes");
    Err(error_data(&Error::new(Code::InvalidArgument, why)))
}

pub(super) fn unsubscribe(
    server: &Server,
    params: &UnsubscribeRequestParams,
    request: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    server.subscriber(&request.extensions).unsubscribe(&params.uri);
    Ok(())
}
