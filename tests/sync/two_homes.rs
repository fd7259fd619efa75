//! Tests with two homes that share a folder: after any steps, both get the same items, and no line is lost unless
//! something was deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mcpkg_content::stored;
use mcpkg_core::op::{Body, Context};
use mcpkg_store::{blobs, proposals};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Scratch, config, folder};

/// Two homes, each with a project `p`, and the folder that they share.
struct Homes {
    homes: [(Scratch, Context); 2],
    folder: tempfile::TempDir,
    /// The number of lines so far. No two lines are the same.
    made: usize,
    /// The lines that were written.
    written: Vec<String>,
}

/// A position in a text of any length, as a fraction of 2^64.
#[derive(Clone, Copy, Debug)]
struct At(u64);

impl At {
    fn index(self, length: usize) -> usize {
        ((length as u128 * u128::from(self.0)) >> 64) as usize
    }
}

/// An action in a home or in the folder.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A home adds a line to an item, and creates the item if it does not exist.
    Edit { home: bool, item: usize, at: At },
    /// A line is added to a file in the folder.
    EditFile { item: usize, at: At },
    /// A home deletes an item.
    Delete { home: bool, item: usize },
    /// A file is deleted in the folder.
    DeleteFile { item: usize },
    /// A home renames an item.
    Rename { home: bool, item: usize },
    /// A home syncs.
    Sync { home: bool },
    /// A home accepts or rejects its proposals.
    Decide { home: bool, accept: bool },
}

/// The names and files of the items: prompts, a document, an MCP server of the manifest, and one of an agent's file.
const ITEMS: [(&str, &str); 6] = [
    ("a", ".claude/commands/a.md"),
    ("b", ".claude/commands/b.md"),
    ("c", ".claude/commands/c.md"),
    ("doc", "doc.md"),
    ("listed", "mcpkg.export.json"),
    ("filed", ".mcp.json"),
];

/// Returns the kind of an item, and the commands for its kind.
fn kind(name: &str) -> (&'static str, &'static str) {
    match name {
        "doc" => ("resource", "resource"),
        "listed" | "filed" => ("mcp_server", "mcp"),
        _ => ("prompt", "prompt"),
    }
}

fn steps(deletes: bool) -> impl Strategy<Value = Vec<Step>> {
    let (home, item, at) = (any::<bool>, || 0..ITEMS.len(), || any::<u64>().prop_map(At));
    let edits = prop_oneof![
        3 => (home(), item(), at()).prop_map(|(home, item, at)| Step::Edit { home, item, at }),
        3 => (item(), at()).prop_map(|(item, at)| Step::EditFile { item, at }),
        4 => home().prop_map(|home| Step::Sync { home }),
        1 => (home(), item()).prop_map(|(home, item)| Step::Rename { home, item }),
    ];
    let all = prop_oneof![
        8 => edits,
        u32::from(deletes) => (home(), item()).prop_map(|(home, item)| Step::Delete { home, item }),
        u32::from(deletes) => item().prop_map(|item| Step::DeleteFile { item }),
        u32::from(deletes) => (home(), any::<bool>()).prop_map(|(home, accept)| Step::Decide { home, accept }),
    ];
    prop::collection::vec(all, 1..24)
}

/// The content of each item of a home, by kind and name.
type Items = BTreeMap<(String, String), String>;

fn items(context: &Context) -> Items {
    let items = context.read(|db, project| {
        let all = stored::all(db, project)?.into_iter().map(|stored| {
            let text = String::from_utf8(stored.content(db)?).expect("text");
            Ok(((stored.entry.what.word().to_owned(), stored.entry.name), text))
        });
        all.collect()
    });
    items.expect("the items")
}

/// Runs an operation in this process.
fn run(context: &Context, cli: &[&str], arguments: Value) -> mcpkg_base::error::Result<mcpkg_core::op::Reply> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == cli).expect("an operation");
    entry.from_agent(arguments)?.run(context)
}

impl Homes {
    fn new() -> Self {
        let home = || {
            let scratch = Scratch::with_project_here();
            let context = scratch.context();
            (scratch, context)
        };
        let folder = folder();
        Self { homes: [home(), home()], folder, made: 0, written: Vec::new() }
    }

    fn context(&self, home: bool) -> &Context {
        &self.homes[usize::from(home)].1
    }

