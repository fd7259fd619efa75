//! Draws each screen of a filled database at four widths.

use std::sync::Arc;

use mcpkg_base::approved::Approved;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::Code;
use mcpkg_base::platform;
use mcpkg_console::place::{Following, Place, Undo};
use mcpkg_console::screen::{Body, Screen, Span};
use mcpkg_console::{Invocation, Part, load};
use mcpkg_core::consent::request::{self, Need};
use mcpkg_core::op::{Caller, Confirmation, Connection, Context, Effect, Identity};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use ratatui::crossterm::event::KeyCode;
use regex::{Captures, Regex};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::tests::{app, frame, press};
use crate::tui::app::App;
use crate::tui::level::Shown;

const SIZES: [(u16, u16); 4] = [(40, 10), (80, 24), (120, 40), (200, 50)];

const WORKFLOW: &str = "\
workflow: weekly_review
inputs:
  area:
    default: {from: literal, value: billing}
steps:
  - id: find
    run: mcpkg:search
    with:
      query: ${{ inputs.area }}
";

/// A database in which a person and an agent have worked, and the folder that holds it.
struct Ground {
    folder: TempDir,
    person: Context,
    agent: Context,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("shop-api");
        std::fs::create_dir_all(root.join(".git")).expect("a folder");
        let store = Store::open(&folder.path().join("mcpkg.db")).expect("a database");
        let directory = Selection::folder(&root).expect("a path in UTF-8");
        let person = Context {
            clock: Clock::fixed(1_795_870_000_000),
            approved: Approved::below(folder.path().join("approved")),
            confirmation: Confirmation::Ask,
            ask: Arc::new(|_, _| Ok(())),
            connection: "a1b2c3".into(),
            ..Context::shell(crate::DOMAINS, store, Selection { directory, ..Selection::default() })
        };
        let caller = Caller::client(Some("claude-code"), None, Connection::Stdio, Identity::Mcpkg);
        let agent = Context { caller, connection: "d4e5f6".into(), ..person.clone() };
        let ground = Self { folder, person, agent };
        ground.fill();
        ground
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    fn done(&self, context: &Context, call: Invocation) -> Value {
        self.person.clock.advance(61_000);
        let command = call.command();
        call.run(context).unwrap_or_else(|error| panic!("{command}: {error}")).into_value()
    }

    fn fill(&self) {
        let (person, agent) = (&self.person, &self.agent);
        let call =
            |words: &str, values: &[&str]| values.iter().fold(Invocation::new(words), |call, value| call.with(*value));
        self.done(person, call("project create", &["shop-api"]));
        self.done(person, call("project select", &["shop-api"]));
        let review = "Review $ARGUMENTS. Name each problem with its file and line.\nLook for missing tests first.\n";
        self.done(person, call("prompt create", &["review", review]));
        self.done(person, call("prompt create", &["changelog", "Write a line for the changelog."]));
        self.done(person, call("resource create", &["style", "instructions://style", "Use British spelling.\n"]));
        self.done(
            person,
            call(
                "resource create",
                &["tidy", "skill://tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up\n---\nSort the imports.\n"],
            ),
        );
        let better = review
            .replace("missing tests first", "missing tests and for unsafe SQL first, then say which tests you ran");
        self.done(agent, call("prompt update", &["review"]).option("--content", &better));
        self.done(agent, call("prompt delete", &["changelog"]));
        self.done(person, call("workflow import", &[&self.file("weekly.yaml", WORKFLOW)]));
        self.done(person, call("command run", &["mcpkg:prompt:create"]).options("--arg", ["name=made", "content=x"]));
        let slower = WORKFLOW.replace("query: ${{ inputs.area }}", "query: ${{ inputs.aera }}\n      limit: 5");
        let draft = call("draft add", &[&self.file("slower.yaml", &slower)]).option("--replaces", "weekly_review");
        self.done(agent, draft);
        let ask = |summary: &str, effects: &[&str], effect| {
            person.clock.advance(1_000);
            let need = Need {
                operation: "execute",
                project: "shop-api",
                inputs: &json!({ "arguments": { "command": summary, "with": { "app": "app_91c" } } }),
                plan_hash: summary,
                summary: format!("Run {summary} ({})", if effect == Effect::Read { "reads" } else { "destroys" }),
                effects: effects.iter().map(|line| (*line).to_owned()).collect(),
                effect,
            };
            let error = request::ask(&Context { confirmation: Confirmation::Nobody, ..agent.clone() }, &need)
                .expect_err("a request");
            assert_eq!(error.code(), Code::ConsentRequired, "{error}");
            error.details().expect("details")["consent"].as_str().expect("an id").to_owned()
        };
        ask("shop:apps:list", &["GET http://127.0.0.1:18291/apps"], Effect::Read);
        ask("shop:apps:delete", &["DELETE http://127.0.0.1:18291/apps/app_91c", "app = \"app_91c\""], Effect::Destroy);
    }

