//! Offers installed tools as MCP tools: lists, finds and calls them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::action_tools::{self, ActionTool};
use super::calling::{Answer, Called, require};
use super::checked;
use super::unverified::Unverified;
use super::visible::{self, Border};
use crate::GROUP;
use crate::package::manifest::MAIN;
use crate::run::{Outcome, OutputFile};
use crate::trust::{Subject, Verb, Verdict};
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Audience, Body, Context, Effect, Hints, Media, Projected, Projections, Reply, Shape, Validator};
use mcpkg_store::Db;
use mcpkg_store::tools::installs::{self, Install};
use mcpkg_store::tools::names::{self, Installed, Named};

pub const PROJECTIONS: Projections = Projections { list, find, validator };

/// The `_meta` key for a listed tool's name, version and status.
const TOOL: &str = "mcpkg/tool";

/// The `_meta` key for facts about the run, in the result of a call.
const RUN: &str = "mcpkg/run";

fn list(db: &Db<'_>, audience: &Audience<'_>, after: &str, limit: usize) -> Result<Vec<Projected>> {
    let border = Border::of(db, audience)?;
    let unverified = Unverified::of(db)?;
    let scopes = visible::scopes(db, audience)?;
    let mut after = after.to_owned();
    let mut found = Vec::new();
    while found.len() < limit {
        // Merge the scopes in the order of names. A tool in two scopes has the same names in both, and its version
        // in the nearest scope wins.
        let mut page: BTreeMap<String, Installed> = BTreeMap::new();
        for scope in &scopes {
            for installed in names::after(db, scope, &after, limit)? {
                page.entry(installed.named.mcp_name.clone()).or_insert(installed);
            }
        }
        if page.is_empty() {
            break;
        }
        for (name, Installed { named, version, sha256 }) in page.into_iter().take(limit) {
            after = name;
            if found.len() == limit || !border.admits(db, &named.tool)? {
                continue;
            }
            let subject = Subject { name: named.tool.clone(), version, sha256 };
            // An unusable package must not affect the other tools in the list.
            match action_tools::of(db, &subject) {
                Ok(shown) => {
                    let shown = shown.iter().find(|shown| shown.action == named.action);
                    let is_unverified = unverified.has(db, &subject)?;
                    found.extend(shown.map(|shown| projected(named, &subject, shown, is_unverified)));
                }
                Err(error) => {
                    let tool = subject.reference();
                    tracing::warn!(tool, %error, "an installed tool is not listed");
                }
            }
        }
    }
    Ok(found)
}

