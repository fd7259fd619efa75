//! A running plugin: calls its tools, and decides when the plugin has to end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::connection::{self, Broken, Connection};
use super::listing::{self, Keeping};
use super::model::Plugin;
use super::runtime::{Cut, Limits, runtime};
use crate::running::{Answered, Failed};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::json::exact;
use mcpkg_base::redact::redact;
use mcpkg_store::plugins;

/// Maximum length of a plugin's own text in an error, in characters.
const EXCERPT: usize = 300;

/// The maximum time to wait until a plugin has ended. The plugin has one second to exit by itself, and two more seconds after
/// it was asked to exit. The remaining two seconds are a reserve.
pub const END: Duration = Duration::from_secs(5);

/// A running plugin.
pub struct Session {
    connection: Connection,
    /// Values from when the plugin was started: the server's id and revision, and whether private addresses were allowed.
    standing: (uuid::Uuid, i64, bool),
    keeping: Keeping,
    idle: Duration,
    calls: AtomicUsize,
    last_used: Mutex<Instant>,
    /// Set once mcpkg ends the plugin, or its failure is recorded.
    is_over: AtomicBool,
}

impl Session {
    /// Starts a plugin, performs the handshake, and stores its list of tools. If the plugin cannot be used, that failure is
    /// recorded.
    pub fn start(plugin: &Plugin, keeping: Keeping, limits: &Limits) -> Result<Self> {
        let started = open(plugin, &keeping, limits).and_then(|connection| {
            let listing = listing::ask(&connection, limits).map_err(|broken| {
                connection.close();
                unavailable(plugin, &broken)
            })?;
            keeping.tools(&listing)?;
            for left_out in &listing.left_out {
                // Only log the skipped tools here: `plugin check` and `plugin add` report them, and repeating that with
                // every call would be too much.
                tracing::info!(plugin = plugin.name(), "skipped a tool: {left_out}");
            }
            Ok(connection)
        });
        let connection = started.inspect_err(|error| {
            if error.code() == Code::PluginUnavailable {
                keeping.failure(error.message());
            }
        })?;
        Ok(Self {
            connection,
            standing: (plugin.server.uuid, plugin.server.revision, plugin.private),
            keeping,
            idle: plugin.idle,
            calls: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            is_over: AtomicBool::new(false),
        })
    }

    pub fn call(
        &self,
        plugin: &Plugin,
        tool: &str,
        arguments: &Map<String, Value>,
        limits: &Limits,
    ) -> Result<Answered, Failed> {
        let _used = Used::by(self);
        let result = self.connection.call(tool, arguments.clone(), limits);
        let result = result.map_err(|broken| self.failed(plugin, tool, &broken))?;
        if result.is_error == Some(true) {
            let said = excerpt(&text(&result).unwrap_or_else(|| output(&result).to_string()));
            let error = Error::new(Code::PluginFailed, format!("'{}:{tool}' failed: {said}", plugin.name()));
            return Err(Failed::known(error));
        }
        Ok(Answered::of(output(&result)))
    }

