//! Tests the files in `packaging/` for running a server for a team: compose.yaml, mcpkg.service and observe/.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use crate::support::{Http, Request, Scratch, finds, folder, http, skipped};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).expect("a file")
}

/// Fails unless mcpkg's command line accepts these words.
#[track_caller]
fn is_taken(words: &[&str]) {
    let parsed = mcpkg::cli::command().try_get_matches_from(std::iter::once("mcpkg").chain(words.iter().copied()));
    if let Err(error) = parsed {
        panic!("{words:?}: {error}");
    }
}

#[test]
fn dashboard_and_alerts_name_metrics_that_are_there() {
    let scratch = Scratch::with_project();
    let server = Http::start(&scratch, &[]);
    server.send(&http::modern("/mcp", "prompts/list", serde_json::json!({})));
    let metrics = server.send(&Request::new("GET", "/metrics")).text();
    let there: BTreeSet<&str> = metrics.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let named = Regex::new(r"\bmcpkg_[a-z_]+").expect("a pattern");
    let mut seen = BTreeSet::new();
    for name in ["observe/grafana.json", "observe/alerts.yml"] {
        let text = read(name);
        for found in named.find_iter(&text) {
            assert!(there.contains(found.as_str()), "{name} names {}, which /metrics does not have", found.as_str());
            seen.insert(found.as_str().to_owned());
        }
    }
    // The dashboard or an alert uses every metric, except the sums and counts of histograms.
    let unused: Vec<&str> = there
        .into_iter()
        .filter(|name| name.starts_with("mcpkg_") && !seen.contains(*name))
        .filter(|name| !name.ends_with("_sum") && !name.ends_with("_count"))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
    let dashboard: Value = serde_json::from_str(&read("observe/grafana.json")).expect("JSON");
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() >= 10));
    let alerts: Value = serde_saphyr::from_str(&read("observe/alerts.yml")).expect("YAML");
    for rule in alerts["groups"][0]["rules"].as_array().expect("rules") {
        assert!(rule["expr"].is_string() && rule["annotations"]["summary"].is_string(), "{rule}");
    }
}

#[test]
fn the_compose_file_names_options_and_services_that_are_there() {
    let compose: Value = serde_saphyr::from_str(&read("compose.yaml")).expect("YAML");
    let services = compose["services"].as_object().expect("services");
    let proxy = read("Caddyfile");
    for name in ["init", "one", "two"] {
        let mut service = services[name].clone();
        let words = loop {
            match service.get("command") {
                Some(words) => break words.clone(),
                // The service shares its settings with another one, through YAML's merge key `<<`.
                None => service = service["<<"].take(),
            }
        };
        let words: Vec<String> = words
            .as_array()
            .expect("a command")
            .iter()
            .map(|word| word.as_str().expect("a word").replace("${MCPKG_HOST:-localhost}", "localhost"))
            .collect();
        is_taken(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if words[0] == "serve" {
            assert!(proxy.contains(&format!("{name}:3000")), "the proxy knows {name}");
        }
    }
    let database = compose["x-mcpkg"]["environment"]["MCPKG_DB"].as_str().expect("an address");
    assert_eq!(database, "postgres://mcpkg@db/mcpkg?password=env:MCPKG_DB_PASSWORD");
}

#[test]
fn the_unit_is_valid_and_hardened() {
    let unit = read("mcpkg.service");
    let value = |name: &str| {
        let found = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("the unit has no {name}"))
    };
    let options = unit.lines().find_map(|line| line.strip_prefix("Environment=\"MCPKG_OPTIONS=")).expect("options");
    let started = value("ExecStart").replace("$MCPKG_OPTIONS", options.trim_end_matches('"'));
    let words: Vec<&str> = started.split(' ').collect();
    assert_eq!(words[0], "/usr/bin/mcpkg");
    is_taken(&words[1..]);
    if finds("systemd-analyze").is_none() {
        return skipped("there is no systemd-analyze (Debian: systemd)");
    }
    // systemd-analyze refuses a unit if its program does not exist, so name a program that does.
    let folder = folder();
    let copy = folder.path().join("mcpkg.service");
    std::fs::write(&copy, unit.replace("/usr/bin/mcpkg", "/bin/true")).expect("a copy");
    let analyze = |arguments: &[&str]| {
        let ran = Command::new("systemd-analyze").args(arguments).arg(&copy).output().expect("it starts");
        let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{arguments:?}: {told}");
        told
    };
    let told = analyze(&["verify"]);
    assert!(!told.contains("mcpkg.service:"), "{told}");
    // systemd rates a unit from 0, the safest, to 10. The threshold is ten times the rating, so 20 means 2.0.
    analyze(&["security", "--offline=true", "--threshold=20"]);
}
