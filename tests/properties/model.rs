//! Runs random operations on the database and on a model in memory, and checks that both agree after each step.

use std::collections::BTreeMap;

use mcpkg_base::error::Code;
use mcpkg_core::op::Context;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::run;
use super::steps::{Kind, Step, name, perform, project, steps};
use crate::support::{Scratch, config};

/// The content of an item at one revision.
#[derive(Clone, Debug, PartialEq)]
struct State {
    name: String,
    description: Option<String>,
    content: String,
}

/// An item with all its revisions, which are numbered from 1.
#[derive(Clone, Debug, Default)]
struct Item {
    live: bool,
    revisions: Vec<State>,
}

impl Item {
    fn newest(&self) -> &State {
        self.revisions.last().expect("an item has revisions")
    }
}

#[derive(Clone, Debug, Default)]
struct Project {
    items: BTreeMap<Kind, Vec<Item>>,
}

impl Project {
    fn of(&mut self, kind: Kind) -> &mut Vec<Item> {
        self.items.entry(kind).or_default()
    }

    fn live(&mut self, kind: Kind, name: &str) -> Option<&mut Item> {
        self.of(kind).iter_mut().find(|item| item.live && item.newest().name == name)
    }

    /// Returns the index of the live item with this name, or else of the item that last had this name.
    fn had(&mut self, kind: Kind, name: &str, order: &Order) -> Option<usize> {
        let items = self.of(kind);
        items
            .iter()
            .position(|item| item.live && item.newest().name == name)
            .or_else(|| order.iter().rev().find(|(of, _, was)| *of == kind && was == name).map(|(_, index, _)| *index))
    }
}

/// The revisions of a project in the order in which they were written: the item's kind, its index, and its name at that
/// time.
type Order = Vec<(Kind, usize, String)>;

/// The model of the database's content.
#[derive(Default)]
struct Model {
    projects: BTreeMap<String, (Project, Order)>,
    selected: Option<String>,
}

impl Model {
    /// Applies a step. Returns the result that the database must give.
    fn apply(&mut self, step: &Step) -> Result<(), Code> {
        match step {
            Step::Project(n) => {
                if self.projects.contains_key(&project(*n)) {
                    return Err(Code::AlreadyExists);
                }
                self.projects.insert(project(*n), Default::default());
                if self.projects.len() == 1 {
                    self.selected = Some(project(*n));
                }
                return Ok(());
            }
            Step::Select(n) => {
                self.projects.get(&project(*n)).ok_or(Code::NotFound)?;
                self.selected = Some(project(*n));
                return Ok(());
            }
            Step::DropProject(n) => {
                self.projects.remove(&project(*n)).ok_or(Code::NotFound)?;
                self.selected.take_if(|selected| *selected == project(*n));
                return Ok(());
            }
            Step::RenameProject(n, to) => {
                if !self.projects.contains_key(&project(*n)) {
                    return Err(Code::NotFound);
                }
                if n != to && self.projects.contains_key(&project(*to)) {
                    return Err(Code::AlreadyExists);
                }
                let moved = self.projects.remove(&project(*n)).expect("it is there");
                self.projects.insert(project(*to), moved);
                if self.selected.as_ref() == Some(&project(*n)) {
                    self.selected = Some(project(*to));
                }
                return Ok(());
            }
            _ => {}
        }
        let selected = self.selected.as_ref().ok_or(Code::NoProject)?;
        let (project, order) = self.projects.get_mut(selected).expect("the selected one exists");
        let (kind, index, state, live) = match step {
            Step::Create(kind, n, content) => {
                if project.live(*kind, &name(*n)).is_some() {
                    return Err(Code::AlreadyExists);
                }
                let state = State { name: name(*n), description: None, content: content.clone() };
                // An item that is created under the name of a deleted one continues its history.
                let index = match project.had(*kind, &name(*n), order) {
                    Some(index) if !project.of(*kind)[index].live => index,
                    _ => {
                        project.of(*kind).push(Item::default());
                        project.of(*kind).len() - 1
                    }
                };
                (*kind, index, state, true)
            }
            Step::Restore(kind, n, revision) => {
                let index = project.had(*kind, &name(*n), order).ok_or(Code::NotFound)?;
                let item = &project.of(*kind)[index];
                let mut state = item.revisions.get(usize::from(*revision) - 1).ok_or(Code::NotFound)?.clone();
                if item.live {
                    state.name.clone_from(&item.newest().name);
                } else {
                    state.name = name(*n);
                }
                (*kind, index, state, true)
            }
            Step::Update(kind, n, _) | Step::Describe(kind, n, _) | Step::Delete(kind, n) => {
                let item = project.live(*kind, &name(*n)).ok_or(Code::NotFound)?;
                let mut state = item.newest().clone();
                match step {
                    Step::Update(_, _, content) => state.content.clone_from(content),
                    Step::Describe(_, _, text) => state.description = (!text.is_empty()).then(|| text.clone()),
                    _ => {}
                }
                let index = project.had(*kind, &name(*n), order).expect("it is live");
                (*kind, index, state, !matches!(step, Step::Delete(..)))
            }
            Step::Rename(n, to) => {
                project.live(Kind::Prompt, &name(*n)).ok_or(Code::NotFound)?;
                if n != to && project.live(Kind::Prompt, &name(*to)).is_some() {
                    return Err(Code::AlreadyExists);
                }
                let index = project.had(Kind::Prompt, &name(*n), order).expect("it is live");
                let state = State { name: name(*to), ..project.of(Kind::Prompt)[index].newest().clone() };
                (Kind::Prompt, index, state, true)
            }
            _ => unreachable!("projects are done"),
        };
        let item = &mut project.of(kind)[index];
        // An update that changes nothing writes no revision.
        if item.live && live && *item.newest() == state {
            return Ok(());
        }
        order.push((kind, index, state.name.clone()));
        item.live = live;
        item.revisions.push(state);
        Ok(())
    }
}

