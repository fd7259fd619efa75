//! Manages the plugins that run in this process. A plugin is started when it is first used. It is ended when it is idle, when any
//! process changes or removes it, or when this process ends.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use super::listing::Keeping;
use super::model::Plugin;
use super::runtime::{Cut, Limits, runtime, within};
use super::session::Session;
use super::standing::{Health, Standing};
use crate::running::{Answered, Failed};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::plugins;

/// After a plugin has failed, a call waits for at most this long before it tries the plugin again. If the pause is longer, the
/// call fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Interval at which each running plugin is checked.
const LOOK: Duration = Duration::from_millis(250);

/// The session of a plugin, if it runs. The lock is held while the plugin starts, so that it is started only once.
type Slot = Arc<AsyncMutex<Option<Arc<Session>>>>;

/// The slots by database and server.
static SLOTS: LazyLock<Mutex<HashMap<(PathBuf, Uuid), Slot>>> = LazyLock::new(Mutex::default);

fn slots() -> MutexGuard<'static, HashMap<(PathBuf, Uuid), Slot>> {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a tool, and starts the plugin if necessary. When the plugin is running and its tools are stored, `is_same` checks that
/// the tool is still the one that was requested.
pub fn call(
    context: &Context,
    plugin: &Plugin,
    tool: &str,
    arguments: &Map<String, Value>,
    is_same: impl FnOnce() -> Result<()>,
) -> Result<Answered, Failed> {
    (context.step_aside)();
    let limits = Limits::new(plugin.timeout, &context.cancelled);
    let session = session(context, plugin, &limits)?;
    is_same()?;
    session.call(plugin, tool, arguments, &limits)
}

/// Returns where to store what a plugin reports.
pub fn keeping(context: &Context, plugin: &Plugin) -> Keeping {
    Keeping {
        store: context.store.clone(),
        clock: context.clock.clone(),
        actor: context.caller.actor().to_owned(),
        id: plugin.server.id,
        name: plugin.name().to_owned(),
        project: plugin.project.clone(),
    }
}

/// Returns the running session of a plugin, or starts one.
fn session(context: &Context, plugin: &Plugin, limits: &Limits) -> Result<Arc<Session>> {
    let key = (context.database().to_owned(), plugin.server.uuid);
    let slot = Arc::clone(slots().entry(key).or_default());
    let runtime = runtime()?;
    let cut = |cut| match cut {
        Cut::TimedOut => Error::new(Code::Timeout, format!("The plugin '{}' did not start in time", plugin.name())),
        Cut::Cancelled => {
            Error::new(Code::Cancelled, format!("Canceled while waiting for the plugin '{}'", plugin.name()))
        }
    };
    let mut held = within(runtime, limits, slot.lock_owned()).map_err(cut)?;
    if let Some(session) = held.as_ref() {
        if session.is_of(plugin) {
            return Ok(Arc::clone(session));
        }
        // Wait until the old process has ended: two instances may interfere with each other.
        session.end();
        session.wait();
    }
    *held = None;
    if let Some(pause) = pause(context, plugin)? {
        within(runtime, limits, async { tokio::time::sleep(pause).await }).map_err(cut)?;
    }
    let session = Arc::new(Session::start(plugin, keeping(context, plugin), limits)?);
    *held = Some(Arc::clone(&session));
    runtime.spawn(look_after(Arc::clone(&session)));
    Ok(session)
}

/// Returns how long to wait before a failed plugin is tried again. It is an error if the wait would be too long.
fn pause(context: &Context, plugin: &Plugin) -> Result<Option<Duration>> {
    let failures = context.store.read(|db| plugins::failures(db, plugin.server.id))?;
    let standing = failures.map(|failures| Standing::of(&failures, None)).unwrap_or_default();
    let (left, how) = match standing.health(context.clock.now()) {
        Health::Well => return Ok(None),
        Health::BackingOff(left) if left <= LONGEST_PAUSE => return Ok(Some(left)),
        Health::BackingOff(left) => (left, "failed recently, so mcpkg does not call it for now"),
        Health::Failed(left) => (left, "failed ten times within an hour"),
    };
    let name = plugin.name();
    let reason = plugin.standing.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    Err(Error::new(Code::PluginUnavailable, format!("The plugin '{name}' {how}{reason}"))
        .with_details(json!({ "plugin": name, "retry_after_ms": millis }))
        .hint(format!("retry the plugin now with `mcpkg plugin check {name}`")))
}

/// Checks on a plugin as long as it runs.
async fn look_after(session: Arc<Session>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let looked = Arc::clone(&session);
        if !tokio::task::spawn_blocking(move || looked.look()).await.unwrap_or(false) {
            return;
        }
    }
}

/// Ends the plugins of this process, and waits for their processes to end, at most [`super::session::END`] for each plugin.
pub fn end_all() {
    let slots: Vec<Slot> = slots().drain().map(|(_, slot)| slot).collect();
    // A plugin that is still starting ends together with the call that starts it.
    let sessions: Vec<Arc<Session>> = slots.iter().filter_map(|slot| slot.try_lock().ok()?.take()).collect();
    sessions.iter().for_each(|session| session.end());
    sessions.iter().for_each(|session| session.wait());
}
