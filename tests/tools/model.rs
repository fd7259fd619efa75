//! Compares random sequences of installs, updates, toolsets, yanks and other changes with a model in memory after each
//! step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::Context;
use mcpkg_registry::installed::projected::PROJECTIONS;
use mcpkg_registry::package::archive::{self, Opened};
use mcpkg_registry::trust::records::Record;
use mcpkg_store::blobs;
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::packages::{self, Manifest, Release, Visibility};
use mcpkg_store::tools::trust::{self, TrustedPart, TrustedRow};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::homes::{key, run};
use crate::support::{Scratch, config};

/// The number of tools, and of versions of each. Small numbers identify them.
const TOOLS: u8 = 3;
const VERSIONS: u8 = 4;

fn tool(n: u8) -> String {
    format!("alice/t{n}")
}

fn version(n: u8) -> String {
    // In semver order, 9 comes before 10.
    format!("1.{}.0", u32::from(n) + 8)
}

fn set(n: u8) -> String {
    format!("set{n}")
}

/// A signed package.
struct Signed {
    opened: Opened,
    bundle: String,
}

/// Packages by the numbers of their tool and version.
type Packages = BTreeMap<(u8, u8), Signed>;

/// Every version of every tool, signed by one author, and the author's identity.
static SIGNED: LazyLock<(Packages, String)> = LazyLock::new(|| {
    let author = Scratch::new();
    let identity = key(&author, "alice");
    let mut all = Packages::new();
    for (t, v) in (0..TOOLS).flat_map(|t| (0..VERSIONS).map(move |v| (t, v))) {
        let front =
            format!("---\nname: {}\nversion: {}\ndescription: A tool\n---\nText {t} {v}\n", tool(t), version(v));
        let file = author.file(&format!("{t}-{v}/SKILL.md"), front);
        let folder = file.parent().expect("a folder");
        let signed = author.json(&["tool", "sign", folder.to_str().expect("a path")]);
        let bundle = signed["bundle"].as_str().expect("a bundle").to_owned();
        all.insert((t, v), Signed { opened: archive::pack(folder).expect("an archive").opened, bundle });
    }
    (all, identity)
});

#[derive(Clone, Debug)]
enum Step {
    Publish(u8, u8),
    Yank(u8, u8),
    Unyank(u8, u8),
    Install(u8, Option<u8>),
    Uninstall(u8, Option<u8>),
    Update(u8),
    UpdateAll,
    Use(u8, u8),
    Trust(bool),
    CreateSet(u8),
    DeleteSet(u8),
    AddTo(u8, u8),
    TakeOut(u8, u8),
    UseSet(Option<u8>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (t, v, s) = (0..TOOLS, 0..VERSIONS, 0..2_u8);
    let step = prop_oneof![
        5 => (t.clone(), v.clone()).prop_map(|(t, v)| Step::Publish(t, v)),
        1 => (t.clone(), v.clone()).prop_map(|(t, v)| Step::Yank(t, v)),
        1 => (t.clone(), v.clone()).prop_map(|(t, v)| Step::Unyank(t, v)),
        5 => (t.clone(), proptest::option::of(v.clone())).prop_map(|(t, v)| Step::Install(t, v)),
        2 => (t.clone(), proptest::option::of(v.clone())).prop_map(|(t, v)| Step::Uninstall(t, v)),
        4 => t.clone().prop_map(Step::Update),
        1 => Just(Step::UpdateAll),
        2 => (t.clone(), v).prop_map(|(t, v)| Step::Use(t, v)),
        1 => any::<bool>().prop_map(Step::Trust),
        1 => s.clone().prop_map(Step::CreateSet),
        1 => s.clone().prop_map(Step::DeleteSet),
        1 => (s.clone(), t.clone()).prop_map(|(s, t)| Step::AddTo(s, t)),
        1 => (s.clone(), t).prop_map(|(s, t)| Step::TakeOut(s, t)),
        1 => proptest::option::of(s).prop_map(Step::UseSet),
    ];
    proptest::collection::vec(step, 1..40)
}

/// The expected state.
#[derive(Clone, Debug)]
struct Model {
    /// The published versions of each tool, and whether each was yanked.
    published: BTreeMap<u8, BTreeMap<u8, bool>>,
    /// The installed versions of each tool in the order of their installs, and the version that agents see.
    installed: BTreeMap<u8, (Vec<u8>, u8)>,
    sets: BTreeMap<u8, BTreeSet<u8>>,
    active: Option<u8>,
    trusted: bool,
}

impl Model {
    /// Returns the highest version of a tool that was not yanked.
    fn newest(&self, t: u8) -> Option<u8> {
        self.published.get(&t)?.iter().filter(|(_, yanked)| !**yanked).map(|(v, _)| *v).max()
    }

    fn put(&mut self, t: u8, v: u8) {
        let (versions, active) = self.installed.entry(t).or_insert((Vec::new(), v));
        if !versions.contains(&v) {
            versions.push(v);
        }
        *active = v;
    }

