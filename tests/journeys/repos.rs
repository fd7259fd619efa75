//! Tests deploys of config repos that are changed by overlays.

use mcpkg_deploy::module::fs_key;
use serde_json::Value;

use crate::support::Ground;

const MANIFEST: &str = "version: 1
profiles:
  default: {include_tags: [base]}
targets:
  codex: {mode: files, scope: project}
  cursor: {mode: files, scope: project}
modules:
  - {id: 'instructions:style', type: instructions, tags: [base], source: {local_path: {path: modules/style}}}
  - {id: 'skill:pdf', type: skill, tags: [base], source: {local_path: {path: modules/pdf}}}
";

const SKILL: &str = "---\nname: pdf\ndescription: Reads PDFs\n---\n";

fn repo() -> Ground {
    let ground = Ground::new();
    ground.in_repo("agentpack.yaml", MANIFEST);
    ground.in_repo("modules/style/AGENTS.md", "one\ntwo\nthree\n");
    ground.in_repo("modules/pdf/SKILL.md", SKILL);
    ground.in_repo("modules/pdf/notes.md", "upstream\n");
    ground
}

fn deploy(ground: &Ground) -> Value {
    ground.data(&["deploy", "--repo", "../../repo", "--apply", "--yes"])
}

fn overlay(id: &str, file: &str) -> String {
    format!("overlays/{}/{file}", fs_key(id))
}

#[test]
fn j4_an_overlay_replaces_files_and_the_other_files_follow_the_upstream() {
    let ground = repo();
    let first = ground.tree();
    deploy(&ground);
    let notes = ".codex/skills/pdf/notes.md";
    assert_eq!(ground.read(notes), "upstream\n");
    ground.in_repo(&overlay("skill:pdf", "notes.md"), "ours\n");
    ground.in_repo(&overlay("skill:pdf", "more/extra.md"), "added\n");
    assert_eq!(deploy(&ground)["applied"], true);
    assert_eq!(
        (ground.read(notes), ground.read(".codex/skills/pdf/more/extra.md")),
        ("ours\n".into(), "added\n".into())
    );
    // Files that the overlay does not contain follow the upstream. Files that it contains stay.
    ground.in_repo("modules/pdf/SKILL.md", format!("{SKILL}Newer\n"));
    ground.in_repo("modules/pdf/notes.md", "upstream, newer\n");
    assert_eq!(deploy(&ground)["applied"], true);
    assert_eq!(ground.read(".codex/skills/pdf/SKILL.md"), format!("{SKILL}Newer\n"));
    assert_eq!(ground.read(notes), "ours\n");
    // A merge with conflict markers is never deployed.
    let before = ground.tree();
    ground.in_repo(&overlay("skill:pdf", "notes.md"), "<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n");
    let error = ground.refused(&["deploy", "--repo", "../../repo", "--apply", "--yes"]);
    assert!(error["message"].as_str().is_some_and(|it| it.contains("conflict markers")), "{error:#}");
    ground.tree().assert_is(&before, "refused");
    ground.in_repo(&overlay("skill:pdf", "notes.md"), "merged\n");
    deploy(&ground);
    assert_eq!(ground.read(notes), "merged\n");
    std::fs::remove_dir_all(ground.repo().join("overlays")).expect("the overlays go");
    deploy(&ground);
    assert_eq!(ground.read(notes), "upstream, newer\n");
    assert!(!ground.root().join(".codex/skills/pdf/more").exists(), "the folder goes with its file");
    ground.data(&["rollback", "--repo", "../../repo", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}

#[test]
fn j5_a_patch_changes_lines_and_is_refused_if_it_no_longer_applies() {
    let ground = repo();
    let first = ground.tree();
    ground.in_repo(&overlay("instructions:style", ".agentpack/overlay.json"), "{\"overlay_kind\":\"patch\"}");
    let text = |first: &str, changed: &str| format!("{first}a\nb\nc\n{changed}\nd\ne\nf\nlast\n");
    ground.in_repo("modules/style/AGENTS.md", text("first\n", "two"));
    let patch = "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -2,7 +2,7 @@\n a\n b\n c\n-two\n+TWO\n d\n e\n f\n";
    let place = overlay("instructions:style", ".agentpack/patches/AGENTS.md.patch");
    ground.in_repo(&place, patch);
    deploy(&ground);
    assert_eq!(ground.read("AGENTS.md"), text("first\n", "TWO"));
    let explained = ground.data(&["explain", "plan", "--repo", "../../repo"]);
    assert_eq!(explained["changes"].as_array().map(Vec::len), Some(0));
    // The lines around the patched ones may move.
    ground.in_repo("modules/style/AGENTS.md", text("new\nlines\nfirst\n", "two"));
    deploy(&ground);
    assert_eq!(ground.read("AGENTS.md"), text("new\nlines\nfirst\n", "TWO"));
    let rule = format!(".cursor/rules/{}.mdc", fs_key("instructions:style"));
    assert!(ground.read(&rule).ends_with(&text("new\nlines\nfirst\n", "TWO")));
    // If the patched lines themselves changed, nothing is deployed and nothing is lost.
    let before = ground.tree();
    ground.in_repo("modules/style/AGENTS.md", "eins\nzwei\ndrei\n");
    for command in [&["plan", "--repo", "../../repo"][..], &["deploy", "--repo", "../../repo", "--apply", "--yes"]] {
        let error = ground.refused(command);
        assert_eq!(error["code"], "E_OVERLAY_PATCH_APPLY_FAILED", "{error:#}");
    }
    ground.tree().assert_is(&before, "refused");
    ground.in_repo(&place, "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1,3 +1,3 @@\n eins\n-zwei\n+ZWEI\n drei\n");
    deploy(&ground);
    assert_eq!(ground.read("AGENTS.md"), "eins\nZWEI\ndrei\n");
    ground.data(&["rollback", "--repo", "../../repo", "--to", "pristine", "--yes"]);
    ground.tree().assert_is(&first, "pristine");
}