    fn sync(&self, home: bool) -> mcpkg_core::op::Reply {
        let folder = self.folder.path().display().to_string();
        run(self.context(home), &["sync"], json!({ "folder": folder })).expect("the sync")
    }

    /// Returns a new line.
    fn line(&mut self) -> String {
        self.made += 1;
        format!("line {}", self.made)
    }

    /// Adds a new line to the arguments of a server. Returns the arguments and the line.
    fn edited_arguments(&mut self, args: &Value, at: &At) -> (Vec<String>, String) {
        // The project stores each argument as a list of parts; a file stores it as a string.
        let text = |arg: &Value| arg.as_str().or(arg[0].as_str()).expect("an argument").to_owned();
        let mut args: Vec<String> = args.as_array().into_iter().flatten().map(text).collect();
        let line = self.line();
        args.insert(at.index(args.len() + 1), line.clone());
        (args, line)
    }

    /// Creates a server in a home, or adds an argument to it.
    fn edit_server(&mut self, home: bool, name: &str, known: Option<&str>, at: &At) {
        let known: Option<Value> = known.map(|known| serde_json::from_str(known).expect("JSON"));
        let (args, line) =
            self.edited_arguments(&known.as_ref().map_or(Value::Null, |known| known["args"].clone()), at);
        let command: Vec<String> = std::iter::once(name.to_owned()).chain(args).collect();
        let verb = if known.is_some() { "set" } else { "add" };
        if run(self.context(home), &["mcp", verb], json!({ "name": name, "command": command })).is_ok() {
            self.written.push(line);
        }
    }

    /// Adds an argument to a server in the manifest or in an agent's file.
    fn edit_server_file(&mut self, item: usize, at: &At) {
        let (name, _) = ITEMS[item];
        let path = self.path(item);
        let mut document: Value =
            fs::read(&path).map_or_else(|_| json!({}), |text| serde_json::from_slice(&text).expect("JSON"));
        let line = if name == "filed" {
            let entry = &mut document["mcpServers"][name];
            entry["command"] = name.into();
            let (args, line) = self.edited_arguments(&entry["args"], at);
            entry["args"] = json!(args);
            line
        } else {
            let listed = document["servers"].as_array_mut().into_iter().flatten();
            let Some(server) = listed.into_iter().find(|server| server["name"] == name) else { return };
            let (args, line) = self.edited_arguments(&server["args"], at);
            server["args"] = args.into_iter().map(|arg| json!([arg])).collect();
            line
        };
        fs::write(&path, serde_json::to_string_pretty(&document).expect("JSON")).expect("a file");
        self.written.push(line);
    }

    /// Deletes a server from the manifest.
    fn delete_listed(&self, item: usize) {
        let Ok(text) = fs::read(self.path(item)) else { return };
        let mut manifest: Value = serde_json::from_slice(&text).expect("JSON");
        if let Some(servers) = manifest.get_mut("servers").and_then(Value::as_array_mut) {
            servers.retain(|server| server["name"] != ITEMS[item].0);
        }
        fs::write(self.path(item), manifest.to_string()).expect("a file");
    }

    /// Inserts a new line into a text. Returns the text and the line.
    fn edited(&mut self, text: &str, at: &At) -> (String, String) {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let line = self.line() + "\n";
        // Front matter is not changed.
        let first = lines.iter().rposition(|line| *line == "---\n").map_or(0, |at| at + 1);
        lines.insert(first + at.index(lines.len() - first + 1), &line);
        (lines.concat(), line.trim_end().to_owned())
    }

    fn items(&self, home: bool) -> Items {
        items(self.context(home))
    }

