//! Tests with databases from strangers: their rows name arbitrary files, and mcpkg changes none of them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use mcpkg_store::deploys::{self, Deployed, Image, PlaceKey};
use mcpkg_store::projects;
use mcpkg_store::snapshots::{self, File, Keep, Kind, NewSnapshot, State};
use mcpkg_store::{Db, blobs};
use serde_json::json;

use super::{Big, deployed};
use crate::support::{Ground, skipped};

const KEY: &str = "ssh-ed25519 AAAA the user's own\n";
const EVIL: &str = "ssh-ed25519 AAAA somebody else's\n";

/// Returns a ground and the path of a file that no deploy wrote.
fn home() -> (Ground, PathBuf) {
    let ground = Ground::new();
    ground.ok(&["prompt", "create", "review", "Review"]);
    let keys = ground.scratch.file("ground/home/.ssh/authorized_keys", KEY);
    (ground, keys)
}

fn image(db: &Db<'_>, text: &str) -> Image {
    let sha256 = mcpkg_base::sha256::of(text.as_bytes());
    let blob = blobs::put_known(db, &sha256, text.as_bytes()).expect("a blob");
    Image::File { blob, sha256, mode: 0o644 }
}

fn place(ground: &Ground, db: &Db<'_>, root: &Path) -> i64 {
    let project = projects::require(db, &projects::Selection::default()).expect("the project");
    let source = deploys::project_source(project.uuid);
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_lowercase();
    let root = root.canonicalize().unwrap_or_else(|_| ground.root()).display().to_string();
    deploys::make_place(db, &PlaceKey { source, origin: String::new(), machine, root }).expect("a place")
}

fn file(path: &Path, before: Image, after: Image) -> File {
    File {
        snapshot: 0,
        path: path.display().to_string(),
        root: path.parent().expect("a folder").display().to_string(),
        op: "update".to_owned(),
        targets: vec!["codex".to_owned()],
        module_ids: vec!["x".to_owned()],
        block: false,
        keep: Keep::Written,
        before,
        after,
        attributes: None,
    }
}

/// Writes a journal into the database, but no record on this machine. This is what another machine's killed deploy
/// leaves.
fn journal(ground: &Ground, state: State, files: impl FnOnce(&Db<'_>) -> Vec<File>, folders: &[String]) {
    let context = ground.scratch.context();
    let written = context.store.write(|db| {
        let targets = ["codex".to_owned()];
        let new = NewSnapshot {
            uuid: context.clock.uuid(),
            place: place(ground, db, &ground.root()),
            kind: Kind::Deploy,
            targets: &targets,
            profile: "default",
            plan_hash: "0",
            rolled_back_to: None,
            actor: "shell",
            now: context.clock.now(),
        };
        let id = snapshots::begin(db, &new, &files(db), folders)?;
        snapshots::finish(db, id, state, None)
    });
    written.expect("a journal");
}

/// Commands of several kinds.
const COMMANDS: [&[&str]; 12] = [
    &["prompt", "list"],
    &["check"],
    &["check", "--deep"],
    &["doctor"],
    &["plan"],
    &["status"],
    &["snapshot", "list", "--all"],
    &["search", "review"],
    &["backup", "copy.db"],
    &["deploy", "--apply", "--yes"],
    &["rollback", "--to", "pristine", "--yes"],
    &["events"],
];

#[test]
fn a_journal_of_another_machine_is_shown_and_never_acted_upon() {
    for state in [State::Applying, State::Applied] {
        let (ground, keys) = home();
        let beside = ground.scratch.file("ground/home/.ssh/config", "Host *\n");
        let empty = ground.home().join("empty");
        std::fs::create_dir(&empty).expect("a folder");
        let files = |db: &Db<'_>| {
            let key = image(db, KEY);
            vec![file(&keys, image(db, EVIL), key.clone()), file(&beside, Image::Absent, image(db, "Host *\n"))]
        };
        journal(&ground, state, files, &[empty.display().to_string()]);
        // Create the file that an applied deploy leaves next to the user's file.
        let shown = ground.data(&["snapshot", "list", "--all"]);
        let id = shown["snapshots"][0]["id"].as_str().expect("an id").to_owned();
        assert_eq!(shown["snapshots"][0]["begun_here"], false, "{shown:#}");
        let old = keys.with_file_name(format!(".mcpkg-{}-0.old", &id.replace('-', "")[16..]));
        std::fs::write(&old, KEY).expect("a file");
        for command in COMMANDS {
            let ran = ground.run(command);
            assert_ne!(ran.status, 70, "{command:?}: {ran}");
            assert_eq!(std::fs::read_to_string(&keys).expect("the file"), KEY, "{command:?}");
            assert!(beside.exists() && empty.exists() && old.exists(), "{command:?} deleted something");
        }
        let list = ground.ok(&["snapshot", "list", "--all"]);
        assert!(list.contains(&format!("{}, started by another user or machine", state.word())), "{list}");
        let doctor = ground.ok(&["doctor"]);
        assert!(doctor.contains(&id) && doctor.contains("another user or machine started it"), "{doctor}");
    }
}

