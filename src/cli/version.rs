//! `mcpkg version`: shows the version of this build, and where its files are.

use std::path::{Path, PathBuf};

use clap::Command;
use etcetera::BaseStrategy;
use serde_json::json;

use super::globals::Globals;
use super::help;
use super::output::Output;
use mcpkg_base::approved::Approved;
use mcpkg_base::error::Result;
use mcpkg_store::SCHEMA_VERSION;

/// The commit of a release build, which `build.rs` finds.
const COMMIT: Option<&str> = option_env!("MCPKG_COMMIT");

pub(super) fn command() -> Command {
    let about = "Show the version, what this build can do, and where its files are";
    help::finished(Command::new("version"), about, &["version"], "", &["mcpkg version", "mcpkg version --json"])
}

/// Shows the version. It opens no file, so that it works even if the files are damaged.
pub(super) fn run(globals: &Globals, output: &Output) -> Result<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let features = features();
    let database = globals.database().ok();
    let state = Approved::of_user().folder().and_then(Path::parent).map(Path::to_owned);
    let paths: [(&str, Option<PathBuf>); 4] = [
        // A database URL may contain a password, which must not be shown.
        ("database", database.map(|path| mcpkg_base::redact::redact(&path.to_string_lossy()).into())),
        ("approvals", state),
        ("cache", cache()),
        ("program", std::env::current_exe().ok()),
    ];
    if globals.json {
        let paths: serde_json::Map<_, _> = paths
            .iter()
            .map(|(name, path)| ((*name).to_owned(), json!(path.as_ref().map(|path| path.to_string_lossy()))))
            .collect();
        let data = json!({
            "version": version, "commit": COMMIT, "features": features, "schema": SCHEMA_VERSION, "paths": paths,
        });
        output.json(&format!("{data:#}\n"))?;
        return Ok(0);
    }
    let commit = COMMIT.map_or(String::new(), |commit| format!(" ({})", &commit[..commit.len().min(12)]));
    let listed = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    let mut text = format!("mcpkg {version}{commit}\nfeatures   {listed}\nschema     {SCHEMA_VERSION}\n");
    for (name, path) in paths {
        let path = path.map_or_else(|| "unknown (HOME is not set)".to_owned(), |path| path.display().to_string());
        text.push_str(&format!("{name:<11}{path}\n"));
    }
    output.print(&text)?;
    Ok(0)
}

fn cache() -> Option<PathBuf> {
    etcetera::base_strategy::choose_native_strategy().ok().map(|strategy| strategy.cache_dir().join("mcpkg"))
}

/// Returns the optional features of this build.
fn features() -> Vec<&'static str> {
    let all = [
        ("wasm", cfg!(feature = "wasm")),
        ("otlp", cfg!(feature = "otlp")),
        ("sigstore", cfg!(feature = "sigstore")),
        ("gate-onnx", cfg!(feature = "gate-onnx")),
    ];
    all.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect()
}
