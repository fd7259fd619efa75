//! Tests imports of hostile trees: they end in time, and reach nothing outside the folder.

use super::*;

#[test]
fn names_in_every_script_and_names_that_only_differ_in_case_come_in_and_go_out() {
    let world = World::new();
    let names =
        ["ünïcödé", "名前", "имя", "اسم", "नाम", "שם", "🦀", "a\u{301}", "a b", "a#b", "100%", "%41", "quote'\""];
    for name in names {
        world.file(&format!("skills/{name}/SKILL.md"), name).file(&format!(".claude/commands/{name}.md"), name);
        world.file(&format!(".claude/agents/{name}.md"), name).file(&format!("docs/{name}.md"), name);
        world.file(&format!(".cursor/rules/{name}.mdc"), name);
    }
    for (first, second) in [("skills/Case/SKILL.md", "skills/case/SKILL.md"), ("docs/A.md", "docs/a.md")] {
        world.file(first, "1").file(second, "2");
    }
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(reply.data["files"], json!({ "total": 69, "imported": 69, "same": 0, "left_out": 0 }));
    let uris: std::collections::BTreeSet<_> = world.uris().into_iter().map(|uri| uri.to_lowercase()).collect();
    let cases = uris.iter().filter(|uri| uri.starts_with("skill://case")).count();
    assert_eq!(cases, 2, "one of the two has a name of its own: {uris:?}");
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let other = World::new();
    other.run::<Import>(&[], &[out]).unwrap();
    assert_eq!(other.items(), world.items());
}

#[test]
fn front_matter_that_grows_or_nests_is_text() {
    let world = World::new();
    let letters = || "bcdefghijkl".chars();
    let above = |letter: char| char::from(letter as u8 - 1);
    let line = |letter: char| format!("{letter}: &{letter} [{}]\n", format!("*{}, ", above(letter)).repeat(9));
    let laughs = format!("a: &a [lol, lol]\n{}", letters().map(line).collect::<String>());
    let bombs = [
        laughs,
        "[".repeat(50_000),
        format!("paths: {}", "{a: ".repeat(20_000)),
        (0..100_000).map(|n| format!("k{n}: v\n")).collect(),
        format!("globs: {}", "{".repeat(100_000)),
        format!("description: {}", "x".repeat(200_000)),
    ];
    for (at, bomb) in bombs.iter().enumerate() {
        let text = format!("---\n{bomb}\n---\nText\n");
        for place in [
            ".claude/rules/N.md",
            ".cursor/rules/N.mdc",
            ".github/instructions/N.instructions.md",
            ".windsurf/rules/wN.md",
            ".claude/commands/N.md",
            ".claude/agents/N.md",
            "skills/sN/SKILL.md",
        ] {
            world.file(&place.replace('N', &at.to_string()), &text);
        }
    }
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(reply.data["files"]["imported"], bombs.len() * 7);
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    for at in 0..bombs.len() {
        let path = format!(".cursor/rules/{at}.mdc");
        assert_eq!(std::fs::read(out.join(&path)).unwrap(), std::fs::read(world.path(&path)).unwrap());
    }
}

#[test]
fn ten_thousand_files_come_in_and_are_all_accounted_for() {
    let world = World::new();
    for at in 0..10_000 {
        let path = match at % 4 {
            0 => format!("skills/s{}/f{at}.md", at / 40),
            1 => format!("plugins/p{}/commands/same.md", at / 4),
            2 => format!(".cursor/rules/r{at}.mdc"),
            _ => format!("docs/d{}/{at}.md", at / 100),
        };
        world.file(&path, format!("---\nglobs: *.{at}\n---\n{at}\n"));
    }
    for at in 0..250 {
        world.file(&format!("skills/s{at}/SKILL.md"), "---\nname: s\ndescription: x\n---\n");
    }
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(reply.data["files"], json!({ "total": 10_250, "imported": 10_250, "same": 0, "left_out": 0 }));
    assert!(world.items().contains_key(&(true, "p2000-same".to_owned())));
}

#[cfg(unix)]
#[test]
fn links_lead_to_nothing_outside_and_never_go_round() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    world.file("a/SKILL.md", "a").file("b/x.md", "b").file("real/one.md", "1").file("shared/SKILL.md", "s");
    std::fs::create_dir_all(world.folder.path().join("outside/skills/o")).unwrap();
    std::fs::write(world.folder.path().join("outside/skills/o/SKILL.md"), "secret").unwrap();
    let link = |target: &str, at: &str| {
        let path = world.path(at);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    };
    link("../b", "a/to-b");
    link("../a", "b/to-a");
    link("..", "b/up");
    link("self", "self");
    link("../../outside/skills", ".claude/skills");
    link("../real", ".claude/commands");
    link("../../shared", ".cursor/skills/shared");
    link("../outside/skills/o/SKILL.md", "o.md");
    let reply = world.import(&[], &[""]).unwrap();
    let left: BTreeMap<&str, &str> = reply.data["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| (left["path"].as_str().unwrap(), left["reason"].as_str().unwrap()))
        .collect();
    let out = "a link that leads out of the folder";
    assert_eq!((left[".claude/skills"], left["o.md"]), (out, out));
    assert_eq!((left["b/up"], left["self"]), ("a link to a folder that contains the link", "a broken link"));
    let same = reply.data["same"].to_string();
    assert!(same.contains(r#"{"path":".cursor/skills/shared","as":"shared"}"#), "{same}");
    assert_eq!(world.prompt("one").1, "1", "what a link makes a command is one, beside the document");
    assert!(world.items().values().all(|(_, bytes)| bytes != b"secret"));
}
