//! Tests with a database from somebody else: its rows name arbitrary files, and a sync changes only files of its
//! folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Scratch, runs_all};

const KEY: &str = "ssh-ed25519 AAAA the user's own\n";

/// Paths that lead out of the folder `team`, or into git's own folder. Each is followed by its real path below the
/// scratch folder.
const PATHS: [(&str, &str); 9] = [
    ("../home/.ssh/authorized_keys", "home/.ssh/authorized_keys"),
    ("notes/../../home/.ssh/authorized_keys", "home/.ssh/authorized_keys"),
    ("../beside.md", "beside.md"),
    ("../team/../beside.md", "beside.md"),
    ("out/authorized_keys", "home/.ssh/authorized_keys"),
    (".git/hooks/post-checkout", "team/.git/hooks/post-checkout"),
    (".GIT/hooks/post-checkout", "team/.GIT/hooks/post-checkout"),
    ("notes/.git/config", "team/notes/.git/config"),
    (".git", "team/.git"),
];

/// Returns a project that is synced with `team`, where a link leads to the user's keys. `exist` says whether the files
/// of [`PATHS`] exist.
fn synced(exist: bool) -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["resource", "create", "a", "file:///notes/a.md", "text\n"]);
    scratch.ok(&["sync", "team"]);
    for folder in ["home/.ssh", "team/.git/hooks", "team/.GIT/hooks", "team/notes/.git"] {
        fs::create_dir_all(scratch.path().join(folder)).expect("a folder");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("../home/.ssh", scratch.path().join("team/out")).expect("a link");
    for (_, at) in PATHS.iter().filter(|(path, _)| exist && *path != ".git") {
        scratch.file(at, KEY);
    }
    scratch
}

