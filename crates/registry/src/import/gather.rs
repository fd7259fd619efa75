//! Plans an import from the files of Enact: what is imported, and what is left out. Enact is the program that contract
//! 002 describes.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::config_file::{self, ConfigFile};
use super::home::{Home, Text};
use super::packages::{self, Named};
use super::plan::{EVERY, LeftOut, Plan};
use super::tools_file::{File, ToolsFile};
use super::{toolsets, trust, variables};
use crate::alias;
use crate::backend::http;
use crate::config::{self, Key};
use crate::package::Name;
use crate::run::is_usual;
use crate::trust::pattern;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret::Reference;
use mcpkg_core::op::Context;
use mcpkg_store::tools::aliases;
use mcpkg_store::tools::env::{self, Setting, Variable};
use mcpkg_store::tools::installs::Scope;
use mcpkg_store::tools::registries::{self, Kind, Place};

/// The name that the imported registry gets.
const REGISTRY: &str = "enact";

/// A project folder with Enact's files, and the scope that its tools are installed in.
pub struct Project {
    pub home: Home,
    /// The scope of the selected project.
    pub scope: Scope,
}

/// Returns the plan of an import.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if a file is malformed, `E_IO_INVALID_PATH` if a path leads out of its folder, `E_TOO_LARGE` if
/// there are too many tools or they are too large together.
pub fn plan(context: &Context, home: &Home, project: Option<&Project>) -> Result<Plan> {
    let mut plan = Plan::default();
    // Read all files first, so that no decision is made before every file is known to be valid.
    let global = read(home.own_text("tools.json")?, &mut plan.left)?;
    let served = read(home.own_text("mcp.json")?, &mut plan.left)?;
    let settings = settings(home, &mut plan.left)?;
    let mut lines = Vec::new();
    let mut files = Vec::new();
    for file in project.map(|project| project.home.text(".enact/.env")).into_iter().chain([home.own_text(".env")]) {
        if let Some(text) = file? {
            lines.push((variables::read(&text)?, text.name));
        }
    }
    if let Some(project) = project {
        for name in ["agents/skills.json", ".enact/tools.json"] {
            files.extend(read(project.home.text(name)?, &mut plan.left)?.map(|file| (file, project.scope.clone())));
        }
    }
    files.extend([global, served.clone()].into_iter().flatten().map(|file| (file, Scope::Global)));

    let mut roots: Vec<_> = project.iter().map(|project| project.home.skills("agents")).collect();
    roots.push(home.skills(".agents"));
    packages::take(context, &named(&files), &roots, &mut plan)?;
    take_aliases(context, &files, &mut plan)?;
    if let Some(served) = served {
        toolsets::take(context, served, &mut plan)?;
    }
    if let Some((file, text)) = settings {
        let policy = trust::policy(&file.trust, &text)?;
        trust::take(context, &file.trust, policy, &text, &mut plan)?;
        take_registry(context, &file.registry, &text, &mut plan)?;
        take_settings(context, &file, &text, &mut plan)?;
    }
    take_variables(context, lines, &mut plan)?;
    Ok(plan)
}

/// Returns the plan for a server that runs in place of Enact (`mcpkg serve --as enact`). It comes from `mcp.json` and
/// `config.yaml`; if one of these files cannot be read, the plan still uses the other. Also returns the error of each
/// file that cannot be read.
pub fn of_server(context: &Context, home: &Home) -> Result<(Plan, Vec<Error>)> {
    let (mut plan, mut failed) = (Plan::default(), Vec::new());
    let served = home.own_text("mcp.json").and_then(|text| read(text, &mut plan.left));
    if let Some(served) = served.unwrap_or_else(|error| note(&mut failed, error)) {
        toolsets::take(context, served, &mut plan)?;
        // The active toolset in the file limits only this server. Other agents keep their toolset.
        plan.active = None;
    }
    let read = settings(home, &mut plan.left).and_then(|read| match read {
        // An invalid policy makes the whole file malformed, so none of its settings apply.
        Some((file, text)) => trust::policy(&file.trust, &text).map(|policy| Some((file, text, policy))),
        None => Ok(None),
    });
    if let Some((file, text, policy)) = read.unwrap_or_else(|error| note(&mut failed, error)) {
        trust::take(context, &file.trust, policy, &text, &mut plan)?;
        take_registry(context, &file.registry, &text, &mut plan)?;
    }
    Ok((plan, failed))
}