    /// Returns the error of a failed call, and ends the plugin if it is no longer usable.
    fn failed(&self, plugin: &Plugin, tool: &str, broken: &Broken) -> Failed {
        let what = format!("{}:{tool}", plugin.name());
        let why = excerpt(&broken.to_string());
        let (code, message, may_be_done) = match broken {
            Broken::Unreached(_) | Broken::Ungreeted(_) => {
                (Code::PluginUnavailable, format!("'{what}' was not called: {why}"), false)
            }
            Broken::Said(_) => (Code::PluginFailed, format!("'{what}' was refused: {why}"), false),
            Broken::Odd(_) => (Code::PluginFailed, format!("'{what}' returned an invalid response: {why}"), true),
            Broken::Ended(_) if self.was_replaced() => (
                Code::PluginFailed,
                format!("The call to '{what}' was interrupted: the plugin was removed or changed during the call"),
                true,
            ),
            Broken::Ended(_) => (Code::PluginFailed, format!("The call to '{what}' was interrupted: {why}"), true),
            Broken::Cut(Cut::TimedOut) => (Code::Timeout, format!("'{what}' did not answer in time"), true),
            Broken::Cut(Cut::Cancelled) => (Code::Cancelled, format!("'{what}' was canceled before it answered"), true),
        };
        match broken {
            Broken::Ended(_) | Broken::Unreached(_) | Broken::Ungreeted(_) => self.broke(&why),
            // If the plugin did not send a single byte before the timeout, it hangs.
            Broken::Cut(Cut::TimedOut) if self.connection.is_silent() => {
                self.broke("it sent nothing before a call timed out")
            }
            _ => {}
        }
        let error = Error::new(code, message).with_details(json!({ "plugin": plugin.name(), "tool": tool }));
        let error = match code {
            Code::Timeout => {
                error.hint(format!("allow more time with `mcpkg plugin set {} --timeout SECONDS`", plugin.name()))
            }
            Code::PluginUnavailable => {
                error.hint(format!("retry the plugin with `mcpkg plugin check {}`", plugin.name()))
            }
            _ => error,
        };
        Failed { error, status: None, answer: None, may_be_done }
    }

    /// Returns whether the plugin still runs, and was started with its current settings.
    pub fn is_of(&self, plugin: &Plugin) -> bool {
        let now = (plugin.server.uuid, plugin.server.revision, plugin.private);
        !self.is_over.load(Ordering::Acquire) && self.connection.is_open() && self.standing == now
    }

    /// Checks on the plugin, and returns whether it keeps running. If it exited, that is recorded as a failure. If it is idle or
    /// outdated, it is ended. If its tools changed, it is asked for the new list.
    pub fn look(&self) -> bool {
        if self.is_over.load(Ordering::Acquire) {
            return false;
        }
        if !self.connection.is_open() {
            self.broke(&excerpt(&self.connection.last_words()));
            return false;
        }
        let is_used = self.calls.load(Ordering::Acquire) > 0;
        if self.was_replaced() || (!is_used && self.last_used().elapsed() >= self.idle) {
            self.end();
            return false;
        }
        if self.connection.take_tools_changed() {
            self.list_again();
        }
        true
    }

    /// Returns whether the plugin was removed, changed or disabled since it was started.
    fn was_replaced(&self) -> bool {
        // Ignore database errors here: the call itself reports them.
        let now = self.keeping.store.read(|db| plugins::standing(db, self.keeping.id));
        now.is_ok_and(|now| now != Some(self.standing))
    }

    fn list_again(&self) {
        let limits = Limits::new(END, &Default::default());
        match listing::ask(&self.connection, &limits) {
            Ok(listing) => {
                if let Err(error) = self.keeping.tools(&listing) {
                    tracing::warn!(plugin = self.keeping.name, %error, "the tools that a plugin now lists were not stored");
                }
            }
            Err(broken) => tracing::warn!(plugin = self.keeping.name, "a plugin did not list its tools: {broken}"),
        }
    }

    /// Ends the plugin. Unless the plugin is already over, also records the failure.
    fn broke(&self, why: &str) {
        if !self.is_over.swap(true, Ordering::AcqRel) {
            self.keeping.failure(why);
        }
        self.connection.close();
    }

    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.connection.close();
    }

    /// Waits until all of the plugin's processes have ended, at most [`END`].
    pub fn wait(&self) {
        self.connection.wait(END);
    }

    fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in progress.
struct Used<'s>(&'s Session);

impl<'s> Used<'s> {
    fn by(session: &'s Session) -> Self {
        session.calls.fetch_add(1, Ordering::AcqRel);
        Self(session)
    }
}

