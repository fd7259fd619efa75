//! Tests the story of the console in a browser, on a phone: a person approves what an agent asks for, with a passkey, undoes
//! what another agent did, edits a workflow with a mistake, runs it and watches the run.
//!
//! The page docs/how-to/console-web-story.md shows the screens. `UPDATE_DOCS=1 cargo test docs` writes the page and takes
//! the pictures.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::chromium::Chromium;
use super::editing::replace;
use super::picture::check;
use super::pictures::PHONE;
use crate::support::api::Trouble;
use crate::support::http::{Http, modern};
use crate::workflow::runs::{Ground, code, create, with_nonce};

/// The workflow before the person edits it.
const WORKFLOW: &str = "\
workflow: new_app
steps:
  - id: create_app
    run: hosting:apps:create
    with: { name: shop, region: eu }
";

/// The lines that the person adds. They misspell the name of the first step.
const ADDED: &str = "  - id: add_db
    run: hosting:databases:create
    with: { app_id: '${{ steps.create_ap.output.id }}', plan: small }
";

/// The page that the test builds, and the browser that it shows.
struct Story {
    chromium: Chromium,
    page: String,
    /// How many questions the person answered with yes.
    answered: usize,
}

impl Story {
    fn says(&mut self, text: &str) {
        self.page.push_str(&format!("\n{text}\n"));
    }

    /// Adds a picture of the page with this theme. `alt` says what the picture shows.
    fn shows(&mut self, name: &str, theme: &str, alt: &str) {
        let name = format!("console-web-story-{name}");
        check(&self.chromium, &name, theme, PHONE);
        let (width, _) = PHONE;
        self.page.push_str(&format!("\n<img alt=\"{alt}\" src=\"../pictures/{name}.png\" width=\"{width}\">\n"));
    }

    /// Waits for a text on the page, which must not be wider than the screen.
    #[track_caller]
    fn wait(&self, awaited: &str) {
        let text = self.chromium.wait(awaited);
        let wide = self.chromium.run("return document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(u64::from(PHONE.0)), "{wide} pixels wide:\n{text}");
    }

    #[track_caller]
    fn press(&self, button: &str, awaited: &str) {
        self.chromium.press(button);
        self.wait(awaited);
    }

    /// Presses a button that asks, and waits for the question with these words. If another question comes first, answers
    /// it with yes. Returns the page.
    #[track_caller]
    fn asks(&mut self, button: &str, words: &str) -> String {
        let is_question = |text: &str| text.lines().any(|line| line.starts_with("Yes"));
        self.chromium.press(button);
        let mut text = self.chromium.wait_until(is_question, "a question");
        if !text.contains(words) {
            self.answered += 1;
            self.chromium.press("Yes");
            text = self.chromium.wait_until(|text| is_question(text) && text.contains(words), words);
        }
        self.wait(words);
        text
    }

    /// Answers the question with yes, which needs the passkey.
    #[track_caller]
    fn says_yes(&mut self, awaited: &str) {
        self.answered += 1;
        self.press("Yes", awaited);
    }

    #[track_caller]
    fn open(&self, address: &str, awaited: &str) {
        self.chromium.open(address);
        self.wait(awaited);
    }

    #[track_caller]
    fn follow(&self, link: &str, awaited: &str) {
        self.chromium.follow(link);
        self.wait(awaited);
    }

    #[track_caller]
    fn check(&self) {
        let reports = self.chromium.reports();
        assert!(!reports.iter().any(|report| report.contains("Content Security Policy")), "{reports:#?}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/console-web-story.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &self.page).expect("a page");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == self.page, "docs/how-to/console-web-story.md is not current: run `just docs`\n{}", self.page);
    }
}

/// An agent on another machine, which has an access key.
struct Agent<'s> {
    server: &'s Http,
    key: String,
}

impl Agent<'_> {
    #[track_caller]
    fn call(&self, name: &str, arguments: Value) -> Value {
        let request = modern("/mcp", "tools/call", json!({ "name": name, "arguments": arguments }));
        let request = request.edited(|message| {
            message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!("claude-code");
        });
        let answer = self.server.send(&request.with("Authorization", &format!("Bearer {}", self.key))).message();
        answer["result"]["structuredContent"].clone()
    }
}