/// Returns the content of all files, except the database and mcpkg's own state.
fn files(scratch: &Scratch) -> BTreeMap<String, Vec<u8>> {
    fn walk(top: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let relative = path.strip_prefix(top).expect("below").display().to_string();
            if relative.starts_with("test.db") || relative == "state" || path.is_symlink() {
                continue;
            }
            match path.is_dir() {
                true => walk(top, &path, found),
                false => drop(found.insert(relative, fs::read(&path).expect("a file"))),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(scratch.path(), scratch.path(), &mut found);
    found
}

/// Adds a row as if a sync were changing `path`. With `before`, the sync deletes a file that has this content. Without it,
/// the sync writes a file.
fn being_written(scratch: &Scratch, path: &str, before: Option<&[u8]>) {
    let before = before.map(|bytes| scratch.in_sql(&mcpkg_base::sha256::of(bytes)));
    let blob = if before.is_some() { "NULL" } else { "(SELECT min(id) FROM blob)" };
    let before = before.unwrap_or_else(|| "NULL".to_owned());
    let sql = format!(
        "INSERT INTO sync_write (sync_id, path, before_sha256, blob_id, executable, listed)
         VALUES ((SELECT max(id) FROM sync), '{path}', {before}, {blob}, 1, NULL)"
    );
    assert_eq!(scratch.change(&sql), 1);
}

#[test]
fn rows_of_writes_that_no_sync_of_this_machine_began_are_dropped() {
    let absolute = Scratch::new();
    let absolute = absolute.path().join("elsewhere.md").display().to_string();
    let paths = PATHS.map(|(path, _)| path);
    // Paths inside the folder are refused too, because no sync of this user wrote these rows.
    let all = paths.iter().copied().chain([absolute.as_str(), "notes/a.md", "notes/new.md"]);
    for path in all {
        for delete in [false, true] {
            let scratch = synced(delete);
            let before = files(&scratch);
            let text = if path == "notes/a.md" { "text\n" } else { KEY };
            being_written(&scratch, path, delete.then_some(text.as_bytes()));
            assert_eq!(scratch.run(&["sync", "--check"]).status, 3, "{path}");
            let ran = scratch.run(&["sync"]);
            assert_eq!(ran.status, 0, "{path}: {ran}");
            assert!(
                ran.stderr.contains("an unfinished sync of 1 file, but no sync was running on this machine"),
                "{path}: {ran}"
            );
            assert!(files(&scratch) == before, "{path}, delete {delete}: {:?}", files(&scratch).keys());
            assert!(!Path::new(&absolute).exists());
            assert_eq!(scratch.column("SELECT path FROM sync_write"), Vec::<String>::new());
            assert_eq!(scratch.run(&["sync"]).stderr, "", "{path}");
        }
    }
}

#[test]
fn an_item_is_not_written_where_only_its_row_says() {
    for (path, _) in PATHS {
        let scratch = synced(false);
        let before = files(&scratch);
        // The item's row names another path, as if a person had decided that the item belongs there.
        let rows = [
            format!("UPDATE sync_item SET path = '{path}', entry = NULL, blob_id = NULL WHERE path = 'notes/a.md'"),
            "UPDATE sync SET project_state = NULL".to_owned(),
        ];
        assert!(rows.iter().all(|sql| scratch.change(sql) == 1));
        scratch.run(&["sync"]);
        scratch.ok(&["resource", "update", "a", "--content", "changed\n"]);
        scratch.run(&["sync"]);
        let after = files(&scratch);
        let is_own = |path: &String| path == "team/notes/a.md";
        let others =
            |files: &BTreeMap<String, Vec<u8>>| files.keys().filter(|path| !is_own(path)).cloned().collect::<Vec<_>>();
        assert_eq!(others(&after), others(&before), "{path}");
    }
}

/// Makes a project store a path. Returns whether it accepts the path.
type Plant = fn(&Scratch, &str) -> bool;

fn inserts(scratch: &Scratch, sql: &str) -> bool {
    scratch.change(sql) == 1
}

/// Everything that decides where a file is written: URIs, origins of items, kept files, links, and the targets of
/// links.
const PLANTS: [(&str, Plant); 6] = [
    ("URI of a document", |scratch, path| {
        scratch.run(&["resource", "create", "x", &format!("file:///{path}"), KEY]).status == 0
    }),
    ("URI of a skill's file", |scratch, path| {
        scratch.ok(&[
            "resource",
            "create",
            "SKILL.md",
            "skill://s/SKILL.md",
            "---\nname: s\ndescription: d\n---\ntext\n",
        ]);
        scratch.run(&["resource", "create", "x", &format!("skill://s/{path}"), KEY]).status == 0
    }),
    ("place of a prompt", |scratch, path| {
        scratch.file("home/repo/.claude/commands/x.md", KEY);
        scratch.ok(&["import", "home/repo"]);
        inserts(scratch, &format!("UPDATE module SET path = '{path}' WHERE path = '.claude/commands/x.md'"))
    }),
    ("kept file", |scratch, path| {
        inserts(
            scratch,
            &format!(
                "INSERT INTO agent_file (project_id, path, kind, agent, executable, blob_id, revision, created_at, updated_at)
                 SELECT project_id, '{path}', 'hook', 'claude-code', 1, blob_id, 1, 1, 1 FROM resource WHERE name = 'a'"
            ),
        )
    }),
    ("link", |scratch, path| {
        let sql = "INSERT INTO link (project_id, path, target) SELECT project_id, ";
        inserts(scratch, &format!("{sql} '{path}', 'notes/a.md' FROM resource WHERE name = 'a'"))
    }),
    ("end of a link", |scratch, path| {
        let sql = "INSERT INTO link (project_id, path, target) SELECT project_id, ";
        inserts(scratch, &format!("{sql} 'end', '{path}' FROM resource WHERE name = 'a'"))
    }),
];

#[test]
fn no_name_or_row_of_a_project_leads_out_of_a_folder_or_into_git() {
    let mut exported = 0;
    // By default, each kind of name or row gets every second path.
    let stride = if runs_all() { 1 } else { 2 };
    for (at, (what, plant)) in PLANTS.into_iter().enumerate() {
        for (path, _) in PATHS.iter().skip(at % stride).step_by(stride) {
            let scratch = synced(false);
            fs::create_dir_all(scratch.path().join("root/.git/hooks")).expect("folders");
            if !plant(&scratch, path) {
                // mcpkg already refuses to store this path.
                continue;
            }
            let before = files(&scratch);
            for arguments in [
                &["sync"][..],
                &["export", "new"],
                &["skill", "show", "s", "-o", "skill"],
                &["deploy", "--apply", "--yes", "--root", "root"],
            ] {
                let ran = scratch.run(arguments);
                assert!(ran.status != 70, "{what} {path}, {arguments:?}: {ran}");
                exported += usize::from(arguments[0] == "export" && ran.status == 0);
                let ours = ["team/", "new/", "skill/", "root/"];
                let is_ours =
                    |path: &str| ours.iter().any(|top| path.starts_with(top)) && !path.to_lowercase().contains("/.git");
                let strange = files(&scratch).into_keys().filter(|path| !is_ours(path) && !before.contains_key(path));
                assert_eq!(strange.collect::<Vec<_>>(), Vec::<String>::new(), "{what} {path}, {arguments:?}: {ran}");
                for top in ["team", "new"].map(|top| scratch.path().join(top)) {
                    let end = fs::canonicalize(top.join("end"));
                    assert!(
                        end.map_or(true, |end| end.starts_with(top.canonicalize().expect("a path"))),
                        "{path} leads out"
                    );
                }
            }
        }
    }
    assert!(exported * stride > PATHS.len(), "{exported} exports did something");
}
