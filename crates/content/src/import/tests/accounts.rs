//! Property tests: an import accounts for every file, and an export writes the imported files back unchanged.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Generates parts of paths. Most of them have a meaning to some agent.
fn part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ".claude",
        ".cursor",
        ".github",
        ".agents",
        ".opencode",
        ".claude-plugin",
        "commands",
        "command",
        "skills",
        "agents",
        "rules",
        "prompts",
        "instructions",
        "hooks",
        "plugins",
        "x",
        "y",
        "a b",
        "ünï",
        "名",
        ".hid",
        "node_modules",
        ".git",
        "scripts",
    ])
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "SKILL.md",
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".cursorrules",
        "a.md",
        "b.md",
        "README.md",
        "r.mdc",
        "p.prompt.md",
        "i.instructions.md",
        "g.agent.md",
        ".mcp.json",
        "plugin.json",
        "run.sh",
        ".gitignore",
        ".env",
        "x.png",
        "c.toml",
        "é ü.md",
    ])
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"".to_vec()),
        Just(b"Text\n".to_vec()),
        Just(b"Do $1 and {{ x }}\n".to_vec()),
        Just(b"---\nname: a\ndescription: b\n---\nText\n".to_vec()),
        Just(b"---\ndescription: \"b\"\n---\nCosts \\$1 for {{ x }}\n".to_vec()),
        Just(b"---\narguments:\n  - name: \"x\"\n    required: true\n---\nDo {{ x }}\n".to_vec()),
        Just(b"description = \"b\"\nprompt = \"Do {{args}}\"\n".to_vec()),
        Just(b"\xef\xbb\xbf---\r\nglobs: *.py\r\npaths: 'a/**'\r\napplyTo: '**'\r\n---\r\nText\r\n".to_vec()),
        Just(b"---\nx: [\n---\nText".to_vec()),
        Just(b"*.log\nx/\n".to_vec()),
        Just(b"\x89PNG\xff\x00".to_vec()),
        "[ -~\n]{0,20}".prop_map(String::into_bytes),
    ]
}

/// A generated tree. Each file has a path, content and an executable bit, and each link has a path and a target.
#[derive(Debug)]
struct Tree {
    files: Vec<(Vec<&'static str>, &'static str, Vec<u8>, bool)>,
    links: Vec<(Vec<&'static str>, &'static str, usize, bool)>,
}

fn tree() -> impl Strategy<Value = Tree> {
    let folders = || prop::collection::vec(part(), 0..4);
    let files = prop::collection::vec((folders(), name(), content(), any::<bool>()), 1..25);
    let links = prop::collection::vec((folders(), name(), any::<prop::sample::Index>(), any::<bool>()), 0..3);
    (files, links).prop_map(|(files, links)| {
        let count = files.len();
        let links = links.into_iter().map(|(above, name, at, dir)| (above, name, at.index(count), dir)).collect();
        Tree { files, links }
    })
}

/// Creates the tree, without the entries whose path is blocked by another entry. Returns the number of files and links.
fn make(world: &World, tree: &Tree) -> u64 {
    let path = |above: &[&str], name: &str| world.path("").join(above.join("/")).join(name);
    for (above, name, content, executable) in &tree.files {
        let path = path(above, name);
        if std::fs::create_dir_all(path.parent().unwrap()).is_err() || path.exists() {
            continue;
        }
        std::fs::write(&path, content).unwrap();
        if *executable {
            set_executable(&path);
        }
    }
    for (above, name, at, to_folder) in &tree.links {
        let (folders, file, ..) = &tree.files[*at];
        let mut parts = [vec![".."; above.len()], folders.clone()].concat();
        parts.extend((!to_folder).then_some(file));
        let target = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        let link = path(above, name);
        if std::fs::create_dir_all(link.parent().unwrap()).is_ok() && link.symlink_metadata().is_err() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(target, link).unwrap();
        }
    }
    count(&world.path(""))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o100 != 0)
}

