//! Tests texts that are easy to get wrong: a user's edit goes back to the source, and a deploy then changes nothing.

use crate::deploy::answers::word;
use crate::deploy::place::{Place, Tree};
use crate::support::Scratch;

/// Instructions in which a user edits the word `core`.
const TEXTS: [&str; 11] = [
    "core",
    "core\n",
    "\n\ncore\n\n\n",
    "one\r\ncore\r\nthree\r\n",
    "core\r\nno end",
    "\u{feff}core\n",
    "---\ntitle: x\n---\n\ncore\n",
    "a\n\n---\n\ncore\n\n---\n\nb",
    "<!-- mcpkg:begin -->\ncore\n<!-- mcpkg:end -->\n<!-- /agentpack -->\n<!-- agentpack:module=x -->\n",
    "<!-- \\/agentpack -->\n<!-- \\\\mcpkg:end -->\ncore\n",
    "ünïcode ✓ core \u{2028} \u{1f980}\n\ttab",
];

fn edited(place: &Place) -> Tree {
    for (path, what) in place.tree() {
        let is_file = what != "folder" && place.scratch.path().join(&path).is_file();
        let bytes = if is_file { place.read(&path) } else { continue };
        if bytes.contains("core") {
            place.write(&path, bytes.replace("core", "core, edited"));
        }
    }
    place.tree()
}

#[test]
fn edits_of_odd_texts_go_back_to_a_project() {
    for text in TEXTS {
        let place = Place::on(Scratch::with_project_here());
        let file = place.write("text.md", text);
        let content = format!("@{}", file.display());
        place.ok(&["resource", "create", "a", "instructions://a", &content, "--mime-type", "text/markdown"]);
        place.ok(&["resource", "create", "b", "instructions://b", "B", "--mime-type", "text/markdown"]);
        place.ok(&["prompt", "create", "c", &content]);
        place.ok(&["module", "set", "instructions:b", "--targets", "cursor"]);
        place.deploy(&[]);
        assert_eq!(place.planned(&[]), [""; 0], "{text:?}");
        let disk = edited(&place);
        let data = place.data(&["evolve", "propose", "--yes"]);
        for proposal in data["proposals"].as_array().expect("proposals") {
            place.ok(&["evolve", "accept", &proposal["id"].to_string(), "--yes"]);
        }
        assert_eq!(place.planned(&[]), [""; 0], "{text:?}");
        let shown = place.ok(&["resource", "show", "a"]);
        let expected = text.replace("core", "core, edited");
        assert!(shown == expected || shown == format!("{expected}\n"), "{text:?} became {shown:?}");
        place.data(&["deploy", "--apply", "--yes"]);
        assert_eq!(place.tree(), disk, "{text:?}");
        place.data(&["rollback", "--to", "pristine", "--yes"]);
        assert_eq!(place.files(), ["home", "root"][..0], "{text:?}");
    }
}

#[test]
fn edits_of_odd_texts_go_back_to_a_config_repo() {
    for text in TEXTS {
        let place = Place::with_repo(
            &["codex: project", "cursor: project", "vscode: project"],
            &[("instructions:a", text), ("instructions:b", "B"), ("prompt:p", text)],
        );
        place.commit();
        place.deploy_repo();
        let repo = place.repo().display().to_string();
        assert_eq!(place.planned(&["--repo", &repo]), [""; 0], "{text:?}");
        let disk = edited(&place);
        let data = place.of_repo(&["evolve", "propose", "--yes"]);
        place.git(&place.repo(), &["merge", "-q", "--ff-only", word(&data["branch"])]);
        assert_eq!(place.planned(&["--repo", &repo]), [""; 0], "{text:?}\n{data:#}");
        assert_eq!(place.tree(), disk, "{text:?}");
    }
}
