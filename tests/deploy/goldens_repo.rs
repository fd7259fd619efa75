//! Tests the complete data that each command returns for a small config repo.

use insta::assert_snapshot;

use crate::deploy::answers::word;
use crate::deploy::goldens::without_lines;
use crate::deploy::place::Place;

/// Returns a repo with two instructions modules for Codex, which are written to one file, and an overlay for one of
/// them.
fn place() -> (Place, String) {
    let place = Place::with_repo(
        &["codex: project", "cursor: project"],
        &[("instructions:a", "A\n"), ("instructions:b", "B\n"), ("skill:s", "---\nname: s\ndescription: S\n---\nS\n")],
    );
    place.write("repo/overlays/machines/box/instructions_b--349bcb0697/AGENTS.md", "B, on this machine\n");
    place.commit();
    let repo = place.repo().display().to_string();
    (place, repo)
}

#[test]
fn a_plan_and_its_preview() {
    let (place, repo) = place();
    let repo = ["--repo", &repo];
    assert_snapshot!(place.golden(&[&["plan"][..], &repo].concat()), @r#"
    command: "plan"
    data:
      profile: "default"
      targets: ["codex","cursor"]
      changes:
        {"target":"codex","op":"create","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","before_sha256":null,"after_sha256":"fe62cb45","reason":"file missing","targets":["codex"],"module_ids":["skill:s"]}
        {"target":"codex","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d9034935","reason":"file missing","targets":["codex"],"module_ids":["instructions:a","instructions:b"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","before_sha256":null,"after_sha256":"80a9b527","reason":"file missing","targets":["cursor"],"module_ids":["instructions:a"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","before_sha256":null,"after_sha256":"0d0d088f","reason":"file missing","targets":["cursor"],"module_ids":["instructions:b"]}
      summary: {"create":4,"update":0,"delete":0}
      budget:
        {"target":"codex","bytes":150,"tokens":37,"files":[{"path":"<ROOT>/AGENTS.md","bytes":148}],"listed":{"skills":1,"commands":0,"subagents":0,"bytes":2},"limit":{"bytes":32768,"used":148,"path":"<ROOT>/AGENTS.md"},"bytes_before":0}
        {"target":"cursor","bytes":325,"tokens":81,"files":[{"path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","bytes":80},{"path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","bytes":97},{"path":"<ROOT>/AGENTS.md","bytes":148}],"listed":{"skills":0,"commands":0,"subagents":0,"bytes":0},"limit":null,"bytes_before":0}
    "#);
    let mut plan = place.of_repo(&["plan"]);
    plan.as_object_mut().expect("an object").shift_remove("budget");
    assert_eq!(without_lines(place.of_repo(&["diff"])), plan);
    assert_snapshot!(place.golden(&[&["preview", "--diff", "--target", "codex"][..], &repo].concat()), @r#"
    command: "preview"
    data:
      profile: "default"
      targets: ["codex"]
      plan:
        changes:
          {"target":"codex","op":"create","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","before_sha256":null,"after_sha256":"fe62cb45","reason":"file missing","targets":["codex"],"module_ids":["skill:s"]}
          {"target":"codex","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d9034935","reason":"file missing","targets":["codex"],"module_ids":["instructions:a","instructions:b"]}
        summary: {"create":2,"update":0,"delete":0}
      diff:
        changes:
          {"target":"codex","op":"create","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","before_sha256":null,"after_sha256":"fe62cb45","reason":"file missing","targets":["codex"],"module_ids":["skill:s"]}
          {"target":"codex","op":"create","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":null,"after_sha256":"d9034935","reason":"file missing","targets":["codex"],"module_ids":["instructions:a","instructions:b"]}
        summary: {"create":2,"update":0,"delete":0}
        files:
          {"target":"codex","root":"<ROOT>/.codex/skills","root_posix":"<ROOT>/.codex/skills","path":"s/SKILL.md","path_posix":"s/SKILL.md","op":"create","before_hash":null,"after_hash":"sha256:fe62cb45","unified":"--- /dev/null\n+++ b/s/SKILL.md\n@@ -0,0 +1,5 @@\n+---\n+name: s\n+description: S\n+---\n+S\n"}
          {"target":"codex","root":"<ROOT>","root_posix":"<ROOT>","path":"AGENTS.md","path_posix":"AGENTS.md","op":"create","before_hash":null,"after_hash":"sha256:d9034935","unified":"--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1,9 @@\n+<!-- agentpack:module=instructions:a -->\n+A\n+<!-- /agentpack -->\n+\n+---\n+\n+<!-- agentpack:module=instructions:b -->\n+B, on this machine\n+<!-- /agentpack -->\n\\ No newline at end of file\n"}
    "#);
    assert_snapshot!(place.golden(&[&["explain", "plan"][..], &repo].concat()), @r#"
    command: "explain.plan"
    data:
      profile: "default"
      targets: ["codex","cursor"]
      changes:
        {"op":"create","target":"codex","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","modules":[{"module_id":"skill:s","module_type":"skill","layer":"upstream","module_path":"SKILL.md"}]}
        {"op":"create","target":"codex","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","modules":[{"module_id":"instructions:a","module_type":"instructions","layer":"upstream","module_path":"AGENTS.md"},{"module_id":"instructions:b","module_type":"instructions","layer":"machine","module_path":"AGENTS.md"}]}
        {"op":"create","target":"cursor","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","modules":[{"module_id":"instructions:a","module_type":"instructions","layer":"upstream","module_path":"AGENTS.md"}]}
        {"op":"create","target":"cursor","path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","modules":[{"module_id":"instructions:b","module_type":"instructions","layer":"machine","module_path":"AGENTS.md"}]}
    "#);
    // `doctor` also works before any database exists.
    if !place.scratch.is_file() {
        return;
    }
    assert_snapshot!(place.golden(&[&["doctor"][..], &repo].concat()), @r#"
    command: "doctor"
    data:
      machine_id: "box"
      roots:
        {"target":"codex","root":"<ROOT>","root_posix":"<ROOT>","exists":true,"writable":true,"scan_extras":false,"issues":[],"suggestion":null}
        {"target":"codex","root":"<ROOT>/.codex/skills","root_posix":"<ROOT>/.codex/skills","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.codex/skills"}
        {"target":"cursor","root":"<ROOT>/.cursor/rules","root_posix":"<ROOT>/.cursor/rules","exists":false,"writable":true,"scan_extras":true,"issues":["missing"],"suggestion":"create directory: mkdir -p <ROOT>/.cursor/rules"}
      gitignore_fixes: []
      next_actions: ["mkdir -p <ROOT>/.codex/skills","mkdir -p <ROOT>/.cursor/rules"]
      checks:
        {"area":"clients","state":"note","what":"no agents are connected","action":"mcpkg client add NAME"}
        {"area":"database","state":"note","what":"<SCRATCH>/test.db does not exist","action":"mcpkg init"}
        {"area":"selection","state":"note","what":"no project is selected, so servers have nothing to list","action":"mcpkg project create NAME"}
    "#);
}

#[test]
fn a_deploy_and_its_snapshots() {
    let (place, repo) = place();
    place.write("root/AGENTS.md", "Somebody's.\n");
    let repo = ["--repo", &repo];
    assert_snapshot!(place.golden(&[&["deploy"][..], &repo].concat()), @r#"
    command: "deploy"
    data:
      confirm_token: "<TOKEN>"
      confirm_plan_hash: "<HASH>"
      confirm_token_expires_at: "<TIME>"
      summary: {"create":3,"update":1,"delete":0}
      applied: false
      profile: "default"
      targets: ["codex","cursor"]
      changes:
        {"target":"codex","op":"create","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","before_sha256":null,"after_sha256":"fe62cb45","reason":"file missing","targets":["codex"],"module_ids":["skill:s"]}
        {"target":"codex","op":"update","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":"9a0c1459","after_sha256":"d9034935","update_kind":"adopt_update","reason":"would overwrite unmanaged existing file","targets":["codex"],"module_ids":["instructions:a","instructions:b"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","before_sha256":null,"after_sha256":"80a9b527","reason":"file missing","targets":["cursor"],"module_ids":["instructions:a"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","before_sha256":null,"after_sha256":"0d0d088f","reason":"file missing","targets":["cursor"],"module_ids":["instructions:b"]}
    "#);
    assert_snapshot!(place.golden(&[&["deploy", "--apply", "--yes", "--adopt"][..], &repo].concat()), @r#"
    command: "deploy"
    data:
      applied: true
      profile: "default"
      targets: ["codex","cursor"]
      changes:
        {"target":"codex","op":"create","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","before_sha256":null,"after_sha256":"fe62cb45","reason":"file missing","targets":["codex"],"module_ids":["skill:s"]}
        {"target":"codex","op":"update","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":"9a0c1459","after_sha256":"d9034935","update_kind":"adopt_update","reason":"would overwrite unmanaged existing file","targets":["codex"],"module_ids":["instructions:a","instructions:b"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","before_sha256":null,"after_sha256":"80a9b527","reason":"file missing","targets":["cursor"],"module_ids":["instructions:a"]}
        {"target":"cursor","op":"create","path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","before_sha256":null,"after_sha256":"0d0d088f","reason":"file missing","targets":["cursor"],"module_ids":["instructions:b"]}
      summary: {"create":3,"update":1,"delete":0}
      snapshot_id: "<ID>"
    "#);
    assert_snapshot!(place.golden(&[&["snapshot", "list"][..], &repo].concat()), @r#"
    command: "snapshot.list"
    data:
      snapshots:
        {"id":"<ID>","created_at":"<TIME>","kind":"deploy","state":"applied","pinned":false,"files":4,"targets":["codex","cursor"],"profile":"default","rolled_back_to":null,"actor":"shell","root":"<ROOT>"}
    "#);
    let id = word(&place.of_repo(&["snapshot", "list"])["snapshots"][0]["id"]).to_owned();
    assert_snapshot!(place.golden(&["snapshot", "show", &id]), @r#"
    command: "snapshot.show"
    data:
      id: "<ID>"
      created_at: "<TIME>"
      kind: "deploy"
      state: "applied"
      pinned: false
      files:
        {"path":"<ROOT>/.codex/skills/s/SKILL.md","op":"create","targets":["codex"],"module_ids":["skill:s"],"before":null,"after":{"sha256":"fe62cb45","mode":"0644"}}
        {"path":"<ROOT>/AGENTS.md","op":"update","targets":["codex"],"module_ids":["instructions:a","instructions:b"],"before":{"sha256":"9a0c1459","mode":"0644"},"after":{"sha256":"d9034935","mode":"0644"}}
        {"path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","op":"create","targets":["cursor"],"module_ids":["instructions:a"],"before":null,"after":{"sha256":"80a9b527","mode":"0644"}}
        {"path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","op":"create","targets":["cursor"],"module_ids":["instructions:b"],"before":null,"after":{"sha256":"0d0d088f","mode":"0644"}}
      targets: ["codex","cursor"]
      profile: "default"
      rolled_back_to: null
      actor: "shell"
      root: "<ROOT>"
    "#);
    place.module("instructions:a", "A, changed\n");
    place.deploy_repo();
    assert_snapshot!(place.golden(&[&["rollback", "--to", &id, "--yes"][..], &repo].concat()), @r#"
    command: "rollback"
    data:
      rolled_back_to: "<ID>"
      event_snapshot_id: "<ID>"
      changes:
        {"target":"cursor","op":"update","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","before_sha256":"6622d4a3","after_sha256":"80a9b527","update_kind":"managed_update","reason":"rolled back","targets":["cursor"],"module_ids":["instructions:a"]}
        {"target":"codex","op":"update","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","before_sha256":"e300314f","after_sha256":"d9034935","update_kind":"managed_update","reason":"rolled back","targets":["codex"],"module_ids":["instructions:a","instructions:b"]}
      summary: {"create":0,"update":2,"delete":0}
    "#);
}

#[test]
fn drift_and_how_commands_report_it() {
    let (place, repo) = place();
    place.deploy_repo();
    place.write("root/AGENTS.md", place.read("root/AGENTS.md").replace("\nA\n", "\nA, edited\n"));
    place.module("skill:s", "---\nname: s\ndescription: S\n---\nS, changed\n");
    place.commit();
    std::fs::remove_file(place.root().join(".cursor/rules/instructions_a--1b59cb31ea.mdc")).expect("a file");
    let repo = ["--repo", &repo];
    assert_snapshot!(place.golden(&[&["status"][..], &repo].concat()), @r#"
    command: "status"
    data:
      profile: "default"
      targets: ["codex","cursor"]
      drift:
        {"target":"codex","root":"<ROOT>/.codex/skills","root_posix":"<ROOT>/.codex/skills","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","expected":"sha256:c7a52eeb","actual":"sha256:fe62cb45","kind":"modified","state":"upstream_pending"}
        {"target":"codex","root":"<ROOT>","root_posix":"<ROOT>","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","expected":"sha256:d9034935","actual":"sha256:5ca6439a","kind":"modified","state":"user_modified"}
        {"target":"cursor","root":"<ROOT>/.cursor/rules","root_posix":"<ROOT>/.cursor/rules","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","expected":"sha256:80a9b527","actual":null,"kind":"missing","state":"missing"}
      summary: {"modified":2,"missing":1,"extra":0}
      summary_by_root:
        {"target":"codex","root":"<ROOT>","root_posix":"<ROOT>","summary":{"modified":1,"missing":0,"extra":0}}
        {"target":"codex","root":"<ROOT>/.codex/skills","root_posix":"<ROOT>/.codex/skills","summary":{"modified":1,"missing":0,"extra":0}}
        {"target":"cursor","root":"<ROOT>/.cursor/rules","root_posix":"<ROOT>/.cursor/rules","summary":{"modified":0,"missing":1,"extra":0}}
      next_actions: ["mcpkg preview --diff --repo <REPO> --json","mcpkg deploy --apply --repo <REPO> --yes --json","mcpkg evolve propose --repo <REPO> --yes --json"]
      next_actions_detailed:
        {"action":"preview_diff","command":"mcpkg preview --diff --repo <REPO> --json"}
        {"action":"deploy_apply","command":"mcpkg deploy --apply --repo <REPO> --yes --json"}
        {"action":"evolve_propose","command":"mcpkg evolve propose --repo <REPO> --yes --json"}
      budget:
        {"target":"codex","bytes":158,"tokens":39,"files":[{"path":"<ROOT>/AGENTS.md","bytes":156}],"listed":{"skills":1,"commands":0,"subagents":0,"bytes":2},"limit":{"bytes":32768,"used":156,"path":"<ROOT>/AGENTS.md"}}
        {"target":"cursor","bytes":253,"tokens":63,"files":[{"path":"<ROOT>/.cursor/rules/instructions_b--349bcb0697.mdc","bytes":97},{"path":"<ROOT>/AGENTS.md","bytes":156}],"listed":{"skills":0,"commands":0,"subagents":0,"bytes":0},"limit":null}
    "#);
    assert_snapshot!(place.golden(&[&["explain", "status"][..], &repo].concat()), @r#"
    command: "explain.status"
    data:
      profile: "default"
      targets: ["codex","cursor"]
      drift:
        {"target":"codex","root":"<ROOT>/.codex/skills","root_posix":"<ROOT>/.codex/skills","path":"<ROOT>/.codex/skills/s/SKILL.md","path_posix":"<ROOT>/.codex/skills/s/SKILL.md","expected":"sha256:c7a52eeb","actual":"sha256:fe62cb45","kind":"modified","state":"upstream_pending","modules":["skill:s"]}
        {"target":"codex","root":"<ROOT>","root_posix":"<ROOT>","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md","expected":"sha256:d9034935","actual":"sha256:5ca6439a","kind":"modified","state":"user_modified","modules":["instructions:a","instructions:b"]}
        {"target":"cursor","root":"<ROOT>/.cursor/rules","root_posix":"<ROOT>/.cursor/rules","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","expected":"sha256:80a9b527","actual":null,"kind":"missing","state":"missing","modules":["instructions:a"]}
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "propose", "--dry-run"][..], &repo].concat()), @r#"
    command: "evolve.propose"
    data:
      created: false
      reason: "dry_run"
      candidates:
        {"module_id":"instructions:a","target":"codex","path":"<ROOT>/AGENTS.md","path_posix":"<ROOT>/AGENTS.md"}
      summary: {"drifted_proposeable":1,"drifted_skipped":1,"skipped_missing":1,"skipped_multi_module":0,"skipped_read_error":0}
      skipped:
        {"target":"cursor","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","reason":"missing","reason_code":"missing","reason_message":"it was deleted on disk","next_actions":["mcpkg evolve restore --repo <REPO> --yes --json","mcpkg deploy --apply --repo <REPO> --yes --json"],"module_ids":["instructions:a"]}
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "propose", "--yes"][..], &repo].concat()), @r#"
    command: "evolve.propose"
    data:
      created: true
      branch: "evolve/propose-global-instructions_a-<TIME>"
      scope: "global"
      files: ["<REPO>/overlays/instructions_a--1b59cb31ea/AGENTS.md"]
      files_posix: ["overlays/instructions_a--1b59cb31ea/AGENTS.md"]
      committed: true
      summary: {"drifted_proposeable":1,"drifted_skipped":1,"skipped_missing":1,"skipped_multi_module":0,"skipped_read_error":0}
      skipped:
        {"target":"cursor","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","reason":"missing","reason_code":"missing","reason_message":"it was deleted on disk","next_actions":["mcpkg evolve restore --repo <REPO> --yes --json","mcpkg deploy --apply --repo <REPO> --yes --json"],"module_ids":["instructions:a"]}
    "#);
    assert_snapshot!(place.golden(&[&["evolve", "restore", "--yes"][..], &repo].concat()), @r#"
    command: "evolve.restore"
    data:
      restored:
        {"target":"cursor","path":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","path_posix":"<ROOT>/.cursor/rules/instructions_a--1b59cb31ea.mdc","module_ids":["instructions:a"]}
      summary: {"missing":1,"restored":1,"skipped_existing":2,"skipped_read_error":0}
      reason: "restored"
      snapshot_id: "<ID>"
    "#);
}