    fn install(&mut self, t: u8, v: Option<u8>) -> Result<(), Code> {
        let published = self.published.get(&t).ok_or(Code::ToolNotFound)?;
        let v = match v {
            None => self.newest(t).ok_or(Code::VersionNotFound)?,
            Some(v) => match published.get(&v) {
                None => return Err(Code::VersionNotFound),
                Some(true) => return Err(Code::VersionYanked),
                Some(false) => v,
            },
        };
        if !self.trusted {
            return Err(Code::TrustRequired);
        }
        self.put(t, v);
        Ok(())
    }

    fn uninstall(&mut self, t: u8, v: Option<u8>) -> Result<(), Code> {
        let (versions, active) = self.installed.get_mut(&t).ok_or(Code::ToolNotFound)?;
        if v.is_some_and(|v| !versions.contains(&v)) {
            return Err(Code::VersionNotFound);
        }
        versions.retain(|version| v.is_some_and(|v| v != *version));
        match versions.last() {
            None => drop(self.installed.remove(&t)),
            Some(last) if !versions.contains(active) => *active = *last,
            Some(_) => {}
        }
        Ok(())
    }

    fn update(&mut self, t: u8, all: bool) -> Result<(), Code> {
        let (versions, active) = self.installed.get(&t).cloned().ok_or(Code::ToolNotFound)?;
        let held = versions.iter().any(|v| *v > active);
        let Some(newest) = self.newest(t).filter(|newest| *newest > active) else { return Ok(()) };
        if held && all {
            return Ok(());
        }
        if !self.trusted {
            return Err(Code::TrustRequired);
        }
        self.put(t, newest);
        if !held {
            self.installed.get_mut(&t).expect("it is installed").0.retain(|v| *v != active);
        }
        Ok(())
    }

    fn apply(&mut self, step: &Step) -> Result<(), Code> {
        match *step {
            Step::Publish(t, v) => drop(self.published.entry(t).or_default().entry(v).or_insert(false)),
            Step::Yank(t, v) | Step::Unyank(t, v) => {
                let versions = self.published.get_mut(&t).ok_or(Code::ToolNotFound)?;
                *versions.get_mut(&v).ok_or(Code::VersionNotFound)? = matches!(step, Step::Yank(..));
            }
            Step::Install(t, v) => self.install(t, v)?,
            Step::Uninstall(t, v) => self.uninstall(t, v)?,
            Step::Update(t) => self.update(t, false)?,
            // A tool that cannot be updated does not stop the others.
            Step::UpdateAll => {
                for t in 0..TOOLS {
                    let _ = self.update(t, true);
                }
            }
            Step::Use(t, v) => {
                let known = self.installed.get_mut(&t).filter(|(versions, _)| versions.contains(&v));
                known.ok_or(Code::VersionNotFound)?.1 = v;
            }
            Step::Trust(trusted) => self.trusted = trusted,
            Step::CreateSet(s) => {
                if self.sets.contains_key(&s) {
                    return Err(Code::AlreadyExists);
                }
                self.sets.insert(s, self.installed.keys().copied().collect());
            }
            Step::DeleteSet(s) => {
                if !self.sets.contains_key(&s) {
                    return Err(Code::NotFound);
                }
                if self.active == Some(s) {
                    return Err(Code::InvalidArgument);
                }
                self.sets.remove(&s);
            }
            Step::AddTo(s, t) => {
                let set = self.sets.get_mut(&s).ok_or(Code::NotFound)?;
                if !self.installed.contains_key(&t) {
                    return Err(Code::ToolNotFound);
                }
                set.insert(t);
            }
            Step::TakeOut(s, t) => {
                let set = self.sets.get_mut(&s).ok_or(Code::NotFound)?;
                if !set.remove(&t) {
                    return Err(Code::NotFound);
                }
            }
            Step::UseSet(None) => self.active = None,
            Step::UseSet(Some(s)) => {
                if !self.sets.contains_key(&s) {
                    return Err(Code::NotFound);
                }
                self.active = Some(s);
            }
        }
        Ok(())
    }