fn count(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| if entry.file_type().unwrap().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

fn paths(reply: &Reply, key: &str) -> Vec<String> {
    let list = reply.data[key].as_array().unwrap().iter();
    list.map(|item| item["path"].as_str().unwrap().to_owned()).collect()
}

proptest! {
    #![proptest_config(crate::seed::config(96))]

    #[test]
    fn an_import_accounts_for_every_file(tree in tree()) {
        let world = World::new();
        let count = make(&world, &tree);
        let reply = world.import(&[], &[""]).unwrap();
        let files = &reply.data["files"];
        // Files that are reached only through a link to a folder are counted too.
        let folder_link = tree.links.iter().any(|(.., to_folder)| *to_folder);
        let total = files["total"].as_u64().unwrap();
        prop_assert!(if folder_link { total >= count } else { total == count }, "{} of {}: {}", total, count, reply.data);
        let told: Vec<String> = ["created", "same", "left_out"].iter().flat_map(|key| paths(&reply, key)).collect();
        let once: BTreeSet<&String> = told.iter().collect();
        prop_assert_eq!(once.len(), told.len(), "a file is told twice: {}", reply.data);

        // Each imported file must come back at its path with its bytes and mode, and each link as a link.
        let out = world.folder.path().join("out");
        world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
        // If the root as a whole is one skill, the paths in the reply begin with the skill's name.
        let is_one_skill =
            world.path("SKILL.md").is_file() && paths(&reply, "created").iter().all(|path| path.starts_with("p/"));
        let from = |path: &str| world.path(if is_one_skill { &path[2..] } else { path });
        // Check duplicates only in simple trees. An exported folder cannot be a skill itself, so links to the skill's files
        // may mean something else there. And not all files behind a link to a folder are exported.
        let is_plain = !folder_link && !world.path("SKILL.md").exists();
        let keys = if is_plain { &["created", "same"][..] } else { &["created"] };
        for path in keys.iter().flat_map(|key| paths(&reply, key)) {
            let (file, copy) = (from(&path), out.join(&path));
            if file.is_symlink() {
                // The target need not be in the export: it may be a folder without imported files, or a file behind another
                // link.
                let end = file.canonicalize().unwrap();
                let is_there = out.join(end.strip_prefix(world.path("").canonicalize().unwrap()).unwrap()).exists();
                let leads_to = |link: &Path| std::fs::read_link(link).ok();
                prop_assert!(!is_there || leads_to(&copy) == leads_to(&file) || copy.is_file(), "the link {}", path);
            } else {
                prop_assert_eq!(std::fs::read(&copy).unwrap_or_default(), std::fs::read(&file).unwrap(), "{}", path);
                prop_assert_eq!(is_executable(&copy), is_executable(&file), "{}", path);
            }
        }
        let again = world.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
        prop_assert_eq!(paths(&again, "unchanged").len(), paths(&reply, "created").len(), "{}", again.data);
        let other = World::new();
        other.run::<Import>(&[], &[out]).unwrap();
        prop_assert_eq!(other.items(), world.items());
    }
}

#[test]
fn a_malformed_line_of_an_ignore_file_is_passed_over() {
    let world = World::new();
    world
        .file(".gitignore", "*.log\n[z-a]\nbuild/\n")
        .file("docs/.gitignore", "x[z-a\n*.tmp\n")
        .file("docs/a.md", "a")
        .file("docs/b.log", "b")
        .file("docs/c.tmp", "c")
        .file("docs/build/d.md", "d");
    let above = "has an invalid pattern, which was ignored: `[z-a]`: invalid range; 'z' > 'a'";
    for (named, paths) in [("docs", ["/.gitignore", ".gitignore"]), ("", [".gitignore", "docs/.gitignore"])] {
        let world_of = World::new();
        let reply = world_of.run::<Import>(&["--documents"], &[world.path(named)]).unwrap();
        assert_eq!(world_of.uris(), [if named.is_empty() { "file:///docs/a.md" } else { "file:///a.md" }]);
        let notes = reply.data["notes"].as_array().unwrap();
        assert_eq!(notes.len(), 2, "{notes:?}");
        for (note, (path, line, text)) in
            notes.iter().zip([(paths[0], 2, above), (paths[1], 1, "has an invalid pattern")])
        {
            assert!(note["path"].as_str().unwrap().ends_with(path), "{note}");
            assert!(note["line"] == line && note["note"].as_str().unwrap().starts_with(text), "{note}");
        }
        assert!(
            reply.hints.iter().any(|hint| hint.contains(".gitignore:2` has an invalid pattern")),
            "{:?}",
            reply.hints
        );
    }
}