fn note<T>(failed: &mut Vec<Error>, error: Error) -> Option<T> {
    failed.push(error);
    None
}

fn settings(home: &Home, left: &mut Vec<LeftOut>) -> Result<Option<(ConfigFile, Text)>> {
    let text = home.own_text("config.yaml")?;
    text.map(|text| Ok((ConfigFile::read(&text, left)?, text))).transpose()
}

fn read(text: Option<Text>, left: &mut Vec<LeftOut>) -> Result<Option<File>> {
    text.map(|text| Ok((ToolsFile::read(&text, left)?, text.name))).transpose()
}

/// Returns the tools that the files name, each once per scope. If several files name a tool, the first one counts.
fn named(files: &[(File, Scope)]) -> Vec<Named> {
    let mut named: BTreeMap<(String, String), Named> = BTreeMap::new();
    for ((file, from), scope) in files {
        for (name, version) in &file.tools {
            named.entry((scope.key(), name.clone())).or_insert_with(|| Named {
                name: name.clone(),
                version: version.clone(),
                scope: scope.clone(),
                from: from.clone(),
            });
        }
    }
    named.into_values().collect()
}

fn take_aliases(context: &Context, files: &[(File, Scope)], plan: &mut Plan) -> Result<()> {
    let known: BTreeMap<String, String> = context.store.read(aliases::all)?.into_iter().collect();
    for ((file, from), _) in files {
        for (short, tool) in &file.aliases {
            let is_tool = Name::parse(tool).is_ok_and(|name| name.is_publishable());
            let taken = known.get(short).or_else(|| plan.aliases.get(short)).filter(|taken| *taken != tool).cloned();
            let why = match (alias::check(short), is_tool, taken) {
                (Err(error), ..) => error.message().to_owned(),
                (_, false, _) => format!("'{}' is not a tool name", tool.escape_debug()),
                (.., Some(taken)) => format!("this alias is already used for {taken}"),
                (Ok(()), true, None) if known.contains_key(short) => "mcpkg already has it".to_owned(),
                (Ok(()), true, None) => {
                    plan.aliases.insert(short.clone(), tool.clone());
                    continue;
                }
            };
            plan.left.push(LeftOut::new(format!("alias {}", short.escape_debug()), from, why));
        }
    }
    Ok(())
}

fn take_registry(context: &Context, wanted: &config_file::Registry, text: &Text, plan: &mut Plan) -> Result<()> {
    let mut left = |what: &str, why: String| plan.left.push(LeftOut::new(what, &text.name, why));
    if wanted.auth_token.is_some() {
        let why = "mcpkg does not store tokens in plain text: save it in a file of your own, and pass that file with `mcpkg registry add \
            --token file:PATH`";
        left("registry.authToken", why.to_owned());
    }
    let token = match wanted.auth_token_ref.as_deref().map(Reference::from_str) {
        Some(Ok(token)) => Some(token.to_string()),
        Some(Err(error)) => {
            left("registry.authTokenRef", format!("mcpkg cannot read this kind of reference: {}", error.message()));
            None
        }
        None => None,
    };
    let Some(url) = &wanted.url else { return Ok(()) };
    let location = url.trim().trim_end_matches('/').to_owned();
    if let Err(error) = http::address(&location) {
        left("registry.url", error.message().to_owned());
        return Ok(());
    }
    let rows = context.store.read(registries::list)?;
    if let Some(known) = rows.iter().find(|row| row.place.location == location) {
        left("registry.url", format!("this URL already belongs to the registry '{}'", known.place.name));
    } else if rows.iter().any(|row| row.place.name == REGISTRY) {
        left("registry.url", format!("a different registry already uses the name '{REGISTRY}'"));
    } else {
        let priority = context.store.read(registries::next_priority)?;
        plan.registry = Some(Place { name: REGISTRY.to_owned(), kind: Kind::Http, location, token, priority });
    }
    Ok(())
}