    fn is_exposed(&self, t: u8) -> bool {
        self.active.is_none_or(|s| self.sets[&s].contains(&t))
    }
}

/// Performs a step on the database.
fn perform(context: &Context, step: &Step) -> Result<(), Error> {
    let with = |t: u8, v: Option<u8>| match v {
        Some(v) => format!("{}@{}", tool(t), version(v)),
        None => tool(t),
    };
    let do_it = |command: &[&str], arguments: Value| run(context, command, arguments).map(drop);
    match *step {
        Step::Publish(t, v) => {
            publish(context, t, v);
            Ok(())
        }
        Step::Yank(t, v) => do_it(&["tool", "yank"], json!({ "tool": with(t, Some(v)) })),
        Step::Unyank(t, v) => do_it(&["tool", "unyank"], json!({ "tool": with(t, Some(v)) })),
        Step::Install(t, v) => do_it(&["tool", "install"], json!({ "tool": with(t, v) })),
        Step::Uninstall(t, v) => do_it(&["tool", "uninstall"], json!({ "tool": with(t, v) })),
        Step::Update(t) => do_it(&["tool", "update"], json!({ "tools": [tool(t)] })),
        Step::UpdateAll => do_it(&["tool", "update"], json!({ "all": true })),
        Step::Use(t, v) => do_it(&["tool", "use"], json!({ "tool": with(t, Some(v)) })),
        Step::Trust(trusted) => {
            trust(context, trusted);
            Ok(())
        }
        Step::CreateSet(s) => do_it(&["toolset", "create"], json!({ "name": set(s) })),
        Step::DeleteSet(s) => do_it(&["toolset", "delete"], json!({ "name": set(s) })),
        Step::AddTo(s, t) => do_it(&["toolset", "add"], json!({ "name": set(s), "tools": [tool(t)] })),
        Step::TakeOut(s, t) => do_it(&["toolset", "remove"], json!({ "name": set(s), "tools": [tool(t)] })),
        Step::UseSet(s) => do_it(&["toolset", "use"], json!({ "name": s.map(set), "all": s.is_none() })),
    }
}

/// Publishes a version with its signature, unless it exists already.
fn publish(context: &Context, t: u8, v: u8) {
    let Signed { opened, bundle } = &SIGNED.0[&(t, v)];
    let release = Release {
        registry: "local".to_owned(),
        name: tool(t),
        version: version(v),
        sha256: opened.sha256,
        size: opened.content.size(),
        publisher: None,
        visibility: Visibility::Public,
        published_at: 0,
        yank: None,
    };
    let json = Value::Object(opened.manifest.json.clone()).to_string();
    let manifest = Manifest { json: &json, raw: &opened.raw_manifest };
    let written = context.store.write(|db| {
        attestations::insert(db, &opened.sha256, bundle, None, 0)?;
        match packages::get(db, "local", &tool(t), &version(v))? {
            Some(_) => Ok(()),
            None => packages::insert(db, &release, blobs::put_source(db, &opened.content)?, manifest, 0).map(drop),
        }
    });
    written.expect("it is published");
}

fn trust(context: &Context, trusted: bool) {
    let row = TrustedRow {
        identity: SIGNED.1.clone(),
        label: None,
        pattern: "*".to_owned(),
        part: TrustedPart::Both,
        added_at: 0,
    };
    let record = Record::Identity(&row);
    if trusted {
        record.keep(context).expect("a record");
        context.store.write(|db| trust::add(db, &row)).expect("a row");
    } else {
        record.withdraw(context).expect("no record");
        context.store.write(|db| trust::remove(db, &row)).expect("no row");
    }
}

/// Compares the list of installs, the tools that agents see, and the toolsets with the model.
fn assert_agrees(context: &Context, model: &Model) {
    let listed = run(context, &["tool", "list"], json!({})).expect("a list");
    let mut expected = Vec::new();
    for (t, (versions, active)) in &model.installed {
        for v in versions {
            let newer = model.newest(*t).filter(|newest| newest > v).map(version);
            expected.push(json!({
                "name": tool(*t),
                "version": version(*v),
                "active": v == active,
                "exposed": v == active && model.is_exposed(*t),
                "status": if model.trusted { "verified" } else { "unverified" },
                "newer": newer,
                "yanked": model.published[t][v],
            }));
        }
    }
    let keys = ["name", "version", "active", "exposed", "status", "newer", "yanked"];
    let rows = listed["tools"].as_array().expect("tools").iter();
    let found: Vec<Value> =
        rows.map(|row| keys.iter().map(|key| ((*key).to_owned(), row[*key].clone())).collect()).collect();
    assert_eq!(found, expected);

    let names = context.store.read(|db| {
        let tools = (PROJECTIONS.list)(db, &context.audience(), "", 100)?;
        Ok(tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>())
    });
    let seen = model.installed.keys().filter(|t| model.is_exposed(**t));
    assert_eq!(names.expect("names"), seen.map(|t| tool(*t).replace('/', "__")).collect::<Vec<_>>());

    let sets = run(context, &["toolset", "export"], json!({})).expect("the sets");
    let expected: BTreeMap<String, Vec<String>> =
        model.sets.iter().map(|(s, tools)| (set(*s), tools.iter().map(|t| tool(*t)).collect())).collect();
    assert_eq!(sets["toolsets"], json!(expected));
    assert_eq!(sets["activeToolset"], json!(model.active.map(set)));
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..config(24) })]

    #[test]
    fn random_changes_of_installs_agree_with_a_model(steps in steps()) {
        let scratch = Scratch::with_database();
        let context = scratch.context();
        run(&context, &["tool", "trust", "policy"], json!({ "policy": "require_attestation" })).expect("a stricter policy");
        let mut model = Model {
            published: BTreeMap::new(),
            installed: BTreeMap::new(),
            sets: BTreeMap::new(),
            active: None,
            trusted: true,
        };
        trust(&context, true);
        for step in &steps {
            let done = perform(&context, step).map_err(|error| error.code());
            prop_assert_eq!(done, model.apply(step), "{:?}", step);
            assert_agrees(&context, &model);
        }
    }
}
