//! Formats a dry run for people.

use serde_json::Value;

/// Returns what would be run, one fact per line. The full command lines of the runners are only in the JSON.
pub fn text(plan: &Value) -> String {
    let mut lines = vec![
        format!("tool: {}:{}", word(&plan["tool"]), word(&plan["action"])),
        format!("verdict: {}", word(&plan["verdict"])),
        format!("argv: {}", words(&plan["argv"])),
    ];
    if plan["build"].as_array().is_some_and(|build| !build.is_empty()) {
        lines.push(format!("build: {}", words(&plan["build"])));
    }
    for (name, from) in plan["environment"].as_object().into_iter().flatten() {
        lines.push(format!("variable {name}: {}", word(from)));
    }
    lines.push(format!("network: {}", if plan["network"] == true { "yes" } else { "no" }));
    for mount in plan["mounts"].as_array().into_iter().flatten() {
        lines.push(match mount["link"].as_str() {
            Some(to) => format!("link {}: to {to}", word(&mount["path"])),
            None => format!("{} {}: from {}", word(&mount["access"]), word(&mount["path"]), word(&mount["from"])),
        });
    }
    for (name, limit) in plan["limits"].as_object().into_iter().flatten() {
        lines.push(format!("limit {name}: {}", word(limit)));
    }
    for runner in plan["runners"].as_array().into_iter().flatten() {
        let name = word(&runner["runner"]);
        lines.push(match runner["reason"].as_str() {
            Some(why) => format!("runner {name}: no ({why})"),
            None if runner["runner"] == plan["runner"] => {
                format!("runner {name}: yes, mcpkg would use this one")
            }
            None => format!("runner {name}: yes"),
        });
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn words(argv: &Value) -> String {
    let words = argv.as_array().into_iter().flatten();
    words.map(|word| mcpkg_base::shell::quote(word.as_str().unwrap_or_default())).collect::<Vec<_>>().join(" ")
}