/// Checks that the database and the model have the same projects, and the same content in the selected project.
fn assert_agrees(context: &Context, model: &mut Model) {
    let listed = run(context, &["project", "list"], json!({})).expect("projects");
    let names = |data: &Value, key: &str| -> Vec<String> {
        data[key]
            .as_array()
            .expect("a list")
            .iter()
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(names(&listed, "projects"), model.projects.keys().cloned().collect::<Vec<_>>());
    let Some(selected) = model.selected.clone() else {
        assert_eq!(run(context, &["prompt", "list"], json!({})).expect_err("no project").code(), Code::NoProject);
        return;
    };
    let (project, order) = model.projects.get_mut(&selected).expect("the selected one exists");
    for (kind, lists, shown) in [(Kind::Prompt, "prompts", "name"), (Kind::Resource, "resources", "uri")] {
        let mut live: BTreeMap<String, State> = BTreeMap::new();
        for item in project.of(kind).iter().filter(|item| item.live) {
            live.insert(item.newest().name.clone(), item.newest().clone());
        }
        let listed = run(context, &[kind.word(), "list"], json!({})).expect("a list");
        assert_eq!(names(&listed, lists), live.keys().cloned().collect::<Vec<_>>());
        for n in 0..4 {
            if let Some(state) = live.get(&name(n)) {
                let data = run(context, &[kind.word(), "show"], json!({ shown: name(n) })).expect("content");
                assert_eq!(data["text"], state.content);
                assert_eq!(
                    data.get("description").and_then(Value::as_str),
                    state.description.as_deref().filter(|_| kind == Kind::Prompt)
                );
            }
            let history = run(context, &[kind.word(), "history"], json!({ "name": name(n) }));
            let length = history.map_or(0, |data| data["revisions"].as_array().expect("revisions").len());
            let expected = project.had(kind, &name(n), order).map_or(0, |at| project.of(kind)[at].revisions.len());
            assert_eq!(length, expected, "history of {} {}", kind.word(), name(n));
        }
        // A search for a word finds exactly the items that contain a word with this beginning. Check that for items
        // with a short ASCII text.
        for word in ["a", "bb", "cab", "d", "ef"] {
            let hits = run(context, &["search"], json!({ "query": word, "limit": 100 })).expect("hits");
            let found: Vec<String> = hits["hits"]
                .as_array()
                .expect("hits")
                .iter()
                .filter(|hit| hit["kind"] == kind.word())
                .map(|hit| hit["name"].as_str().expect("a name").to_owned())
                .collect();
            let plain = |state: &State| state.content.is_ascii() && state.content.len() < 20;
            for (name, state) in live.iter().filter(|(_, state)| plain(state)) {
                let text = format!("{} {}", state.content, state.description.as_deref().unwrap_or(""));
                // The stemmer shortens English endings. With these letters, the only ending is -ed.
                if text.contains("ed") {
                    continue;
                }
                let holds = text.split(|c: char| !c.is_alphanumeric()).any(|it| it.to_lowercase().starts_with(word));
                assert_eq!(found.contains(name), holds, "{word} in {text:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..config(12) })]

    #[test]
    fn random_operations_agree_with_a_model(steps in steps()) {
        let scratch = Scratch::with_database();
        let context = scratch.context();
        let mut model = Model::default();
        for step in std::iter::once(&Step::Project(0)).chain(&steps) {
            prop_assert_eq!(perform(&context, step), model.apply(step), "{:?}", step);
            assert_agrees(&context, &mut model);
        }
    }
}