#[test]
fn a_backup_of_the_middle_of_a_deploy_undoes_nothing_where_it_is_restored() {
    let big = Big::new();
    let Some(ran) = big.run_traced("linkat:signal=SIGKILL:when=150", &Big::deploy()) else {
        return skipped("there is no strace");
    };
    assert_ne!(ran.status, 0, "{ran}");
    let middle = big.ground.tree();
    // Move the records away, as if the database were on another machine or used by another user.
    let state = big.ground.scratch.state();
    let elsewhere = state.with_file_name("elsewhere");
    std::fs::rename(&state, &elsewhere).expect("a rename");
    big.ground.ok(&["prompt", "list"]);
    big.ground.tree().assert_is(&middle, "without the record");
    std::fs::remove_dir_all(&state).unwrap_or_default();
    std::fs::rename(&elsewhere, &state).expect("a rename");
    big.ground.ok(&["prompt", "list"]);
    assert!(!big.settled("with the record"));
    deployed(&big.ground);
    assert_eq!(std::fs::read_dir(state.join("mcpkg/approved/journals")).expect("a folder").count(), 0);
}

#[test]
fn a_journal_that_was_changed_since_is_not_acted_upon() {
    let big = Big::new();
    let Some(ran) = big.run_traced("linkat:signal=SIGKILL:when=150", &Big::deploy()) else {
        return skipped("there is no strace");
    };
    assert_ne!(ran.status, 0, "{ran}");
    let middle = big.ground.tree();
    let victim = big.ground.home().join("victim");
    let connection = rusqlite::Connection::open(big.ground.scratch.db()).expect("the database");
    let sql = "UPDATE snapshot_file SET path = ?1 WHERE rowid = (SELECT max(rowid) FROM snapshot_file)";
    assert_eq!(connection.execute(sql, [victim.display().to_string()]).expect("a row"), 1);
    drop(connection);
    big.ground.ok(&["prompt", "list"]);
    big.ground.tree().assert_is(&middle, "with another row");
    let doctor = big.ground.ok(&["doctor"]);
    assert!(doctor.contains("another user or machine started it"), "{doctor}");
}

/// Records in the database that the user's file was deployed, with its own folder as the root.
fn claim(ground: &Ground, keys: &Path) {
    claim_below(ground, keys.parent().expect("a folder"), keys, image);
}

