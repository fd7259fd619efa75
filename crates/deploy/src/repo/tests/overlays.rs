//! Tests how overlays change modules, and which overlays are refused.

use super::*;
use crate::module::fs_key;

fn repo() -> Scratch {
    let scratch = Scratch::with(&[("skill:a", "local_path: {path: s}")]);
    scratch.write("s/SKILL.md", SKILL);
    scratch.write("s/n.txt", "one\ntwo\nthree\nfour\n");
    scratch
}

fn key() -> String {
    fs_key("skill:a")
}

#[test]
fn higher_layers_win_and_are_named() {
    let scratch = repo();
    let (global, machine, project) = (
        format!("overlays/{}", key()),
        format!("overlays/machines/m1/{}", key()),
        format!("projects/p1/overlays/{}", key()),
    );
    scratch.write(&format!("{global}/n.txt"), "global");
    scratch.write(&format!("{global}/g.txt"), "g");
    scratch.write(&format!("{global}/SKILL.md"), SKILL);
    scratch.write(&format!("{global}/.agentpack/module_id"), "skill:a");
    scratch.write(&format!("{machine}/n.txt"), "machine");
    scratch.write(&format!("{project}/n.txt"), "project");
    scratch.write(&format!("overlays/machines/m2/{}/n.txt", key()), "other");
    let composed = scratch.compose().unwrap();
    assert_eq!(
        files(&composed, "skill:a"),
        [("SKILL.md", SKILL, Layer::Upstream), ("g.txt", "g", Layer::Global), ("n.txt", "project", Layer::Project)]
    );
    let choice = Choice { project: "p2", ..CHOICE };
    let composed = super::composed(&scratch.open(), &choice).unwrap();
    assert_eq!(files(&composed, "skill:a")[2], ("n.txt", "machine", Layer::Machine));
}

#[test]
fn old_folder_names_are_used_if_there_is_no_new_one() {
    let scratch = repo();
    scratch.write("overlays/skill:a/n.txt", "old");
    assert_eq!(files(&scratch.compose().unwrap(), "skill:a")[1], ("n.txt", "old", Layer::Global));
    scratch.write(&format!("overlays/{}/n.txt", key()), "new");
    assert_eq!(files(&scratch.compose().unwrap(), "skill:a")[1], ("n.txt", "new", Layer::Global));
}

#[test]
fn patches_change_lines_and_set_the_files_layer() {
    let scratch = repo();
    let meta = format!("overlays/{}/.agentpack", key());
    scratch.write(&format!("{meta}/overlay.json"), r#"{"overlay_kind":"patch"}"#);
    let patch = "--- a/n.txt\n+++ b/n.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    scratch.write(&format!("{meta}/patches/n.txt.patch"), patch);
    assert_eq!(files(&scratch.compose().unwrap(), "skill:a")[1], ("n.txt", "one\n2\nthree\nfour\n", Layer::Global));

    scratch.write("s/n.txt", "eins\nzwei\n");
    let error = scratch.compose().unwrap_err();
    assert_eq!(error.code(), Code::OverlayPatchFailed);
    says(&error, "n.txt.patch` does not apply to `n.txt`: hunk 1, for line 1, does not match");
    let details = error.details().unwrap();
    assert_eq!(
        (&details["module_id"], &details["scope"], &details["relpath"]),
        (&"skill:a".into(), &"global".into(), &"n.txt".into())
    );
    for key in ["overlay_dir", "patch_file", "stderr", "reason"] {
        assert!(details[key].is_string(), "{key}");
    }

    scratch.write(&format!("{meta}/patches/gone.txt.patch"), &patch.replace("n.txt", "gone.txt"));
    says(&scratch.compose().unwrap_err(), "changes `gone.txt`, which does not exist");
}

#[test]
fn an_overlay_has_one_kind() {
    let scratch = repo();
    let meta = format!("overlays/{}/.agentpack", key());
    scratch.write(&format!("{meta}/patches/n.txt.patch"), "");
    says(&scratch.compose().unwrap_err(), "contains patches, but its kind in overlay.json is dir");
    scratch.write(&format!("{meta}/overlay.json"), r#"{"overlay_kind":"patch"}"#);
    scratch.write(&format!("overlays/{}/n.txt", key()), "x");
    says(&scratch.compose().unwrap_err(), "contains files, but its kind in overlay.json is patch");
    for bad in ["{", r#"{"overlay_kind":"link"}"#] {
        scratch.write(&format!("{meta}/overlay.json"), bad);
        let error = scratch.compose().unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid);
        says(&error, "overlay.json` is malformed");
    }
}

#[test]
fn d37_conflict_markers_are_refused() {
    let scratch = repo();
    let text = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n";
    let overlay = scratch.write(&format!("overlays/{}/n.txt", key()), text);
    let error = scratch.compose().unwrap_err();
    assert_eq!(error.code(), Code::ConfigInvalid);
    says(&error, "n.txt` contains conflict markers");
    // A module may be about merging, so its own text may contain conflict markers.
    scratch.write("s/n.txt", text);
    std::fs::write(overlay, format!("{text}more\n")).unwrap();
    scratch.compose().unwrap();

    let scratch = repo();
    let meta = format!("overlays/{}/.agentpack", key());
    scratch.write(&format!("{meta}/overlay.json"), r#"{"overlay_kind":"patch"}"#);
    let added: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let patch = format!("--- a/n.txt\n+++ b/n.txt\n@@ -2,2 +2,7 @@\n two\n{added} three\n");
    scratch.write(&format!("{meta}/patches/n.txt.patch"), &patch);
    says(&scratch.compose().unwrap_err(), "n.txt.patch` contains conflict markers");
}

#[test]
fn an_overlay_warns_if_its_module_has_changed() {
    let scratch = repo();
    let overlay = format!("overlays/{}", key());
    scratch.write(&format!("{overlay}/n.txt"), "mine");
    let upstream = scratch.files("s");
    let baseline = baseline::Baseline::of(&tree::Hashes::of(&upstream), serde_json::Value::Null, String::new());
    scratch.write(&format!("{overlay}/.agentpack/baseline.json"), &serde_json::to_string(&baseline).unwrap());
    let warnings = || scratch.compose().unwrap().warnings;
    assert!(warnings().is_empty());
    scratch.write("s/new.txt", "");
    assert!(warnings()[0].contains("the module changed since"), "{:?}", warnings());
    scratch.write("s/n.txt", "changed");
    assert!(warnings()[0].contains("`n.txt` changed in the module"), "{:?}", warnings());
    std::fs::remove_file(scratch.path().join("s/n.txt")).unwrap();
    assert!(warnings()[0].contains("`n.txt` was removed from the module"), "{:?}", warnings());
    scratch.write(&format!("{overlay}/.agentpack/baseline.json"), "{");
    assert!(warnings()[0].contains("cannot be read"), "{:?}", warnings());
}

#[test]
fn d36_an_unknown_key_of_an_overlay_is_a_warning() {
    let scratch = repo();
    scratch.write(&format!("overlays/{}/n.txt", key()), "global");
    scratch.write(&format!("overlays/{}/.agentpack/overlay.json", key()), r#"{"overlay_kid":"patch","by":{"x":[1]}}"#);
    let warnings = scratch.compose().unwrap().warnings;
    assert!(
        warnings[0].ends_with("overlay.json`: unknown key `overlay_kid` is ignored; did you mean `overlay_kind`?"),
        "{warnings:?}"
    );
    assert!(warnings[1].ends_with("unknown key `by` is ignored; the known keys are overlay_kind"), "{warnings:?}");
}
