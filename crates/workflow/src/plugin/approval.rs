//! Remembers which plugins this user allows on this machine. A plugin that merely arrived with someone else's database is not
//! started, called or sent secrets.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::connection::check as check_launch;
use super::model::Plugin;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_content::servers::{runs, shown};
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::servers::{Definition, Text};

/// Records that this user allows a plugin in its current form.
pub fn approve(context: &Context, plugin: &Plugin) -> Result<()> {
    let note = json!({ "name": plugin.name(), "runs": runs(&plugin.server), "trusted": plugin.trusted });
    context.approved.put(Kind::Plugin, &key(plugin), &note)
}

/// Records that this user no longer allows a plugin.
pub fn withdraw(context: &Context, plugin: &Plugin) -> Result<()> {
    context.approved.withdraw(Kind::Plugin, &key(plugin))
}

pub fn is_approved(context: &Context, plugin: &Plugin) -> Result<bool> {
    Ok(context.approved.get(Kind::Plugin, &key(plugin))?.is_some())
}

/// Refuses a plugin that this user has not allowed on this machine in its current form. A person at a terminal may allow it.
pub fn check(context: &Context, plugin: &Plugin) -> Result<()> {
    if is_approved(context, plugin)? {
        return Ok(());
    }
    if context.confirmation != Confirmation::Ask {
        let why = format!(
            "The plugin '{}' is not approved on this machine in its current form: `{}`",
            plugin.name(),
            runs(&plugin.server)
        );
        let hint = format!("approve the plugin with `mcpkg plugin check {}` at a terminal", plugin.name());
        return Err(Error::new(Code::Unapproved, why).hint(hint));
    }
    ask(context, plugin)?;
    approve(context, plugin)
}

/// Shows a person at a terminal what would run, and asks for approval. Without a terminal this fails, because `--yes` is not
/// enough here.
pub fn ask(context: &Context, plugin: &Plugin) -> Result<()> {
    check_launch(plugin.name(), &plugin.server.definition)?;
    if context.confirmation != Confirmation::Ask {
        let why = "Only a person at a terminal can decide what mcpkg runs; --yes cannot skip this question";
        return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
    }
    (context.ask)(
        Body::lines(lines(plugin)),
        &format!("Allow mcpkg to run '{}': `{}`?", plugin.name(), runs(&plugin.server)),
    )
}

/// Describes what would run, one line each.
fn lines(plugin: &Plugin) -> Vec<String> {
    let Definition { command, cwd, env, headers, .. } = &plugin.server.definition;
    let mut lines = match command {
        Some(_) => {
            let folder = cwd.as_ref().map_or_else(|| "the home folder".to_owned(), shown);
            vec![format!("Starts `{}` in {folder}", runs(&plugin.server)), "without a sandbox".to_owned()]
        }
        None => vec![format!("Connects to {}", runs(&plugin.server))],
    };
    let named = |what: &str, named: &[(String, Text)]| -> Vec<String> {
        named.iter().map(|(name, text)| format!("with the {what} {name}: {}", shown(text))).collect()
    };
    lines.extend(named("variable", env));
    lines.extend(named("header", headers));
    if plugin.private {
        lines.push("also allows addresses that are not public".to_owned());
    }
    if plugin.trusted {
        lines.push("trusts what the plugin says about its tools, such as which tools are read-only".to_owned());
    }
    for name in plugin.providers.keys() {
        lines.push(format!("treats the plugin's tool {name} as read-only"));
    }
    lines
}

fn key(plugin: &Plugin) -> String {
    let Definition { transport, command, args, env, cwd, url, headers, .. } = &plugin.server.definition;
    let runs: Value = json!([transport, command, args, env, cwd, url, headers]);
    let believed = json!([plugin.private, plugin.trusted, plugin.providers]);
    hex::encode(&Sha256::digest(json!([runs, believed]).to_string()))
}