fn find(db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Option<Projected>> {
    let Some(named) = names::find(db, name)? else { return Ok(None) };
    let Some(install) = visible::active(db, audience, &named.tool)? else { return Ok(None) };
    let subject = checked::subject(&install);
    let Ok(shown) = action_tools::of(db, &subject) else { return Ok(Some(broken(named))) };
    let shown = shown.iter().find(|shown| shown.action == named.action);
    let is_unverified = Unverified::of(db)?.has(db, &subject)?;
    Ok(shown.map(|shown| projected(named, &subject, shown, is_unverified)))
}

fn validator(db: &Db<'_>, audience: &Audience<'_>) -> Result<Validator> {
    let border = Border::of(db, audience)?;
    let unverified = Unverified::of(db)?;
    let mut seen = BTreeMap::new();
    for scope in visible::scopes(db, audience)? {
        for install in installs::seen(db, &scope)? {
            if !seen.contains_key(&install.name) && border.admits(db, &install.name)? {
                let subject = checked::subject(&install);
                let is_unverified = unverified.has(db, &subject)?;
                seen.insert(install.name, (install.version, hex::encode(&subject.sha256), is_unverified));
            }
        }
    }
    Validator::of(&seen)
}

fn projected(named: Named, subject: &Subject, shown: &ActionTool, is_unverified: bool) -> Projected {
    let Named { mcp_name, tool, action } = named;
    let command = if action.is_empty() { tool.clone() } else { format!("{tool}:{action}") };
    let mut title = command.clone();
    let mut known = json!({ "tool": tool, "version": subject.version });
    if !action.is_empty() {
        known["action"] = json!(action);
    }
    if is_unverified {
        title.push_str(" (unverified)");
        known["verification"] = json!("unverified");
    }
    let wraps = shown.wraps;
    Projected {
        name: mcp_name,
        command,
        title: Some(title),
        description: shown.description.clone(),
        input_schema: Arc::clone(&shown.input),
        output_schema: shown.output.clone(),
        effect: Effect::Write,
        hints: shown.hints,
        open_world: true,
        long: true,
        runs_commands: false,
        consent: Some(Verb::Call.operation()),
        meta: Some((TOOL, known)),
        group: GROUP,
        shape: Shape::Output,
        run: Arc::new(move |context, arguments| answer(context, &tool, &action, wraps, arguments)),
    }
}

/// Returns the entry of a tool whose package cannot be used. Calling it reports the reason.
fn broken(named: Named) -> Projected {
    let Named { mcp_name, tool, action } = named;
    Projected {
        name: mcp_name,
        command: if action.is_empty() { tool.clone() } else { format!("{tool}:{action}") },
        title: Some(tool.clone()),
        description: String::new(),
        input_schema: Arc::default(),
        output_schema: None,
        effect: Effect::Write,
        hints: Hints::default(),
        open_world: true,
        long: false,
        runs_commands: false,
        consent: None,
        meta: None,
        group: GROUP,
        shape: Shape::Output,
        run: Arc::new(move |context, arguments| answer(context, &tool, &action, false, arguments)),
    }
}

/// Calls an installed tool. The install is looked up again, since it may have changed since the tool was listed.
fn answer(context: &Context, tool: &str, action: &str, wraps: bool, arguments: Value) -> Result<Reply> {
    let audience = context.audience();
    let (install, manifest) = context.store.read(|db| {
        Border::of(db, &audience)?.require(db, tool)?;
        let install = visible::require(db, &audience, tool)?;
        let manifest = checked::manifest(db, &install)?;
        Ok((install, manifest))
    })?;
    let subject = checked::subject(&install);
    let input = match arguments {
        Value::Object(input) => input,
        _ => Map::new(),
    };
    let action = if action.is_empty() { MAIN } else { action };
    let verdict = require(context, Verb::Call, (&subject, None), action, &input)?;
    let called = Called { subject: &subject, manifest: &manifest, verdict: &verdict };
    let verification = verdict.verification();
    match called.answer(context, Some(action), input)? {
        Answer::Document(text) => {
            let mut reply = Reply::new(Body::Text(text), Value::Null);
            reply.meta = Some((RUN, json!({ "tool": tool, "version": install.version, "verification": verification })));
            Ok(reply)
        }
        Answer::Ran(outcome) => Ok(reply(&install, &verdict, wraps, *outcome)),
    }
}

fn reply(install: &Install, verdict: &Verdict, wraps: bool, outcome: Outcome) -> Reply {
    let mut facts = json!({
        "tool": install.name,
        "version": install.version,
        "run_id": outcome.run.to_string(),
        "runner": outcome.runner.word(),
        "exit_code": outcome.exit_code,
        "duration_ms": outcome.duration_ms,
        "truncated": outcome.truncated,
        "stderr": outcome.stderr,
        "verification": verdict.verification(),
    });
    if let Some(image) = outcome.image {
        facts["image"] = image.into();
    }
    if !outcome.left_out.is_empty() {
        facts["left_out"] = json!(outcome.left_out);
    }
    let data = match outcome.output {
        Some(output) if wraps => json!({ "result": output }),
        Some(output @ Value::Object(_)) => output,
        _ => Value::Null,
    };
    let files = outcome.files.into_iter().map(|file| media(&outcome.run.to_string(), file));
    let mut bodies = vec![Body::Text(outcome.stdout)];
    bodies.extend(files);
    let body = if bodies.len() == 1 { bodies.remove(0) } else { Body::Several(bodies) };
    Reply { meta: Some((RUN, facts)), ..Reply::new(body, data) }
}

/// Converts an output file of a run to a content block of the result.
fn media(run: &str, file: OutputFile) -> Body {
    let mime_type = mime_guess::from_path(&file.path).first_raw().map(str::to_owned);
    Body::Media(Media { uri: format!("mcpkg://runs/{run}/{}", file.path), mime_type, bytes: file.bytes })
}