impl Drop for Used<'_> {
    fn drop(&mut self) {
        *self.0.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Connects to a plugin with the handshake that worked last; if that fails, rmcp tries both handshakes. If no handshake has
/// worked yet, rmcp tries both, and if both fail, the older one is tried again with a new process or connection.
pub fn open(plugin: &Plugin, keeping: &Keeping, limits: &Limits) -> Result<Connection> {
    let (runtime, mark) = (runtime()?, keeping.store.mark()?);
    let attempt = |era| {
        let launch = connection::resolve(&plugin.server, plugin.reach(), &limits.cancelled)?;
        Ok::<_, Error>(connection::open(runtime, launch, era, &mark, limits))
    };
    let opened = match attempt(plugin.era)? {
        Err(Broken::Ungreeted(_)) => {
            // Some servers exit when they get an unknown method, so try the older handshake.
            let other = plugin.era.is_none().then_some(connection::Era::Handshake);
            attempt(other)?
        }
        opened => opened,
    };
    match opened {
        Ok(connection) => {
            if plugin.era != Some(connection.era()) {
                keeping.era(connection.era());
            }
            Ok(connection)
        }
        Err(broken) => Err(unavailable(plugin, &broken)),
    }
}

/// Returns the error for a plugin that cannot be called.
pub fn unavailable(plugin: &Plugin, broken: &Broken) -> Error {
    let name = plugin.name();
    if let Broken::Cut(Cut::Cancelled) = broken {
        return Error::new(Code::Cancelled, format!("Canceled before the plugin '{name}' answered"));
    }
    let why = excerpt(&broken.to_string());
    let error = Error::new(Code::PluginUnavailable, format!("The plugin '{name}' cannot be used: {why}"))
        .with_details(json!({ "plugin": name }));
    match plugin.is_stored() {
        true => error.hint(format!(
            "`mcpkg mcp show {name}` shows what mcpkg runs; retry the plugin with `mcpkg plugin check {name}`"
        )),
        false => error.hint(
            "nothing was stored: an MCP server must answer `initialize` on its standard output or at its address",
        ),
    }
}

/// Returns the beginning of a plugin's text, without secrets.
fn excerpt(text: &str) -> String {
    let plain: String = redact(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match plain.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

/// Returns a tool's result: the structured data if there is any, or else its text. Text that is a JSON object or array is parsed.
/// A result with other content becomes a list of its content blocks, and an empty result becomes null.
fn output(result: &CallToolResult) -> Value {
    if let Some(data) = &result.structured_content {
        return data.clone();
    }
    match text(result) {
        Some(text) => match exact(text.as_bytes()) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            _ => Value::String(text),
        },
        None if result.content.is_empty() => Value::Null,
        None => json!(result.content),
    }
}

/// Returns the text of a result that consists only of text.
fn text(result: &CallToolResult) -> Option<String> {
    let texts: Option<Vec<&str>> = result
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(value: Value) -> Value {
        output(&serde_json::from_value(value).expect("a result"))
    }

    #[test]
    fn an_answer_is_its_data_or_its_text_or_its_blocks() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        assert_eq!(answer(json!({ "content": [text("a")], "structuredContent": { "b": 1 } })), json!({ "b": 1 }));
        assert_eq!(answer(json!({ "content": [text("{\"b\":1}")] })), json!({ "b": 1 }));
        assert_eq!(answer(json!({ "content": [text("a"), text("7")] })), json!("a\n7"));
        assert_eq!(answer(json!({ "content": [text("7")] })), json!("7"));
        let large = "{\"b\":123456789012345678901234567890}";
        assert_eq!(answer(json!({ "content": [text(large)] })), json!({ "b": "123456789012345678901234567890" }));
        assert_eq!(answer(json!({ "content": [] })), Value::Null);
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        assert_eq!(answer(json!({ "content": [image] }))[0]["type"], "image");
    }

    #[test]
    fn a_plugins_words_hold_no_secret_and_no_escape() {
        let secret = mcpkg_base::secret::Secret::new(
            "hunter22".to_owned(),
            &mcpkg_base::secret::Reference::Environment("T".to_owned()),
        )
        .unwrap();
        let said = excerpt(&format!("\u{1b}[31m{} at https://a:b@c/", secret.expose()));
        assert!(!said.contains("hunter22") && !said.contains('\u{1b}') && !said.contains("a:b"), "{said}");
        assert_eq!(excerpt(&"x".repeat(400)).chars().count(), EXCERPT + 1);
    }
}