    fn decide(&self, home: bool, accept: bool) {
        let context = self.context(home);
        let open = context.read(|db, project| proposals::list(db, project.id, false)).expect("the proposals");
        for proposal in open {
            let cli = ["evolve", if accept { "accept" } else { "reject" }];
            if run(context, &cli, json!({ "id": proposal.id })).is_err() {
                // The item has changed since the proposal, so reject it. The next sync makes another one.
                run(context, &["evolve", "reject"], json!({ "id": proposal.id })).expect("it is open");
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Sync { home } => drop(self.sync(*home)),
            Step::Decide { home, accept } => self.decide(*home, *accept),
            Step::Edit { home, item, at } => {
                let (name, _) = ITEMS[*item];
                let (kind, _) = kind(name);
                let known = self.items(*home).remove(&(kind.to_owned(), name.to_owned()));
                if kind == "mcp_server" {
                    return self.edit_server(*home, name, known.as_deref(), at);
                }
                let (text, line) = self.edited(known.as_deref().unwrap_or_default(), at);
                let uri = (kind == "resource").then_some("file:///doc.md");
                let verb = if known.is_some() { "update" } else { "create" };
                let mut arguments = json!({ "name": name, "content": text });
                if let (Some(uri), "create") = (uri, verb) {
                    arguments["uri"] = uri.into();
                }
                // Another item may already have this URI.
                if run(self.context(*home), &[kind, verb], arguments).is_ok() {
                    self.written.push(line);
                }
            }
            Step::EditFile { item, at } if kind(ITEMS[*item].0).0 == "mcp_server" => self.edit_server_file(*item, at),
            Step::EditFile { item, at } => {
                let path = self.path(*item);
                let text = fs::read_to_string(&path).unwrap_or_default();
                let (text, line) = self.edited(&text, at);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(&path, text).expect("a file");
                self.written.push(line);
            }
            Step::Delete { home, item } => {
                let (name, _) = ITEMS[*item];
                let (_, command) = kind(name);
                let verb = if command == "mcp" { "remove" } else { "delete" };
                // The item may not exist.
                let _ = run(self.context(*home), &[command, verb], json!({ "name": name }));
            }
            Step::DeleteFile { item } if ITEMS[*item].0 == "listed" => self.delete_listed(*item),
            Step::DeleteFile { item } => drop(fs::remove_file(self.path(*item))),
            Step::Rename { home, item } => {
                let (name, _) = ITEMS[*item];
                self.rename(*home, name, &format!("{name}{}", self.made));
            }
        }
    }

    fn path(&self, item: usize) -> PathBuf {
        self.folder.path().join(ITEMS[item].1)
    }

    /// Renames a prompt or a server, if it exists.
    fn rename(&self, home: bool, name: &str, to: &str) {
        let _ = run(self.context(home), &["mcp", "set"], json!({ "name": name, "rename": to }));
        let _ = run(self.context(home), &["prompt", "rename"], json!({ "name": name, "to": to }));
    }

    /// Renames items whose names are taken by something else in the folder, as the message asks the user to.
    fn make_way(&self, home: bool, round: usize, data: &Value) {
        for item in data["items"].as_array().into_iter().flatten().filter(|item| item["action"] == "skipped") {
            let name = item["item"].as_str().and_then(|label| label.split('\'').nth(1)).expect("a name");
            self.rename(home, name, &format!("{name}.{}.{round}", u8::from(home)));
        }
    }

    /// Returns all lines in the homes, in the folder and in proposals.
    fn lines(&self) -> BTreeSet<String> {
        let mut texts: Vec<String> = Vec::new();
        for home in [false, true] {
            texts.extend(self.items(home).into_values());
            let proposed = self.context(home).read(|db, project| {
                let open = proposals::list(db, project.id, false)?;
                open.iter().filter_map(|open| open.blob).map(|blob| blobs::get(db, blob)).collect::<Result<Vec<_>, _>>()
            });
            let proposed = proposed.expect("the proposals");
            texts.extend(proposed.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        texts.extend(files(self.folder.path()));
        texts.iter().flat_map(|text| lines(text)).collect()
    }
}

/// Returns the lines of these tests in a text, including arguments of servers.
fn lines(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("line ").map(|(at, word)| {
        let number: String = text[at + word.len()..].chars().take_while(char::is_ascii_digit).collect();
        format!("{word}{number}")
    })
}

/// Returns the texts of the files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() { texts.extend(files(&entry)) } else { texts.push(fs::read_to_string(&entry).expect("text")) }
    }
    texts
}

/// Syncs both homes and decides about proposals until nothing is left to do. Returns the number of rounds.
fn come_together(homes: &Homes, accepts: &[bool]) -> usize {
    for (round, accept) in accepts.iter().cycle().take(12).enumerate() {
        let mut quiet = true;
        for home in [false, true] {
            let reply = homes.sync(home);
            let acted = reply.data["items"].as_array().is_some_and(|items| !items.is_empty());
            quiet &= !acted && !reply.failed;
            homes.decide(home, *accept);
            homes.make_way(home, round, &reply.data);
        }
        if quiet {
            return round;
        }
    }
    panic!("they do not come together: {:?} {:?}", homes.sync(false).data, homes.sync(true).data);
}

/// Performs the steps. Checks that the homes become the same, that a third home gets the same items, and that no line
/// is lost if `deletes` is false.
fn lived(steps: &[Step], accepts: &[bool], deletes: bool) -> Result<(), TestCaseError> {
    let mut homes = Homes::new();
    for step in steps {
        homes.step(step);
        let lines = if deletes { BTreeSet::new() } else { homes.lines() };
        for line in homes.written.iter().filter(|_| !deletes) {
            prop_assert!(lines.contains(line), "{line} is lost after {step:?}");
        }
    }
    come_together(&homes, accepts);
    prop_assert_eq!(homes.items(false), homes.items(true));
    // A third home, which knows only the folder, gets the same items.
    let expected = homes.items(false);
    let third = Homes { folder: homes.folder, ..Homes::new() };
    let reply = third.sync(false);
    prop_assert!(!reply.failed, "{:?}", reply.data);
    prop_assert!(matches!(reply.body, Body::Sentence(_)));
    prop_assert_eq!(third.items(false), expected);
    Ok(())
}

#[test]
fn renaming_an_item_in_one_home_and_deleting_it_in_the_other_converges() {
    let at = At(0);
    // Prompts, a document and both kinds of servers.
    for item in 2..ITEMS.len() {
        let both = [Step::Edit { home: false, item, at }, Step::Sync { home: false }, Step::Sync { home: true }];
        let renamed = Step::Rename { home: false, item };
        for deleted in [Step::Delete { home: true, item }, Step::DeleteFile { item }] {
            for accepts in [&[true][..], &[false, true]] {
                for last in [vec![renamed, deleted], vec![renamed, Step::Sync { home: false }, deleted]] {
                    let steps = [&both[..], &last].concat();
                    lived(&steps, accepts, true).unwrap_or_else(|error| panic!("{steps:?}, {accepts:?}: {error}"));
                }
            }
        }
    }
}

#[test]
fn a_rename_to_a_name_that_is_taken_in_the_other_home_is_not_forgotten() {
    let mut homes = Homes::new();
    let edit = Step::Edit { home: false, item: 2, at: At(0) };
    for step in [edit, Step::Sync { home: false }, Step::Sync { home: true }] {
        homes.step(&step);
    }
    run(homes.context(true), &["prompt", "create"], json!({ "name": "taken", "content": "line 2" })).expect("made");
    homes.rename(false, "c", "taken");
    come_together(&homes, &[true]);
    let items = homes.items(true);
    assert_eq!(homes.items(false), items);
    assert_eq!(items.len(), 2, "{items:?}");
    assert!(!items.keys().any(|(_, name)| name == "c"), "the new name is forgotten: {items:?}");
}

#[test]
fn a_history_with_an_accepted_proposal_leaves_the_homes_the_same() {
    let steps = [
        Step::Sync { home: false },
        Step::EditFile { item: 3, at: At(18_333_472_006_090_146_176) },
        Step::Edit { home: true, item: 3, at: At(2_877_691_665_328_664_372) },
        Step::Sync { home: false },
        Step::Edit { home: false, item: 2, at: At(12_739_858_818_903_103_220) },
        Step::Sync { home: false },
        Step::EditFile { item: 0, at: At(11_287_961_061_853_072_202) },
        Step::Edit { home: false, item: 2, at: At(8_697_111_073_953_700_434) },
        Step::Edit { home: false, item: 4, at: At(7_252_217_136_023_522_905) },
        Step::Sync { home: false },
        Step::Sync { home: true },
        Step::Edit { home: true, item: 3, at: At(7_693_525_562_024_630_300) },
        Step::Sync { home: true },
    ];
    for accepts in [&[false, true][..], &[true, false], &[true], &[false]] {
        lived(&steps, accepts, false).unwrap_or_else(|error| panic!("{accepts:?}: {error}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..config(48) })]

    #[test]
    fn two_homes_over_one_folder_lose_no_line(steps in steps(false), accepts in prop::collection::vec(any::<bool>(), 1..4)) {
        lived(&steps, &accepts, false)?;
    }

    #[test]
    fn two_homes_over_one_folder_become_the_same(steps in steps(true), accepts in prop::collection::vec(any::<bool>(), 1..4)) {
        lived(&steps, &accepts, true)?;
    }
}