    fn ids(&self, words: &str, list: &str, field: &str) -> Vec<String> {
        let data = Invocation::new(words).read(&self.person).expect(words);
        let rows = data[list].as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned)).collect()
    }

    /// Loads the screen of a place, with placeholders for values that differ from run to run.
    fn load(&self, place: &Place) -> Screen {
        let mut screen = match place {
            Place::Inbox => mcpkg_console::inbox::screen(&self.person, Some(&Default::default())),
            place => load(place, &self.person, &Part::default()),
        }
        .unwrap_or_else(|error| panic!("{place:?}: {error}"));
        screen.title = self.same_each_time(&screen.title);
        let same = |span: &Span| Span::new(span.tone, &self.same_each_time(span.text()));
        match &mut screen.body {
            Body::Text(lines) => lines.iter_mut().for_each(|line| line.spans = line.spans.iter().map(same).collect()),
            Body::List(list) => list.rows.iter_mut().for_each(|row| row.cells = row.cells.iter().map(same).collect()),
            _ => {}
        }
        screen
    }

    /// Replaces what differs from run to run: the path of the scratch folder, ids and times.
    fn same_each_time(&self, text: &str) -> String {
        let folder = platform::real(self.folder.path()).unwrap_or_else(|_| self.folder.path().to_owned());
        let folders = [folder.as_path(), self.folder.path()];
        let text = folders.iter().fold(text.to_owned(), |text, folder| text.replace(&*folder.to_string_lossy(), "~"));
        let id = Regex::new(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b").expect("a pattern");
        let text = id.replace_all(&text, "019ac8e2-6f3a-7c41-9d5e-03fc9abdbf2d");
        // Times are shown in the machine's time zone.
        let time = Regex::new(r"\b(\d\d [A-Z][a-z]{2} )?\d\d:\d\d(?P<s>:\d\d)?\b").expect("a pattern");
        let same = |found: &Captures<'_>| if found.name("s").is_some() { "12:48:20" } else { "13:48" };
        time.replace_all(&text, same).into_owned()
    }

    /// Shows a place, with the preview of its first row.
    fn shown(&self, place: Place) -> App {
        let mut app = app();
        let screen = self.load(&place);
        app.open(place, &mut Vec::new());
        app.typing = Default::default();
        app.level_mut().take(Box::new(screen));
        self.preview(&mut app);
        app
    }

    fn preview(&self, app: &mut App) {
        let look = app.level().look().cloned();
        if let Some(look) = look {
            let screen = self.load(&look);
            let level = app.level_mut();
            (level.previewed, level.preview_views) = (Some(look), screen.views);
            level.preview = Shown::Screen(Box::new(screen));
        }
    }
}

#[test]
fn each_screen_at_four_widths() {
    let ground = Ground::new();
    let consents = ground.ids("consent list", "consents", "id");
    let draft = ground.ids("draft list", "drafts", "id").remove(0);
    let run = ground.ids("workflow runs", "runs", "run").remove(0);
    let events = ground.ids("events", "events", "seq");
    let event = events[5].parse().expect("a number");
    let by = Following {
        actor: "mcp:claude-code".to_owned(),
        since: "2026-11-27T00:00:00Z".to_owned(),
        first: 1,
        except: Vec::new(),
        denied: Vec::new(),
    };
    let review = || ("prompt".to_owned(), "review".to_owned());
    for (name, place) in [
        ("inbox-filled", Place::Inbox),
        ("request", Place::Consent(consents[1].clone())),
        ("answers", Place::Answers(consents[0].clone())),
        ("draft", Place::Draft(draft.clone())),
        ("draft-diff", Place::DraftDiff(draft, Vec::new())),
        ("feed", Place::Feed),
        ("event", Place::Event(event)),
        ("undo", Place::Undo(Undo::By(by))),
        ("content", Place::Content),
        ("new", Place::New),
        ("item", Place::Prompt("review".to_owned())),
        ("trail", Place::History(review().0, review().1)),
        ("revision", Place::ItemDiff(review().0, review().1, Some((1, 2)))),
        ("deploy", Place::Deploy),
        ("sessions", Place::Sessions),
        ("snapshots", Place::Snapshots),
        ("workflows", Place::Workflows),
        ("workflow", Place::Workflow("weekly_review".to_owned())),
        ("plan", Place::Plan("weekly_review".to_owned())),
        ("run", Place::Run(run)),
        ("all", Place::All),
        ("list", Place::List("project list".to_owned())),
        ("verbs", Place::Verbs("project".to_owned(), "shop-api".to_owned())),
        ("shown", Place::Shown("prompt".to_owned(), "review".to_owned())),
        ("palette", Place::Palette),
        ("fields", Place::Form("prompt create".to_owned())),
    ] {
        let mut frames = Vec::new();
        for (columns, rows) in SIZES {
            let mut app = ground.shown(place.clone());
            frames.push(frame(&mut app, columns, rows));
            // A small terminal shows one pane at a time.
            if columns == 40 && app.level().look().is_some() {
                press(&mut app, KeyCode::Tab);
                frames.push(frame(&mut app, columns, rows));
            }
        }
        insta::assert_snapshot!(name, frames.join("----\n"));
    }
}