fn take_settings(context: &Context, file: &ConfigFile, text: &Text, plan: &mut Plan) -> Result<()> {
    if file.execution.verbose.is_some() {
        plan.left.push(LeftOut::new(
            "execution.verbose",
            &text.name,
            "mcpkg has no such setting; pass `-v` to each command instead",
        ));
    }
    for (name, key, value) in [
        ("execution.defaultTimeout", Key::Timeout, file.execution.default_timeout.clone()),
        ("cache.maxSizeMb", Key::CacheSize, file.cache.max_size_mb.map(|size| format!("{size}MiB"))),
        ("cache.ttlSeconds", Key::CacheTtl, file.cache.ttl_seconds.map(|seconds| format!("{seconds}s"))),
    ] {
        let Some(value) = value else { continue };
        let now = context.store.read(|db| config::stored(db, key))?;
        let why = match (key.check(&value), now) {
            (Err(error), _) => error.message().to_owned(),
            (Ok(value), Some(now)) if value == now => "mcpkg already has it".to_owned(),
            (Ok(_), Some(now)) => format!("{} is already set to {now}", key.name()),
            (Ok(value), None) => {
                plan.settings.push((key, value));
                continue;
            }
        };
        plan.left.push(LeftOut::new(name, &text.name, why));
    }
    Ok(())
}

/// Imports variables that are not secrets, and lists the names of the secrets. The values of secrets are not stored,
/// and Enact's keyring is never read.
fn take_variables(context: &Context, files: Vec<(Vec<variables::Line>, String)>, plan: &mut Plan) -> Result<()> {
    let set = context.store.read(env::all)?;
    let mut secrets = Vec::new();
    for package in &plan.packages {
        let tool = &package.manifest().name;
        for variable in package.manifest().env.iter().filter(|variable| variable.secret) {
            let is_set =
                set.iter().any(|set| set.name == variable.name && pattern::matches(&set.pattern, tool.as_str()));
            if !is_set {
                let above = tool.as_str().rsplit_once('/').map_or(tool.as_str(), |(above, _)| above);
                let why = format!(
                    "mcpkg does not copy secrets; to read this one from where it is stored: `mcpkg tool env set {} 'command:secret-tool \
                    lookup service enact-cli account {above}:{}' --for {tool}`",
                    variable.name, variable.name
                );
                plan.left.push(LeftOut::new(format!("secret {}", variable.name), &package.from, why));
            }
            secrets.push(variable.name.clone());
        }
    }
    for (lines, from) in files {
        for line in lines {
            let is_known = |set: &&Variable| set.name == line.name && set.pattern == EVERY;
            let known = set.iter().chain(&plan.variables).find(is_known).map(|known| known.setting.clone());
            let why = if is_usual(&line.name) {
                "mcpkg itself sets this variable for every tool".to_owned()
            } else if line.looks_secret() || secrets.contains(&line.name) {
                format!(
                    "the variable's name looks like a secret, so mcpkg did not store its value; to read it from the environment: `mcpkg \
                        tool env set {0} \
                        env:{0}`",
                    line.name
                )
            } else if line.value.contains('\0') {
                "a variable's value cannot contain NUL".to_owned()
            } else {
                match known {
                    Some(Setting::Value(value)) if value == line.value => "mcpkg already has it".to_owned(),
                    Some(_) => "the variable already has a different value".to_owned(),
                    None => {
                        let setting = Setting::Value(line.value);
                        let set_at = context.clock.now();
                        plan.variables.push(Variable { name: line.name, pattern: EVERY.to_owned(), setting, set_at });
                        continue;
                    }
                }
            };
            plan.left.push(LeftOut::new(format!("variable {}", line.name), &from, why));
        }
    }
    Ok(())
}

/// Returns a folder with Enact's project files, to be imported into the selected project.
pub fn project(context: &Context, folder: &std::path::Path) -> Result<Project> {
    let home = Home::of_project(folder)?;
    let project = context.store.read(|db| mcpkg_store::projects::require(db, &context.selection))?;
    if home.own == Home::of_user(None).map(|home| home.own).unwrap_or_default() {
        let what = format!("`{}` is your home folder, not a project", folder.display());
        return Err(Error::new(Code::InvalidArgument, what).hint("leave out --for-project"));
    }
    Ok(Project { home, scope: Scope::Project(project.uuid) })
}
