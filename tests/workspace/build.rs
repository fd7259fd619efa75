//! Tests of `mcpkg build` and smctl_build: the order, failures, the environment of commands, and what is stored.

use serde_json::{Value, json};

use crate::support::{Client, memory, reset_peak, runs_all};
use crate::workspace::builds::{Builds, build, refused};

/// Returns the manifest line for a command that appends the repository's name and the step to the workspace's file
/// `order`.
fn told(name: &str, step: &str) -> String {
    format!("{step}_cmd = \"sh -c 'echo {name} {step} >> ../order'\"\n")
}

/// Returns a workspace in which web depends on api and api on lib. web is first in the manifest.
fn chain(api: &str) -> Builds {
    let keys = |name: &str, on: &str| format!("{}{}{on}", told(name, "build"), told(name, "test"));
    let (web, lib) = (keys("web", "depends_on = [\"api\"]"), keys("lib", ""));
    let api = if api.is_empty() { keys("api", "") } else { api.to_owned() };
    Builds::new(&[("web", &web), ("api", &format!("depends_on = [\"lib\"]\n{api}")), ("lib", &lib)])
}

fn steps(data: &Value) -> Vec<(String, char)> {
    let sign = |row: &Value| match (row["skipped"].as_bool(), row["success"].as_bool()) {
        (Some(true), Some(false)) => '.',
        (Some(false), Some(true)) => '+',
        (Some(false), Some(false)) => '-',
        _ => panic!("{row:#}"),
    };
    let rows = data["results"].as_array().expect("rows").iter();
    rows.map(|row| (row["repo_name"].as_str().expect("a name").to_owned(), sign(row))).collect()
}

