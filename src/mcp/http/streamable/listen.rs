//! Serves the streams of subscriptions/listen in 2026-07-28.
//!
//! These streams are mostly silent, and there may be thousands, so each must be cheap. rmcp would keep a service and
//! three channels for each.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body_util::StreamBody;
use hyper::body::Frame;
use rmcp::model::SubscriptionFilter;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::mcp::Config;
use crate::mcp::http::answer::{Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::stream::{ALIVE, KEEP_ALIVE, event_stream};
use crate::mcp::subscriptions::{Subscriber, accepted};
use crate::mcp::tasks::{Followed, TaskIds};

/// The `_meta` key that names the stream of a notification.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// An open stream.
struct Listener {
    id: Value,
    server: &'static str,
    filter: SubscriptionFilter,
    subscriber: Subscriber,
    changed: watch::Receiver<()>,
    tasks: Followed,
    closing: CancellationToken,
    /// Whether the acknowledgment was sent.
    begun: bool,
    /// Whether the last message was sent.
    ended: bool,
}

/// Opens a stream for the request `id`. Returns `None` if its parameters are invalid, so that rmcp reports the error.
pub(super) async fn open(
    app: &App,
    config: &Arc<Config>,
    id: &str,
    parameters: Option<&RawValue>,
) -> Option<Result<Response<Body>, Refusal>> {
    #[derive(serde::Deserialize)]
    struct Parameters {
        notifications: SubscriptionFilter,
    }
    let given = parameters?;
    let parameters: Parameters = serde_json::from_str(given.get()).ok()?;
    let id = serde_json::from_str(id).ok()?;
    let mut filter = accepted(&parameters.notifications);
    let (hub, reach) = (Arc::clone(&app.server.hub), Arc::clone(config));
    let uris = filter.resource_subscriptions.clone();
    // Subscribing queries the database, which may take a while, so it runs on a blocking thread.
    let (tasks, asker, task_ids) = (Arc::clone(&app.server.tasks), config.asker(), TaskIds::of(Some(given)));
    let subscribing = tokio::task::spawn_blocking(move || {
        (hub.subscribe_to(&reach, uris.iter().flatten()), tasks.follow(asker, task_ids))
    });
    let (subscriber, tasks) = subscribing.await.ok()?;
    if let Some(uris) = &mut filter.resource_subscriptions {
        uris.retain(|uri| subscriber.is_subscribed(uri));
    }
    let listener = Listener {
        id,
        server: config.identity.server_name(),
        filter,
        changed: subscriber.changed(),
        subscriber,
        tasks,
        closing: app.closing.clone(),
        begun: false,
        ended: false,
    };
    let events = futures_util::stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(event)), listener))
    });
    let response = event_stream(StreamBody::new(events));
    Some(app.streamed(response, config, None, ()))
}

impl Listener {
    /// Returns the next event: the acknowledgment, news, a keep-alive comment or the result; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        if !std::mem::replace(&mut self.begun, true) {
            let mut told = json!({ "_meta": { SUBSCRIPTION: self.id }, "notifications": self.filter });
            if !self.tasks.ids().is_empty() {
                told["notifications"]["taskIds"] = json!(self.tasks.ids());
            }
            return Some(event(&json!({
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": told,
            })));
        }
        loop {
            let mut news = String::new();
            for (method, uri) in self.subscriber.news().within(&self.filter).messages() {
                let mut told = json!({ "_meta": { SUBSCRIPTION: self.id } });
                if let Some(uri) = uri {
                    told["uri"] = uri.into();
                }
                news.push_str(&text(&json!({ "jsonrpc": "2.0", "method": method, "params": told })));
            }
            if !news.is_empty() {
                return Some(news.into());
            }
            tokio::select! {
                () = self.closing.cancelled() => {
                    self.ended = true;
                    let server = json!({ "name": self.server, "version": env!("CARGO_PKG_VERSION") });
                    let meta = json!({ SUBSCRIPTION: self.id, "io.modelcontextprotocol/serverInfo": server });
                    let result = json!({ "resultType": "complete", "_meta": meta });
                    return Some(event(&json!({ "jsonrpc": "2.0", "id": self.id, "result": result })));
                }
                task = self.tasks.next() => {
                    let mut told = serde_json::to_value(&*task).unwrap_or_default();
                    told["_meta"] = json!({ SUBSCRIPTION: self.id });
                    let method = "notifications/tasks";
                    return Some(event(&json!({ "jsonrpc": "2.0", "method": method, "params": told })));
                }
                rung = self.changed.changed() => if rung.is_err() { return None },
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(ALIVE)),
            }
        }
    }
}

fn event(message: &Value) -> Bytes {
    text(message).into()
}

fn text(message: &Value) -> String {
    format!("data: {message}\n\n")
}