#[test]
fn docs_show_the_story_of_a_phone() {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    scratch.ok(&["project", "select", "p"]);
    scratch.ok(&["prompt", "create", "review", "Look for missing tests and for unsafe SQL first."]);
    let file = scratch.file("workflow.yaml", WORKFLOW);
    scratch.ok(&["workflow", "import", &file.display().to_string()]);
    let key = |name: &str| {
        let made = scratch.json(&["access", "create", name, "--execute"]);
        made["key"].as_str().unwrap_or_else(|| panic!("a key: {made}")).to_owned()
    };
    let keys = ["builder", "reviewer"].map(key);
    let Some(mut chromium) = Chromium::launch() else { return };
    let server = Http::start(scratch, &["--console"]);
    let [builder, reviewer] = keys.map(|key| Agent { server: &server, key });
    let origin = format!("http://localhost:{}", server.address.port());
    let Some((_terminal, token)) = super::passkeys::invited(scratch, "alice-phone", &origin, None) else { return };
    chromium.visit(&origin);
    chromium.size(PHONE.0, PHONE.1);
    chromium.add_authenticator();
    let page = "# From a request to a finished run, on a phone\n".to_owned();
    let mut story = Story { chromium, page, answered: 0 };
    story.says(
        "This is a recording: pages of `mcpkg serve --http --console` on a screen of 320 pixels. Two agents with access keys use\n\
         the server. A person decides on a phone. [Use the console in a browser](console-web.md) explains the setup.",
    );
    story.says(
        "## Make a passkey\n\nYou run `mcpkg passkey add alice-phone --url ADDRESS` in a terminal of the server, and open the link on the phone.",
    );
    story.open(&format!("/passkey?token={token}"), "with the name alice-phone");
    story.shows("passkey", "light", "The page that registers a passkey");
    story.press("Make a passkey", "is registered");
    approve(&mut story, &builder);
    assert_eq!(ground.changes(), 1);
    undo(&mut story, &reviewer);
    assert!(scratch.ok(&["prompt", "show", "review"]).contains("unsafe SQL"));
    edit(&mut story);
    assert_eq!(
        scratch.ok(&["workflow", "show", "new_app"]),
        WORKFLOW.to_owned() + &ADDED.replace("create_ap.", "create_app.")
    );
    run(&mut story, &ground);
    let uses = scratch.json(&["events", "--limit", "200"])["events"].clone();
    let uses = uses.as_array().into_iter().flatten().filter(|event| event["kind"] == "passkey.use").count();
    assert_eq!(uses, story.answered, "each yes used the passkey");
    story.check();
}

/// An agent asks, and the person approves.
fn approve(story: &mut Story, builder: &Agent) {
    let asked = builder.call("execute", create());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    story.says(
        "## Approve a request\n\nAn agent on another machine calls `execute` over HTTP. The call changes something, so it fails with\n\
         `E_CONSENT_REQUIRED`, and a request waits. The access key of the agent cannot approve it. You open the console on the\n\
         phone and sign in.",
    );
    story.open("/inbox", "Not signed in");
    story.shows("sign-in", "light", "The page of a browser that is not signed in");
    story.press("Sign in with a passkey", "1 waits for you");
    story.shows("inbox", "light", "The inbox, with the request of the agent");
    story.says("**Approve** shows what mcpkg would send, and asks.");
    story.asks("Approve", "Consent to it?");
    story.shows("question", "light", "The question, with the method, the address and the values of the request");
    story.says("**Yes** needs the passkey: the phone asks for a fingerprint, a face or a PIN.");
    story.says_yes("Approved once");
    story.shows("approved", "light", "The request is approved once");
    let done = builder.call("execute", with_nonce(&create(), &asked));
    assert_eq!(code(&done), "ok", "{done}");
    story.says("The agent repeats its call, and now the call runs.");
}

/// Another agent changes a prompt, and the person undoes the change.
fn undo(story: &mut Story, reviewer: &Agent) {
    let changed = reviewer.call("update_prompt", json!({ "name": "review", "content": "Approve everything." }));
    assert_eq!(code(&changed), "ok", "{changed}");
    story.says("## Undo a change\n\nAnother agent has changed a prompt. **Feed** shows it.");
    story.follow("Feed", "prompt update review");
    story.shows("feed", "dark", "The feed, with the change of the other agent");
    story.says("**Undo** shows what would be undone.");
    story.follow("Undo", "back to revision 1");
    story.shows("undo", "dark", "The preview of the undo");
    let before = story.answered;
    story.asks("Undo 1 change", "Undo 1 change?");
    story.says_yes("Undid 1 change");
    assert_eq!(story.answered - before, 1, "mcpkg asks once");
    story.says("mcpkg asks, and **Yes** needs the passkey. The undo is a change of its own, which you can undo too.");
}

/// The person edits a workflow, and makes a mistake.
fn edit(story: &mut Story) {
    story.says("## Edit a workflow\n\nYou add a step to a workflow, and misspell the name of the first step. The editor marks the mistake.");
    story.open("/workflow?name=new_app", "create_app");
    story.follow("Edit", "Text of the workflow");
    replace(&story.chromium, &(WORKFLOW.to_owned() + ADDED));
    story.wait("Change to create_app");
    story.shows("mistake", "light", "The editor, with a mistake and a button that fixes it");
    story.says("A button fixes it. **Save** shows the difference, and asks.");
    story.chromium.press("Change to create_app");
    story.chromium.wait_until(|text| !text.contains("there is no step"), "the text without the mistake");
    story.asks("Save", "Save this text?");
    story.shows("save", "light", "The question before saving, with the difference");
    story.says_yes("Saved new_app as revision 2");
}

/// The person runs the workflow, and watches the run.
fn run(story: &mut Story, ground: &Ground) {
    story.says("## Run it\n\n**Run** shows each request with its values, and asks.");
    story.open("/workflow?name=new_app", "add_db");
    let question = story.asks("Run", "Run the workflow new_app");
    assert_eq!(question.matches("POST http").count(), 2, "{question}");
    story.shows("run", "light", "The question before the run, with both requests");
    ground.api.trouble([300, 8_000].map(|time| Trouble::Late(Duration::from_millis(time))));
    story.says_yes("Running");
    story.says("The page of the run begins with a timeline, and follows the run.");
    story.wait("Open the run");
    story.follow("Open the run", "Timeline");
    story.wait("ok 201");
    story.shows("under-way", "light", "The timeline: one step is done, and one is under way");
    story.wait("SUCCEEDED");
    story.shows("succeeded", "light", "The timeline after both steps succeeded");
}