fn shown(data: &Value) -> String {
    steps(data).iter().map(|(name, sign)| format!("{sign}{name}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_repository_is_built_after_those_it_depends_on() {
    for flags in
        [&["build", "--test"][..], &["build", "--test", "--parallel"], &["build", "--test", "--parallel", "-j1"]]
    {
        let shop = chain("");
        let (status, data) = shop.json(flags);
        assert_eq!(
            (status, shown(&data)),
            (0, "+lib +lib (test) +api +api (test) +web +web (test)".into()),
            "{data:#}"
        );
        assert_eq!(shop.read("order"), "lib build\nlib test\napi build\napi test\nweb build\nweb test\n");
        assert_eq!((&data["all_passed"], &data["results"][1]["step"]), (&json!(true), &json!("test")));
        assert!(data["run"].is_string() && data["total_duration_ms"].is_u64(), "{data:#}");
    }
    // Building one repository includes its dependencies, from any folder in the workspace.
    let shop = chain("");
    let ran = shop.scratch.finish(shop.command().current_dir(shop.root().join("web")).args(["build", "api"]));
    assert_eq!((ran.status, shop.read("order").as_str()), (0, "lib build\napi build\n"), "{ran}");
    let text = "lib\tbuild\tpassed\t";
    assert!(ran.stdout.contains(text) && ran.stdout.contains("2 commands passed in "), "{ran}");
}

#[test]
fn x5_a_failed_build_is_an_error_in_the_shell_and_over_mcp() {
    let shop = chain("build_cmd = \"sh -c 'echo compiling; echo broken.c:1 >&2; exit 3'\"");
    let ran = shop.run(&["build", "--test"]);
    assert_eq!(ran.status, 6, "{ran}");
    let first = "error: api: build failed with status 3 (2 of 6 commands passed, 3 skipped)\ncompiling\nbroken.c:1\n";
    assert!(ran.stderr.starts_with(first), "{ran}");
    assert!(ran.stderr.contains("hint: `mcpkg builds show ") && ran.stdout.is_empty(), "{ran}");
    let (status, data) = shop.json(&["build"]);
    let error = &data["error"];
    assert_eq!((status, error["code"].as_str()), (6, Some("E_BUILD_FAILED")), "{data:#}");
    let details = &error["details"];
    assert_eq!(
        (&details["repo"], &details["step"], &details["exit_code"]),
        (&json!("api"), &json!("build"), &json!(3))
    );
    assert_eq!(details["stderr_tail"], "compiling\nbroken.c:1\n");
    assert_eq!(shown(details), "+lib -api .web");
    assert!(details["suggestion"].as_str().is_some_and(|said| said.contains("smctl_build")), "{details:#}");
    let Some(mut client) = shop.trusted_server() else { return };
    let error = refused(&mut client, json!({ "test": true }), "E_BUILD_FAILED");
    assert_eq!((&error["code"], &error["data"]["step"]), (&json!(-32004), &json!("build")), "{error:#}");
    let said = error["message"].as_str().expect("a message");
    assert!(said.starts_with("api: build failed with status 3") && said.ends_with("broken.c:1"), "{said}");
    assert_eq!(shown(&error["data"]), "+lib +lib (test) -api .api (test) .web .web (test)");
    client.finish();
    // The newest revision returns the same object in a result.
    let mut client = Client::modern_with(shop.command().arg("serve"), json!({}));
    let result = build(&mut client, json!({ "test": true }))["result"].take();
    let error = &result["structuredContent"]["error"];
    assert_eq!((&result["isError"], &error["code"]), (&json!(true), &json!(-32004)), "{result:#}");
    assert_eq!(error["data"]["repo"], "api");
    client.finish();
}

#[test]
fn x7_a_build_prints_one_document_if_it_passes_fails_or_is_a_dry_run() {
    let shop = chain("build_cmd = \"false\"");
    let (status, shown) = shop.json(&["build", "--dry-run", "--test"]);
    assert_eq!((status, &shown["dry_run"]), (0, &json!(true)), "{shown:#}");
    let commands = shown["commands"].as_array().expect("commands");
    assert_eq!((commands.len(), &commands[0]["repo_name"], &commands[5]["level"]), (6, &json!("lib"), &json!(3)));
    assert_eq!(shop.read("order"), "", "nothing was run");
    assert_eq!(shop.json(&["builds", "list"]).1["builds"], json!([]));
    assert_eq!(shop.json(&["build"]).0, 6);
    assert_eq!(shop.json(&["build", "lib"]).0, 0);
    let (_, listed) = shop.json(&["builds", "list"]);
    let results: Vec<_> = listed["builds"].as_array().expect("builds").iter().map(|run| &run["result"]).collect();
    assert_eq!(results, ["passed", "failed"]);
    let (status, last) = shop.json(&["builds", "show"]);
    assert_eq!((status, &last["results"][0]["repo_name"], &last["options"]["repo"]), (0, &json!("lib"), &json!("lib")));
    assert_eq!(shop.json(&["builds", "show", "nothing"]).0, 1);
    assert_eq!(shop.json(&["build", "--jobs", "2"]).0, 2, "jobs are of --parallel");
}

#[test]
fn x9_an_unknown_repository_is_refused_with_the_nearest_name_and_nothing_runs() {
    let shop = chain("");
    for arguments in [&["build", "apii"][..], &["build", "apii", "--parallel"]] {
        let (status, data) = shop.json(arguments);
        assert_eq!((status, &data["error"]["code"]), (2, &json!("E_INVALID_ARGUMENT")), "{data:#}");
        assert!(data["error"]["hints"].to_string().contains("did you mean 'api'?"), "{data:#}");
    }
    let mut client = shop.server();
    for parallel in [false, true] {
        let error = refused(&mut client, json!({ "repo": "apii", "parallel": parallel }), "E_INVALID_ARGUMENT");
        assert!(error["message"].as_str().is_some_and(|said| said.contains("did you mean 'api'?")), "{error:#}");
    }
    // Arguments that only the shell has, and unknown ones, are refused.
    for unknown in
        [json!({ "jobs": 2 }), json!({ "keep_going": true }), json!({ "dry_run": true }), json!({ "tests": true })]
    {
        let error = refused(&mut client, unknown.clone(), "E_INVALID_ARGUMENT");
        assert_eq!(error["code"], -32602, "{unknown}: {error:#}");
    }
    client.finish();
    assert_eq!(shop.read("order"), "");
    assert_eq!(shop.json(&["builds", "list"]).1["builds"], json!([]));
}

#[test]
fn x28_a_cycle_is_shown_in_full_and_an_unknown_dependency_is_an_error() {
    let on = |name: &str| format!("build_cmd = \"true\"\ndepends_on = [\"{name}\"]");
    let shop = Builds::new(&[("web", &on("api")), ("api", &on("lib")), ("lib", &on("web"))]);
    let ran = shop.run(&["build"]);
    assert!(ran.status == 4 && ran.stderr.contains("web -> api -> lib -> web"), "{ran}");
    shop.write(&[("web", &on("apii")), ("api", ""), ("lib", "")]);
    let (status, data) = shop.json(&["build"]);
    assert_eq!((status, &data["error"]["code"]), (4, &json!("E_WORKSPACE_INVALID")), "{data:#}");
    assert!(data.to_string().contains("apii") && data.to_string().contains("did you mean \\\"api\\\"?"), "{data:#}");
}

#[test]
fn x29_quotes_group_words_and_shell_syntax_is_not_interpreted() {
    let keys = r#"build_cmd = 'printf "%s|" "a b" ; $(touch x) * ~ \$HOME && `id` >y'"#;
    let shop = Builds::new(&[("lib", keys)]);
    let (status, data) = shop.json(&["build"]);
    assert_eq!(status, 0, "{data:#}");
    assert_eq!(data["results"][0]["output"], "a b|;|$(touch|x)|*|~|$HOME|&&|`id`|>y|");
    assert!(std::fs::read_dir(shop.root().join("lib")).expect("a folder").next().is_none(), "no shell ran");
}

#[test]
fn x30_a_clean_that_fails_is_a_failure_and_later_levels_are_skipped() {
    let keys = "clean_cmd = \"sh -c 'exit 9'\"\n";
    let shop = Builds::new(&[
        ("lib", &format!("{keys}{}", told("lib", "build"))),
        ("docs", &told("docs", "build")),
        ("api", &format!("depends_on = [\"lib\"]\n{}", told("api", "build"))),
    ]);
    let (status, data) = shop.json(&["build", "--clean"]);
    assert_eq!((status, shown(&data["error"]["details"]).as_str()), (6, "-lib (clean) .lib .docs .api"), "{data:#}");
    assert_eq!(data["error"]["details"]["step"], "clean");
    let (_, data) = shop.json(&["build", "--clean", "--parallel"]);
    assert_eq!(shown(&data["error"]["details"]), "-lib (clean) .lib +docs .api");
    let (_, data) = shop.json(&["build", "--clean", "--keep-going"]);
    assert_eq!(shown(&data["error"]["details"]), "-lib (clean) .lib +docs .api");
    assert_eq!(shop.read("order"), "docs build\ndocs build\n");
    // Without `--clean`, no clean command is run.
    assert_eq!(shop.json(&["build"]).0, 0);
}

#[test]
fn x31_an_output_of_100_mib_needs_little_memory() {
    // By default less is enough, as long as it exceeds the memory that the process gets.
    let size = if runs_all() { 100 << 20 } else { 24 << 20 };
    let keys = format!(
        "build_cmd = \"sh -c 'if test -e ../loud; then yes 0123456789abcde | head -c {size}; echo; echo end; fi'\""
    );
    let shop = Builds::new(&[("lib", &keys)]);
    let Some(mut client) = shop.trusted_server() else { return };
    let quiet = build(&mut client, json!({}));
    assert_eq!(quiet["result"]["isError"], false, "{quiet:#}");
    std::fs::write(shop.root().join("loud"), "").expect("a file");
    reset_peak(client.pid());
    let before = memory(client.pid(), "VmHWM");
    let id = client.post("tools/call", json!({ "name": "smctl_build", "arguments": {} }));
    // The answer may take longer than the usual time limit of tests.
    let answer = loop {
        match client.wait(std::time::Duration::from_secs(60)) {
            crate::support::Wait::Line(line) if line["id"] == id => break line,
            crate::support::Wait::Line(_) => {}
            end => panic!("no answer: {end:?}"),
        }
    };
    let after = memory(client.pid(), "VmHWM");
    let result = &answer["result"]["structuredContent"]["results"][0];
    let output = result["output"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    assert!(output.starts_with("0123456789abcde\n") && output.ends_with("end\n"), "{}", &output[output.len() - 100..]);
    assert!(output.contains(" bytes left out ") && output.len() < 70 << 10, "{}", output.len());
    assert!(after < before + (8 << 10), "{before} KiB before, {after} KiB after");
    client.finish();
}

#[test]
fn a_command_gets_no_input_and_the_users_variables_except_gits_and_mcpkgs() {
    let keys = "build_cmd = \"sh -c 'env; echo [$(cat)]; echo get https://me:s3cret@example.org/x'\"";
    let shop = Builds::new(&[("lib", keys)]);
    let mut command = shop.command();
    command.args(["--json", "build"]).env("CARGO_HOME", "/c").env("GIT_DIR", "/g").env("SMCTL_LOG", "info");
    let ran = shop.scratch.finish(&mut command);
    let data: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"));
    let output = data["results"][0]["output"].as_str().expect("an output");
    assert!(output.contains("CARGO_HOME=/c\n") && output.contains("\n[]\n"), "{output}");
    assert!(output.contains("get https://***@example.org/x\n"), "{output}");
    for left_out in ["GIT_", "MCPKG_", "SMCTL_"] {
        assert!(!output.lines().any(|line| line.starts_with(left_out)), "{left_out}: {output}");
    }
}

#[test]
fn a_missing_repository_and_a_missing_command_fail() {
    let shop = Builds::new(&[("lib", "build_cmd = \"no-such-program\""), ("api", "build_cmd = \"true\"")]);
    std::fs::remove_dir(shop.root().join("api")).expect("a folder");
    let (status, data) = shop.json(&["build", "--keep-going"]);
    let rows = &data["error"]["details"]["results"];
    assert_eq!((status, shown(&data["error"]["details"]).as_str()), (6, "-lib -api"), "{data:#}");
    assert!(
        rows[0]["output"].as_str().is_some_and(|said| said.contains("program `no-such-program` not found")),
        "{rows:#}"
    );
    assert!(rows[1]["output"].as_str().is_some_and(|said| said.contains("`mcpkg workspace sync` clones")), "{rows:#}");
    assert_eq!((&rows[0]["exit_code"], &rows[1]["exit_code"]), (&Value::Null, &Value::Null));
}

#[test]
fn builds_are_shown_with_what_failed_commands_printed() {
    let shop = chain("build_cmd = \"sh -c 'echo broken; exit 1'\"");
    assert_eq!(shop.run(&["build", "--keep-going"]).status, 6);
    let ran = shop.run(&["builds", "show"]);
    assert!(
        ran.status == 0 && ran.stdout.contains("(--keep-going)") && ran.stdout.contains(" by shell: failed in "),
        "{ran}"
    );
    assert!(ran.stdout.contains("api\tbuild\tfailed with status 1\t"), "{ran}");
    assert!(ran.stdout.ends_with("\n--- api: build\nbroken\n"), "{ran}");
    let ran = shop.run(&["builds", "show", "--repo", "webb"]);
    assert!(ran.status == 2 && ran.stderr.contains("did you mean 'web'?"), "{ran}");
    let (_, listed) = shop.json(&["builds", "list"]);
    let id = listed["builds"][0]["id"].as_str().expect("an id").to_owned();
    let ran = shop.run(&["builds", "show", &id[id.len() - 6..], "--repo", "api"]);
    assert!(ran.status == 0 && ran.stdout.contains("broken") && !ran.stdout.contains("lib"), "{ran}");
}

#[test]
fn the_status_of_a_repository_has_its_last_build() {
    let shop = chain("build_cmd = \"false\"");
    let last = || {
        let (_, status) = shop.json(&["workspace", "status"]);
        let repos = status["repos"].as_array().expect("repositories").clone();
        repos.iter().map(|repo| repo["last_build"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(last(), [Value::Null, Value::Null, Value::Null]);
    let (_, failed) = shop.json(&["build"]);
    let run = &failed["error"]["details"]["run"];
    let [web, api, lib] = &last()[..] else { panic!("three") };
    // web was skipped.
    assert_eq!((web, &api["success"], &lib["success"]), (&Value::Null, &json!(false), &json!(true)));
    assert!(api["run"] == *run && lib["ended_at"].is_string(), "{api:#}");
}