/// Records in the database that the user's file was deployed below a root. `pristine` returns the content from before
/// the deploy.
fn claim_below(ground: &Ground, root: &Path, keys: &Path, pristine: impl FnOnce(&Db<'_>, &str) -> Image) {
    let context = ground.scratch.context();
    let written = context.store.write(|db| {
        let place = place(ground, db, &ground.root());
        let machine = deploys::place_key(db, place)?.machine;
        let row = Deployed {
            path: keys.display().to_string(),
            place,
            root: root.display().to_string(),
            targets: vec!["codex".to_owned()],
            module_ids: vec!["x".to_owned()],
            block: false,
            written: true,
            applied: image(db, KEY),
            pristine: pristine(db, EVIL),
            pristine_attributes: None,
            stat: None,
        };
        deploys::put(db, &machine, std::slice::from_ref(&row))
    });
    written.expect("a row");
}

#[test]
fn rows_for_files_outside_of_what_was_deployed_to_change_nothing_without_a_person() {
    let (ground, keys) = home();
    claim(&ground, &keys);
    for (command, code, names) in [
        (&["rollback", "--to", "pristine", "--yes"][..], "E_CONSENT_REQUIRED", "effects"),
        (&["deploy", "--apply", "--yes"], "E_UNAPPROVED", "paths"),
        (&["deploy", "--apply", "--adopt", "--yes"], "E_UNAPPROVED", "paths"),
    ] {
        let refused = ground.refused(command);
        assert_eq!(refused["code"], code, "{command:?}: {refused:#}");
        assert!(refused["details"][names].to_string().contains(".ssh/authorized_keys\"]"), "{refused:#}");
        assert_eq!(std::fs::read_to_string(&keys).expect("the file"), KEY, "{command:?}");
        assert!(!ground.root().join(".claude").exists(), "nothing else is written either");
    }
    // Folders that the user did deploy to need no consent.
    let (ground, _) = home();
    ground.ok(&["deploy", "--apply", "--yes"]);
    ground.ok(&["rollback", "--to", "pristine", "--yes"]);
}

#[test]
fn rows_that_lead_out_of_their_root_or_into_git_change_nothing() {
    for path in [
        "../home/.ssh/authorized_keys",
        ".claude/../../home/.ssh/authorized_keys",
        ".git/hooks/post-checkout",
        ".GIT/hooks/post-checkout",
        "sub/.git/config",
    ] {
        for pristine in [image as fn(&Db<'_>, &str) -> Image, |_, _| Image::Absent] {
            let (ground, keys) = home();
            // The user deploys to this root, so the root itself needs no consent.
            ground.ok(&["deploy", "--apply", "--yes"]);
            let root = ground.root().canonicalize().expect("a root");
            let victim = root.join(path);
            if !path.contains("..") {
                ground.scratch.file(&format!("ground/root/{path}"), KEY);
            }
            claim_below(&ground, &root, &victim, pristine);
            for command in [
                &["rollback", "--to", "pristine", "--yes"][..],
                &["deploy", "--apply", "--yes"],
                &["deploy", "--apply", "--adopt", "--yes"],
            ] {
                let refused = ground.refused(command);
                let code = refused["code"].as_str().expect("a code");
                let expected = ["E_IO_INVALID_PATH", "E_UNAPPROVED", "E_CONSENT_REQUIRED"];
                assert!(expected.contains(&code), "{path}, {command:?}: {refused:#}");
                assert_eq!(std::fs::read_to_string(&victim).expect("the file"), KEY, "{path}, {command:?}");
                assert_eq!(std::fs::read_to_string(&keys).expect("the file"), KEY, "{path}, {command:?}");
            }
        }
    }
}

#[test]
fn a_person_is_asked_with_the_folders_named() {
    use std::sync::{Arc, Mutex};
    let (ground, keys) = home();
    claim(&ground, &keys);
    let mut context = ground.scratch.context();
    context.selection.directory = ground.root().canonicalize().expect("a root").display().to_string();
    context.confirmation = mcpkg_core::op::Confirmation::Ask;
    let asked = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&asked);
    context.ask = Arc::new(move |_, question| {
        question.clone_into(&mut told.lock().expect("a lock"));
        Ok(())
    });
    let rollback = mcpkg::DOMAINS.operations().find(|entry| entry.tool == "rollback").expect("an operation");
    rollback.from_agent(json!({ "to": "pristine" })).expect("a call").run(&context).expect("a person said yes");
    let asked = asked.lock().expect("a lock").clone();
    assert!(asked.contains(&keys.parent().expect("a folder").display().to_string()), "{asked}");
    assert_eq!(std::fs::read_to_string(&keys).expect("the file"), EVIL);
}

#[test]
fn a_folder_that_is_swapped_for_a_link_while_it_is_written_takes_nothing_elsewhere() {
    for after in [1, 100, 199, 200] {
        let big = Big::new();
        let outside = big.ground.home().join("outside");
        std::fs::create_dir_all(outside.join("skills/big")).expect("a folder");
        let (inside, away) = (big.ground.root().join(".claude"), big.ground.root().join("moved"));
        let (link, target) = (inside.clone(), outside.clone());
        let error = super::meanwhile::deploy_with(&big, after, move |_| {
            std::fs::rename(&link, &away).expect("a rename");
            symlink(&target, &link).expect("a link");
        })
        .expect_err("the folder was swapped");
        assert_eq!(error.code().name(), "E_DEPLOY_UNDONE", "{error}");
        let moved = big.ground.root().canonicalize().expect("a root").join("moved");
        assert!(error.message().contains(&format!("is now at `{}`", moved.display())), "{error}");
        let nothing = std::fs::read_dir(outside.join("skills/big")).expect("a folder").count() == 0;
        assert!(nothing, "after {after}: something was written outside");
        std::fs::remove_file(&inside).expect("the link");
        std::fs::rename(&moved, &inside).expect("a rename");
        std::fs::remove_dir_all(&outside).expect("gone");
        assert!(!big.settled(&format!("swapped after {after}")), "it is undone");
    }
}

#[test]
fn folders_that_are_swapped_all_the_time_take_nothing_elsewhere() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let big = Big::new();
    let outside = big.ground.home().join("outside");
    std::fs::create_dir_all(outside.join("big")).expect("a folder");
    let skills = big.ground.root().join(".claude/skills");
    let away = big.ground.root().join(".claude/away");
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (stop, skills, away, outside) = (Arc::clone(&stop), skills.clone(), away.clone(), outside.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(&skills, &away).expect("a rename");
                symlink(&outside, &skills).expect("a link");
                std::thread::sleep(std::time::Duration::from_micros(200));
                std::fs::remove_file(&skills).expect("the link");
                std::fs::rename(&away, &skills).expect("a rename");
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        })
    };
    let (mut applied, mut refused) = (0, 0);
    for n in 0..12 {
        let rollback = ["rollback", "--to", big.first.as_str(), "--yes"];
        let ran = if n % 2 == 0 { big.ground.run(&Big::deploy()) } else { big.ground.run(&rollback) };
        assert!(matches!(ran.status, 0 | 1), "{ran}");
        if ran.status == 0 { applied += 1 } else { refused += 1 }
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().expect("the other thread ends");
    eprintln!("{applied} applied, {refused} refused or undone");
    assert_eq!(std::fs::read_dir(outside.join("big")).expect("a folder").count(), 0, "something was written outside");
    // The next deploy writes every file of its state, whatever happened to the deploys before it. Other files may
    // remain: if a plan found a file missing while the link was there, the file no longer belongs to a deploy.
    big.ground.data(&[&Big::deploy()[..], &["--adopt"]].concat());
    std::fs::remove_dir_all(&outside).expect("gone");
    let tree = big.ground.tree();
    let missing: Vec<_> = big.after.0.iter().filter(|(path, thing)| tree.0.get(*path) != Some(*thing)).collect();
    assert!(missing.is_empty(), "{:?}", missing.first());
}
