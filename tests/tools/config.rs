//! Tests `mcpkg tool config` and `tool alias` with the real binary.

use serde_json::json;

use super::put;
use crate::support::{Scratch, at_a_terminal, skipped};

#[test]
fn a_setting_is_shown_set_and_reset() {
    let scratch = Scratch::new();
    let all = scratch.json(&["tool", "config"]);
    let names: Vec<&str> =
        all["settings"].as_array().expect("settings").iter().filter_map(|one| one["setting"].as_str()).collect();
    assert!(names.contains(&"execution.allow_unsandboxed") && names.contains(&"cache.size"), "{names:?}");
    scratch.file("true/enact.yaml", "name: test/true\nversion: 1.0.0\ndescription: Does nothing\ncommand: \"true\"\n");
    let seconds = || scratch.json(&["tool", "run", "./true", "--dry-run"])["limits"]["time_seconds"].clone();
    assert_eq!(seconds(), json!(300.0));
    let set = scratch.json(&["tool", "config", "execution.timeout", "90s"]);
    assert_eq!((&set["value"], &set["is_set"]), (&json!("90s"), &json!(true)));
    assert_eq!(seconds(), json!(90.0));
    assert_eq!(scratch.ok(&["tool", "config", "execution.timeout"]), "90s\n");
    scratch.ok(&["tool", "config", "execution.timeout", "--unset"]);
    assert_eq!(seconds(), json!(300.0));
}

#[test]
fn invalid_settings_are_refused_with_a_similar_name() {
    let scratch = Scratch::new();
    let typo = scratch.run(&["tool", "config", "cache.sizes"]);
    assert!(typo.status == 2 && typo.stderr.contains("did you mean 'cache.size'?"), "{typo}");
    let odd = scratch.run(&["tool", "config", "cache.size", "plenty"]);
    assert!(odd.status == 2 && odd.stderr.contains("hint: use a size such as 512MiB or 2GiB"), "{odd}");
    assert_eq!(scratch.json(&["tool", "config", "cache.size"])["is_set"], json!(false));
}

#[test]
fn risky_settings_need_a_terminal_and_count_only_on_this_machine() {
    let scratch = Scratch::new();
    let key = "execution.allow_unsandboxed";
    let refused = scratch.run(&["--json", "tool", "config", key, "true", "--yes"]);
    assert!(refused.stdout.contains("E_TERMINAL_REQUIRED"), "{refused}");
    let mut command = scratch.command();
    command.args(["tool", "config", key, "true"]);
    let Some((shown, done)) = at_a_terminal(&command, "y\n") else { return skipped("there is no script") };
    assert!(done && shown.contains(" to true?"), "{shown}");
    assert_eq!(scratch.ok(&["tool", "config", key]), "true\n");
    // On another machine, nobody approved the value in the same database.
    let mut elsewhere = scratch.command();
    let ran =
        scratch.finish(elsewhere.env("XDG_STATE_HOME", scratch.path().join("other")).args(["tool", "config", key]));
    assert_eq!(ran.stdout, "false\n", "{ran}");
    assert!(ran.stderr.contains("you have not approved this value on this machine"), "{ran}");
    scratch.ok(&["tool", "config", key, "false"]);
    assert_eq!(scratch.ok(&["tool", "config", key]), "false\n");
}

#[test]
fn an_alias_works_wherever_the_shell_expects_a_tool() {
    let scratch = Scratch::new();
    put(&scratch, "alice/weather", "Sun");
    scratch.ok(&["tool", "key", "new"]);
    let made = scratch.json(&["tool", "alias", "weather", "alice/weather"]);
    assert_eq!(made, json!({ "alias": "weather", "tool": "alice/weather" }));
    let signed = scratch.json(&["tool", "sign", "weather"]);
    super::trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    for command in [
        &["tool", "verify", "weather"][..],
        &["tool", "learn", "weather"],
        &["tool", "info", "weather"],
        &["tool", "install", "weather@1.0.0"],
        &["tool", "run", "weather"],
        &["tool", "use", "weather@1.0.0"],
        &["tool", "allow", "weather"],
        &["toolset", "create", "kit", "weather"],
        &["toolset", "remove", "kit", "weather"],
        &["tool", "uninstall", "weather"],
    ] {
        scratch.ok(command);
    }
    assert_eq!(scratch.json(&["tool", "alias"])["aliases"], json!([made]));
    assert_eq!(scratch.ok(&["tool", "alias", "weather"]), "alice/weather\n");
    let taken = scratch.run(&["tool", "alias", "a/b", "alice/weather"]);
    assert!(taken.status == 2 && taken.stderr.contains("is not a valid alias"), "{taken}");
    scratch.ok(&["tool", "alias", "weather", "--remove"]);
    let gone = scratch.run(&["tool", "alias", "weathr"]);
    assert!(gone.status == 1 && gone.stderr.contains("There is no alias 'weathr'"), "{gone}");
    assert_ne!(scratch.run(&["tool", "learn", "weather"]).status, 0);
}
