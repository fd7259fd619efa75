//! Tests the complete data that each command returns for a small project.

use insta::assert_snapshot;
use serde_json::Value;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

fn place() -> Place {
    let place = Place::with_project();
    place.ok(&["module", "set", "skill:tidy", "--targets", "claude_code,codex"]);
    place
}

/// Returns the data of a diff without the changed lines, after checking that every change has them.
pub fn without_lines(mut diff: Value) -> Value {
    for change in diff["changes"].as_array_mut().expect("changes") {
        let lines = change.as_object_mut().expect("an object").shift_remove("unified");
        assert!(lines.is_some_and(|lines| word(&lines).starts_with("--- ")), "{change}");
    }
    diff
}

#[test]
fn a_plan_and_its_preview() {
    let place = place();
    assert_snapshot!(place.golden(&["plan"]), @r#"
    command: "plan"
    data:
      profile: "default"
      targets: ["claude_code","codex","cursor","vscode"]
      changes:
        {"target":"claude_code","op":"create","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","before_sha256":null,"after_sha256":"39eac472","reason":"file missing","targets":["claude_code"],"module_ids":["command:review"]}
        {"target":"claude_code","op":"create","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","before_sha256":null,"after_sha256":"ba04bc26","reason":"file missing","targets":["claude_code"],"module_ids":["skill:tidy"]}
        {"target":"claude_code","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d17849b6","reason":"file missing","targets":["claude_code","codex","cursor","vscode"],"module_ids":["instructions:style"]}
        {"target":"codex","op":"create","path":"<ROOT>/.agents/skills/review/SKILL.md","path_posix":"<ROOT>/.agents/skills/review/SKILL.md","before_sha256":null,"after_sha256":"86c496e1","reason":"file missing","targets":["codex","vscode"],"module_ids":["command:review"]}
        {"target":"codex","op":"create","path":"<ROOT>/.agents/skills/tidy/SKILL.md","path_posix":"<ROOT>/.agents/skills/tidy/SKILL.md","before_sha256":null,"after_sha256":"ba04bc26","reason":"file missing","targets":["codex"],"module_ids":["skill:tidy"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/commands/review.md","path_posix":"<ROOT>/.cursor/commands/review.md","before_sha256":null,"after_sha256":"39eac472","reason":"file missing","targets":["cursor"],"module_ids":["command:review"]}
      summary: {"create":6,"update":0,"delete":0}
      budget:
        {"target":"claude_code","bytes":25,"tokens":6,"files":[{"path":"<ROOT>/AGENTS.md","bytes":12}],"listed":{"skills":1,"commands":0,"subagents":0,"bytes":13},"limit":null,"bytes_before":0}
        {"target":"codex","bytes":175,"tokens":43,"files":[{"path":"<ROOT>/AGENTS.md","bytes":133}],"listed":{"skills":2,"commands":0,"subagents":0,"bytes":42},"limit":{"bytes":32768,"used":133,"path":"<ROOT>/AGENTS.md"},"bytes_before":0}
        {"target":"cursor","bytes":175,"tokens":43,"files":[{"path":"<ROOT>/AGENTS.md","bytes":133}],"listed":{"skills":2,"commands":0,"subagents":0,"bytes":42},"limit":null,"bytes_before":0}
        {"target":"vscode","bytes":175,"tokens":43,"files":[{"path":"<ROOT>/AGENTS.md","bytes":133}],"listed":{"skills":2,"commands":0,"subagents":0,"bytes":42},"limit":null,"bytes_before":0}
    "#);
    let mut plan = place.data(&["plan"]);
    plan.as_object_mut().expect("an object").shift_remove("budget");
    assert_eq!(without_lines(place.data(&["diff"])), plan, "the data is the same, but for the lines");
    assert_snapshot!(place.golden(&["preview", "--diff", "--target", "cursor"]), @r#"
    command: "preview"
    data:
      profile: "default"
      targets: ["cursor"]
      plan:
        changes:
          {"target":"cursor","op":"create","path":"<ROOT>/.cursor/commands/review.md","path_posix":"<ROOT>/.cursor/commands/review.md","before_sha256":null,"after_sha256":"39eac472","reason":"file missing","targets":["cursor"],"module_ids":["command:review"]}
          {"target":"cursor","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d17849b6","reason":"file missing","targets":["cursor"],"module_ids":["instructions:style"]}
        summary: {"create":2,"update":0,"delete":0}
      diff:
        changes:
          {"target":"cursor","op":"create","path":"<ROOT>/.cursor/commands/review.md","path_posix":"<ROOT>/.cursor/commands/review.md","before_sha256":null,"after_sha256":"39eac472","reason":"file missing","targets":["cursor"],"module_ids":["command:review"]}
          {"target":"cursor","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d17849b6","reason":"file missing","targets":["cursor"],"module_ids":["instructions:style"]}
        summary: {"create":2,"update":0,"delete":0}
        files:
          {"target":"cursor","root":"<ROOT>/.cursor/commands","root_posix":"<ROOT>/.cursor/commands","path":"review.md","path_posix":"review.md","op":"create","before_hash":null,"after_hash":"sha256:39eac472","unified":"--- /dev/null\n+++ b/review.md\n@@ -0,0 +1 @@\n+Review the change.\n"}
          {"target":"cursor","root":"<ROOT>","root_posix":"<ROOT>","path":"AGENTS.md","path_posix":"AGENTS.md","op":"create","before_hash":null,"after_hash":"sha256:d17849b6","unified":"--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1,3 @@\n+<!-- mcpkg:begin instructions:style: this part is kept by mcpkg; what stands outside of it is yours -->\n+Be brief.\n+<!-- mcpkg:end -->\n"}
    "#);
    assert_snapshot!(place.golden(&["explain", "plan", "--target", "cursor"]), @r#"
    command: "explain.plan"
    data:
      profile: "default"
      targets: ["cursor"]
      changes:
        {"op":"create","target":"cursor","path":"<ROOT>/.cursor/commands/review.md","path_posix":"<ROOT>/.cursor/commands/review.md","modules":[{"module_id":"command:review","module_type":"command","layer":"upstream","module_path":"review.md"}]}
        {"op":"create","target":"cursor","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","modules":[{"module_id":"instructions:style","module_type":"instructions","layer":"upstream","module_path":"AGENTS.md"}]}
    "#);
    assert_snapshot!(place.golden(&["doctor"]), @r#"
    command: "doctor"
    data:
      machine_id: "box"
      roots:
        {"target":"claude_code","root":"<ROOT>/.claude/rules","root_posix":"<ROOT>/.claude/rules","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.claude/rules"}
        {"target":"codex","root":"<ROOT>","root_posix":"<ROOT>","exists":true,"writable":true,"scan_extras":false,"issues":[],"suggestion":null}
        {"target":"cursor","root":"<ROOT>/.cursor/rules","root_posix":"<ROOT>/.cursor/rules","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.cursor/rules"}
        {"target":"vscode","root":"<ROOT>/.github","root_posix":"<ROOT>/.github","exists":false,"writable":true,"scan_extras":false,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.github"}
        {"target":"claude_code","root":"<ROOT>/.claude/skills","root_posix":"<ROOT>/.claude/skills","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.claude/skills"}
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.claude/commands"}
        {"target":"codex","root":"<ROOT>/.agents/skills","root_posix":"<ROOT>/.agents/skills","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.agents/skills"}
        {"target":"cursor","root":"<ROOT>/.agents/skills","root_posix":"<ROOT>/.agents/skills","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.agents/skills"}
        {"target":"cursor","root":"<ROOT>/.cursor/commands","root_posix":"<ROOT>/.cursor/commands","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.cursor/commands"}
        {"target":"vscode","root":"<ROOT>/.agents/skills","root_posix":"<ROOT>/.agents/skills","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.agents/skills"}
      gitignore_fixes: []
      next_actions: ["mkdir -p <ROOT>/.claude/rules","mkdir -p <ROOT>/.cursor/rules","mkdir -p <ROOT>/.github","mkdir -p <ROOT>/.claude/skills","mkdir -p <ROOT>/.claude/commands","mkdir -p <ROOT>/.agents/skills","mkdir -p <ROOT>/.cursor/commands"]
      checks:
        {"area":"clients","state":"note","what":"no agents are connected","action":"mcpkg client add NAME"}
        {"area":"database","state":"ok","what":"<SCRATCH>/test.db is sound","action":null}
        {"area":"selection","state":"ok","what":"using project 'p' (selected)","action":null}
    "#);
}

#[test]
fn a_deploy_and_its_snapshots() {
    let place = place();
    let target = ["--target", "claude_code"];
    assert_snapshot!(place.golden(&[&["deploy"][..], &target].concat()), @r#"
    command: "deploy"
    data:
      confirm_token: "<TOKEN>"
      confirm_plan_hash: "<HASH>"
      confirm_token_expires_at: "<TIME>"
      summary: {"create":3,"update":0,"delete":0}
      applied: false
      profile: "default"
      targets: ["claude_code"]
      changes:
        {"target":"claude_code","op":"create","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","before_sha256":null,"after_sha256":"39eac472","reason":"file missing","targets":["claude_code"],"module_ids":["command:review"]}
        {"target":"claude_code","op":"create","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","before_sha256":null,"after_sha256":"ba04bc26","reason":"file missing","targets":["claude_code"],"module_ids":["skill:tidy"]}
        {"target":"claude_code","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d17849b6","reason":"file missing","targets":["claude_code"],"module_ids":["instructions:style"]}
    "#);
    assert_snapshot!(place.golden(&[&["deploy", "--apply", "--yes"][..], &target].concat()), @r#"
    command: "deploy"
    data:
      applied: true
      profile: "default"
      targets: ["claude_code"]
      changes:
        {"target":"claude_code","op":"create","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","before_sha256":null,"after_sha256":"39eac472","reason":"file missing","targets":["claude_code"],"module_ids":["command:review"]}
        {"target":"claude_code","op":"create","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","before_sha256":null,"after_sha256":"ba04bc26","reason":"file missing","targets":["claude_code"],"module_ids":["skill:tidy"]}
        {"target":"claude_code","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d17849b6","reason":"file missing","targets":["claude_code"],"module_ids":["instructions:style"]}
      summary: {"create":3,"update":0,"delete":0}
      snapshot_id: "<ID>"
    "#);
    assert_snapshot!(place.golden(&[&["deploy", "--apply", "--yes"][..], &target].concat()), @r#"
    command: "deploy"
    data:
      applied: false
      reason: "no_changes"
      profile: "default"
      targets: ["claude_code"]
      changes: []
      summary: {"create":0,"update":0,"delete":0}
    "#);
    assert_snapshot!(place.golden(&["snapshot", "list"]), @r#"
    command: "snapshot.list"
    data:
      snapshots:
        {"id":"<ID>","created_at":"<TIME>","kind":"deploy","state":"applied","pinned":false,"files":3,"targets":["claude_code"],"profile":"default","rolled_back_to":null,"actor":"shell","root":"<ROOT>"}
    "#);
    let id = word(&place.data(&["snapshot", "list"])["snapshots"][0]["id"]).to_owned();
    assert_snapshot!(place.golden(&["snapshot", "show", &id]), @r#"
    command: "snapshot.show"
    data:
      id: "<ID>"
      created_at: "<TIME>"
      kind: "deploy"
      state: "applied"
      pinned: false
      files:
        {"path":"<ROOT>/.claude/commands/review.md","op":"create","targets":["claude_code"],"module_ids":["command:review"],"before":null,"after":{"sha256":"39eac472","mode":"0644"}}
        {"path":"<ROOT>/.claude/skills/tidy/SKILL.md","op":"create","targets":["claude_code"],"module_ids":["skill:tidy"],"before":null,"after":{"sha256":"ba04bc26","mode":"0644"}}
        {"path":"<ROOT>/AGENTS.md","op":"create","targets":["claude_code"],"module_ids":["instructions:style"],"before":null,"after":{"sha256":"d17849b6","mode":"0644"}}
      targets: ["claude_code"]
      profile: "default"
      rolled_back_to: null
      actor: "shell"
      root: "<ROOT>"
    "#);
    place.prompt("review", "Another text.\n");
    place.deploy(&target);
    assert_snapshot!(place.golden(&["rollback", "--to", &id, "--yes"]), @r#"
    command: "rollback"
    data:
      rolled_back_to: "<ID>"
      event_snapshot_id: "<ID>"
      changes:
        {"target":"claude_code","op":"update","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","before_sha256":"c5270ace","after_sha256":"39eac472","update_kind":"managed_update","reason":"rolled back","targets":["claude_code"],"module_ids":["command:review"]}
      summary: {"create":0,"update":1,"delete":0}
    "#);
    assert_snapshot!(place.golden(&["rollback", "--to", "pristine", "--dry-run"]), @r#"
    command: "rollback"
    data:
      rolled_back_to: "pristine"
      event_snapshot_id: null
      changes:
        {"target":"claude_code","op":"delete","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","before_sha256":"39eac472","after_sha256":null,"reason":"rolled back","targets":["claude_code"],"module_ids":["command:review"]}
        {"target":"claude_code","op":"delete","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","before_sha256":"ba04bc26","after_sha256":null,"reason":"rolled back","targets":["claude_code"],"module_ids":["skill:tidy"]}
        {"target":"claude_code","op":"delete","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":"d17849b6","after_sha256":null,"reason":"rolled back","targets":["claude_code"],"module_ids":["instructions:style"]}
      summary: {"create":0,"update":0,"delete":3}
    "#);
}

#[test]
fn drift_and_how_commands_report_it() {
    let place = place();
    let target = ["--target", "claude_code"];
    place.deploy(&target);
    place.write("root/.claude/commands/review.md", "Edited.\n");
    place.write("root/.claude/commands/stray.md", "Stray.\n");
    std::fs::remove_file(place.root().join(".claude/skills/tidy/SKILL.md")).expect("a file");
    assert_snapshot!(place.golden(&[&["status"][..], &target].concat()), @r#"
    command: "status"
    data:
      profile: "default"
      targets: ["claude_code"]
      drift:
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","expected":"sha256:39eac472","actual":"sha256:ce4e3c85","kind":"modified","state":"user_modified"}
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","path":"<ROOT>/.claude/commands/stray.md","path_posix":"<ROOT>/.claude/commands/stray.md","expected":null,"actual":"sha256:ab24a5c4","kind":"extra","state":"extra"}
        {"target":"claude_code","root":"<ROOT>/.claude/skills","root_posix":"<ROOT>/.claude/skills","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","expected":"sha256:ba04bc26","actual":null,"kind":"missing","state":"missing"}
      summary: {"modified":1,"missing":1,"extra":1}
      summary_by_root:
        {"target":"claude_code","root":"<ROOT>/.claude/rules","root_posix":"<ROOT>/.claude/rules","summary":{"modified":0,"missing":0,"extra":0}}
        {"target":"claude_code","root":"<ROOT>/.claude/skills","root_posix":"<ROOT>/.claude/skills","summary":{"modified":0,"missing":1,"extra":0}}
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","summary":{"modified":1,"missing":0,"extra":1}}
      next_actions: ["mcpkg preview --diff --target claude_code --json","mcpkg deploy --apply --target claude_code --yes --json","mcpkg evolve propose --target claude_code --yes --json"]
      next_actions_detailed:
        {"action":"preview_diff","command":"mcpkg preview --diff --target claude_code --json"}
        {"action":"deploy_apply","command":"mcpkg deploy --apply --target claude_code --yes --json"}
        {"action":"evolve_propose","command":"mcpkg evolve propose --target claude_code --yes --json"}
      budget:
        {"target":"claude_code","bytes":12,"tokens":3,"files":[{"path":"<ROOT>/AGENTS.md","bytes":12}],"listed":{"skills":0,"commands":0,"subagents":0,"bytes":0},"limit":null}
    "#);
    assert_snapshot!(place.golden(&[&["status", "--only", "extra"][..], &target].concat()), @r#"
    command: "status"
    data:
      profile: "default"
      targets: ["claude_code"]
      drift:
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","path":"<ROOT>/.claude/commands/stray.md","path_posix":"<ROOT>/.claude/commands/stray.md","expected":null,"actual":"sha256:ab24a5c4","kind":"extra","state":"extra"}
      summary: {"modified":0,"missing":0,"extra":1}
      summary_by_root:
        {"target":"claude_code","root":"<ROOT>/.claude/rules","root_posix":"<ROOT>/.claude/rules","summary":{"modified":0,"missing":0,"extra":0}}
        {"target":"claude_code","root":"<ROOT>/.claude/skills","root_posix":"<ROOT>/.claude/skills","summary":{"modified":0,"missing":0,"extra":0}}
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","summary":{"modified":0,"missing":0,"extra":1}}
      summary_total: {"modified":1,"missing":1,"extra":1}
      next_actions: ["mcpkg preview --diff --target claude_code --json","mcpkg deploy --apply --target claude_code --yes --json","mcpkg evolve propose --target claude_code --yes --json"]
      next_actions_detailed:
        {"action":"preview_diff","command":"mcpkg preview --diff --target claude_code --json"}
        {"action":"deploy_apply","command":"mcpkg deploy --apply --target claude_code --yes --json"}
        {"action":"evolve_propose","command":"mcpkg evolve propose --target claude_code --yes --json"}
      budget:
        {"target":"claude_code","bytes":12,"tokens":3,"files":[{"path":"<ROOT>/AGENTS.md","bytes":12}],"listed":{"skills":0,"commands":0,"subagents":0,"bytes":0},"limit":null}
    "#);
    assert_snapshot!(place.golden(&[&["explain", "status"][..], &target].concat()), @r#"
    command: "explain.status"
    data:
      profile: "default"
      targets: ["claude_code"]
      drift:
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md","expected":"sha256:39eac472","actual":"sha256:ce4e3c85","kind":"modified","state":"user_modified","modules":["command:review"]}
        {"target":"claude_code","root":"<ROOT>/.claude/commands","root_posix":"<ROOT>/.claude/commands","path":"<ROOT>/.claude/commands/stray.md","path_posix":"<ROOT>/.claude/commands/stray.md","expected":null,"actual":"sha256:ab24a5c4","kind":"extra","state":"extra","modules":[]}
        {"target":"claude_code","root":"<ROOT>/.claude/skills","root_posix":"<ROOT>/.claude/skills","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","expected":"sha256:ba04bc26","actual":null,"kind":"missing","state":"missing","modules":["skill:tidy"]}
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "propose", "--dry-run"][..], &target].concat()), @r#"
    command: "evolve.propose"
    data:
      created: false
      reason: "dry_run"
      candidates:
        {"module_id":"command:review","target":"claude_code","path":"<ROOT>/.claude/commands/review.md","path_posix":"<ROOT>/.claude/commands/review.md"}
      summary: {"drifted_proposeable":1,"drifted_skipped":1,"skipped_missing":1,"skipped_multi_module":0,"skipped_read_error":0}
      skipped:
        {"target":"claude_code","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","reason":"missing","reason_code":"missing","reason_message":"it was deleted on disk","next_actions":["mcpkg evolve restore --target claude_code --yes --json","mcpkg deploy --apply --target claude_code --yes --json"],"module_ids":["skill:tidy"]}
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "propose", "--yes"][..], &target].concat()), @r#"
    command: "evolve.propose"
    data:
      created: true
      branch: null
      scope: "global"
      files: ["<ROOT>/.claude/commands/review.md"]
      files_posix: ["<ROOT>/.claude/commands/review.md"]
      committed: false
      proposals:
        {"id":1,"module_id":"command:review","path":"<ROOT>/.claude/commands/review.md"}
      summary: {"drifted_proposeable":1,"drifted_skipped":1,"skipped_missing":1,"skipped_multi_module":0,"skipped_read_error":0}
      skipped:
        {"target":"claude_code","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","reason":"missing","reason_code":"missing","reason_message":"it was deleted on disk","next_actions":["mcpkg evolve restore --target claude_code --yes --json","mcpkg deploy --apply --target claude_code --yes --json"],"module_ids":["skill:tidy"]}
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "restore", "--dry-run"][..], &target].concat()), @r#"
    command: "evolve.restore"
    data:
      restored:
        {"target":"claude_code","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","module_ids":["skill:tidy"]}
      summary: {"missing":1,"restored":0,"skipped_existing":1,"skipped_read_error":0}
      reason: "dry_run"
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "restore", "--yes"][..], &target].concat()), @r#"
    command: "evolve.restore"
    data:
      restored:
        {"target":"claude_code","path":"<ROOT>/.claude/skills/tidy/SKILL.md","path_posix":"<ROOT>/.claude/skills/tidy/SKILL.md","module_ids":["skill:tidy"]}
      summary: {"missing":1,"restored":1,"skipped_existing":1,"skipped_read_error":0}
      reason: "restored"
      snapshot_id: "<ID>"
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "restore", "--yes"][..], &target].concat()), @r#"
    command: "evolve.restore"
    data:
      restored: []
      summary: {"missing":0,"restored":0,"skipped_existing":1,"skipped_read_error":0}
      reason: "no_missing"
    "#);
}
