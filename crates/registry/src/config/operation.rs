//! `mcpkg tool config`: shows and changes the settings of tools.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::key::Key;
use super::{approve, counts, set, stored, withdraw};
use crate::GROUP;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Faces, Names, NoOutput, Operation, Reply, Table};
use mcpkg_store::tools::settings;

/// Setting names for shell completion.
const KEYS: Names = Names::Known(|_| Key::ALL.iter().map(|key| key.name().to_owned()).collect());

/// Show or change a setting
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Config {
    /// Setting to show or change [default: show all settings]
    #[arg(add = KEYS)]
    key: Option<String>,
    /// New value [default: show the current value]
    #[arg(conflicts_with = "unset")]
    value: Option<String>,
    /// Reset the setting to its default
    #[arg(long, requires = "key")]
    #[serde(default)]
    unset: bool,
}

impl Operation for Config {
    const TOOL: &'static str = "tool_config";
    const CLI: &'static [&'static str] = &["tool", "config"];
    const TITLE: &'static str = "Show or change a tool setting";
    const ABOUT: &'static str = "Show or change how mcpkg runs and stores tools";
    const HELP: &'static str = "If execution.allow_unsandboxed is true, each tool that you approved with `mcpkg tool allow TOOL \
        unsandboxed` can run without a sandbox. execution.stand_in is a comma-separated list of container images; a tool that needs a \
        listed image runs with this machine's own programs instead. execution.timeout is the time limit of a run if neither the caller \
        nor the tool's manifest sets one. cache.size is the maximum disk space for all unpacked tools together. cache.ttl is how long \
        mcpkg uses a registry's cached search response before it asks the registry again. A change that lets tools do more needs your \
        confirmation at a terminal; --yes cannot skip the confirmation. To change which signers you trust, use `mcpkg tool trust`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool config",
        "mcpkg tool config execution.timeout 10m",
        "mcpkg tool config execution.stand_in node:20-alpine,python:3.12",
        "mcpkg tool config cache.size --unset",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.key.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Some(key) = self.key.as_deref().map(Key::of_name).transpose()? else { return all(context) };
        match &self.value {
            Some(value) => change(context, key, Some(key.check(value)?)),
            None if self.unset => change(context, key, None),
            None => {
                let shown = Setting::of(context, key)?;
                let reply = Reply::new(Body::Text(format!("{}\n", shown.value)), shown.data());
                Ok(reply.warn(shown.warning()))
            }
        }
    }
}

struct Setting {
    key: Key,
    value: String,
    stored: Option<String>,
    counts: bool,
}

impl Setting {
    fn of(context: &Context, key: Key) -> Result<Self> {
        let stored = context.store.read(|db| stored(db, key))?;
        let counts = stored.as_deref().map_or(Ok(true), |text| counts(&context.approved, key, text))?;
        let value = stored.clone().filter(|_| counts).unwrap_or_else(|| key.usual().to_owned());
        Ok(Self { key, value, stored, counts })
    }

    /// Warns about a stored value that this user never approved on this machine.
    fn warning(&self) -> Option<String> {
        let stored = self.stored.as_ref().filter(|_| !self.counts)?;
        Some(format!(
            "ignored the value {} for {} from the database: you have not approved this value on this machine",
            stored,
            self.key.name()
        ))
    }

    fn data(&self) -> Value {
        json!({
            "setting": self.key.name(),
            "value": self.value,
            "usual": self.key.usual(),
            "is_set": self.stored.is_some() && self.counts,
        })
    }
}

fn all(context: &Context) -> Result<Reply> {
    let settings = Key::ALL.map(|key| Setting::of(context, key)).into_iter().collect::<Result<Vec<_>>>()?;
    let row = |shown: &Setting| {
        let [value, usual] = [&*shown.value, shown.key.usual()].map(|text| if text.is_empty() { "-" } else { text });
        vec![shown.key.name().to_owned(), value.to_owned(), usual.to_owned(), shown.key.about().to_owned()]
    };
    let table = Table {
        columns: &["SETTING", "VALUE", "USUAL", "WHAT"],
        rows: settings.iter().map(row).collect(),
        empty: String::new(),
    };
    let data = json!({ "settings": settings.iter().map(Setting::data).collect::<Vec<_>>() });
    Ok(Reply::new(Body::Table(table), data).warn(settings.iter().filter_map(Setting::warning)))
}

/// Sets a setting, or resets it to its default.
fn change(context: &Context, key: Key, value: Option<String>) -> Result<Reply> {
    let before = Setting::of(context, key)?;
    if let Some(value) = value.as_deref().filter(|value| key.loosens(value)) {
        if context.confirmation != Confirmation::Ask {
            let why = format!(
                "Only a person at a terminal can set {} to {value}; --yes cannot skip this confirmation",
                key.name()
            );
            return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
        }
        let text = format!("{}: {}", key.name(), key.about());
        (context.ask)(Body::lines([text]), &format!("Set {} to {value}?", key.name()))?;
        // Record the approval before the value is stored. If storing the value then fails, the approval alone has no effect.
        approve(&context.approved, key, value)?;
    } else if let Some(stored) = before.stored.as_deref().filter(|stored| key.loosens(stored)) {
        // Delete the approval of the old value before the value changes. If the change then fails, the old value has no
        // effect without its approval.
        withdraw(&context.approved, key, stored)?;
    }
    context.store.write(|db| {
        let is_changed = match &value {
            Some(value) if before.stored.as_ref() == Some(value) => false,
            Some(value) => set(db, key, value).map(|()| true)?,
            None => settings::unset(db, key.name())?,
        };
        match is_changed {
            true => context.event(db, context.author(), None, "tool.config", key.name()),
            false => Ok(()),
        }
    })?;
    let now = Setting::of(context, key)?;
    let sentence = match value {
        Some(_) => format!("{} is now {}", key.name(), quoted(&now.value)),
        None => format!("{} is back to its default, {}", key.name(), quoted(&now.value)),
    };
    Ok(Reply::sentence(sentence, now.data()))
}

fn quoted(value: &str) -> String {
    if value.is_empty() { "empty".to_owned() } else { value.to_owned() }
}
