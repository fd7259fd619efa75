//! Sends spans and metrics, on a thread of its own.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::queue::Queue;
use super::{attributes, metrics, spans};
use crate::mcp::call_log::line::Line;
use crate::mcp::telemetry::Telemetry;
use mcpkg_base::clock::{self, Clock};
use mcpkg_base::error::{Error, Result};
use mcpkg_base::http::{Limits, Url, send};

/// How long a receiver may take for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long the last requests may take when the server ends.
const LAST: Duration = Duration::from_secs(1);

/// The maximum size of a response in bytes. mcpkg ignores its content.
const RESPONSE: u64 = 64 << 10;

/// Returns metrics in Prometheus' format, while the server runs.
type Text = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The spans and metrics of a running server, and the thread that sends them.
pub(in crate::mcp::call_log) struct Exporter {
    shared: Arc<Shared>,
    cancelled: CancellationToken,
    /// The thread, and a channel that closes when it ends.
    running: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
}

#[derive(Default)]
struct Shared {
    queue: Queue,
    text: OnceLock<Text>,
}

impl Exporter {
    pub(in crate::mcp::call_log) fn start(settings: Telemetry) -> Result<Self> {
        let (shared, cancelled) = (Arc::<Shared>::default(), CancellationToken::new());
        let sender = Sender::new(settings, Arc::clone(&shared), cancelled.clone());
        let (ends, ended) = channel::<()>();
        let thread = thread::Builder::new()
            .name("otlp".to_owned())
            .spawn(move || {
                sender.run();
                drop(ends);
            })
            .map_err(|error| Error::internal("cannot start the thread `otlp`").with_source(error))?;
        Ok(Self { shared, cancelled, running: Mutex::new(Some((thread, ended))) })
    }

    /// Counts a call and queues its span. Never waits for the receiver.
    pub(in crate::mcp::call_log) fn push(&self, line: Line) {
        self.shared.queue.push(line);
    }

    /// Returns the number of spans that were dropped since the server started.
    pub(in crate::mcp::call_log) fn dropped(&self) -> u64 {
        self.shared.queue.dropped()
    }

    pub(in crate::mcp::call_log) fn send_also(&self, text: Text) {
        let _ = self.shared.text.set(text);
    }

    /// Sends the queued spans and the metrics, if the receiver accepts them within [`LAST`], and ends the thread.
    pub(in crate::mcp::call_log) fn finish(&self) {
        self.shared.queue.end();
        if let Some((thread, ended)) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = ended.recv_timeout(LAST);
            self.cancelled.cancel();
            let _ = thread.join();
        }
    }
}

struct Sender {
    settings: Telemetry,
    shared: Arc<Shared>,
    cancelled: CancellationToken,
    resource: Value,
    /// When the server started, in nanoseconds since 1970.
    started: String,
    /// A request that the receiver did not accept, and the number of its spans. It will be sent again.
    unsent: Option<(Vec<u8>, usize)>,
    /// Whether the last request failed, or spans were dropped. Only changes of this are logged.
    is_failing: bool,
    dropped_before: u64,
}

/// The reason why a request failed, and whether to send it again.
struct Failed {
    why: String,
    is_temporary: bool,
}

impl Sender {
    fn new(settings: Telemetry, shared: Arc<Shared>, cancelled: CancellationToken) -> Self {
        let instance = clock::unique().to_string();
        let own = [("service.version", env!("CARGO_PKG_VERSION")), ("service.instance.id", instance.as_str())];
        let given = attributes::borrowed(&settings.resource);
        let own = own.into_iter().filter(|(key, _)| !settings.resource.iter().any(|(given, _)| given == key));
        let resource = json!({ "attributes": attributes::json(given.chain(own)) });
        let started = spans::nanos(Clock::system().now(), 0);
        let (unsent, is_failing, dropped_before) = (None, false, 0);
        Self { settings, shared, cancelled, resource, started, unsent, is_failing, dropped_before }
    }

    /// Sends spans and metrics until the server ends.
    fn run(mut self) {
        let mut due = Instant::now() + self.settings.interval;
        loop {
            let idle = due.saturating_duration_since(Instant::now());
            let is_ending = self.shared.queue.wait(idle, self.settings.delay, self.unsent.is_some());
            let mut sent = self.send_spans();
            while is_ending && sent == Some(true) {
                sent = self.send_spans();
            }
            if is_ending || Instant::now() >= due {
                due = Instant::now() + self.settings.interval;
                self.send_metrics();
            }
            if is_ending {
                return;
            }
        }
    }

    /// Sends one request with spans. Returns whether the receiver accepted it. `None` if no spans are queued.
    fn send_spans(&mut self) -> Option<bool> {
        let (body, count) = match self.unsent.take() {
            Some(unsent) => unsent,
            None => {
                let lines = self.shared.queue.take();
                let count = lines.len();
                if count == 0 {
                    return None;
                }
                match spans::request(&self.resource, lines) {
                    Ok(body) => (body, count),
                    Err(error) => {
                        self.shared.queue.lose(count);
                        self.note(Some(error.message()));
                        return Some(false);
                    }
                }
            }
        };
        let sent = self.post(&self.settings.traces, body.clone());
        match &sent {
            Err(failed) if failed.is_temporary => self.unsent = Some((body, count)),
            Err(_) => self.shared.queue.lose(count),
            Ok(()) => {}
        }
        let dropped = self.shared.queue.dropped();
        let is_slow = std::mem::replace(&mut self.dropped_before, dropped) < dropped;
        self.note(match &sent {
            Err(failed) => Some(failed.why.as_str()),
            Ok(()) if is_slow => Some("it is too slow"),
            Ok(()) => None,
        });
        Some(sent.is_ok())
    }

    /// Sends the metrics. If that fails, the next ones contain the same calls.
    fn send_metrics(&mut self) {
        let text = self.shared.text.get().and_then(|text| text());
        let now = spans::nanos(Clock::system().now(), 0);
        let durations = self.shared.queue.durations();
        let Some(body) = metrics::request(&self.resource, &durations, text.as_deref(), [&self.started, &now]) else {
            return;
        };
        if let Err(failed) = self.post(&self.settings.metrics, body) {
            self.note(Some(failed.why.as_str()));
        }
    }

    fn post(&self, url: &Url, body: Vec<u8>) -> std::result::Result<(), Failed> {
        let mut request = http::Request::post(url.as_str()).header(CONTENT_TYPE, "application/json");
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.settings.headers.clone());
        }
        let request = request.body(body).map_err(|error| Failed { why: error.to_string(), is_temporary: false })?;
        let limits = Limits { until: Instant::now() + TIMEOUT, cancelled: self.cancelled.clone(), size: RESPONSE };
        let response = send(request, limits).map_err(|error| Failed { why: error.to_string(), is_temporary: true })?;
        match response.status.as_u16() {
            200..=299 => Ok(()),
            status => Err(Failed {
                why: format!("it returned status {status}"),
                is_temporary: matches!(status, 429 | 502..=504),
            }),
        }
    }

    /// Logs a warning when sending begins to fail, and when it works again.
    fn note(&mut self, why: Option<&str>) {
        let receiver = self.settings.traces.host();
        match why {
            Some(why) if !self.is_failing => {
                tracing::warn!(%receiver, why, "cannot send traces and metrics; calls are not affected");
            }
            None if self.is_failing => {
                let dropped = self.shared.queue.dropped();
                tracing::warn!(%receiver, dropped, "traces and metrics can be sent again");
            }
            _ => {}
        }
        self.is_failing = why.is_some();
    }
}
