//! A project as a source of modules: what it composes, what is left out, what changes its fingerprint.

use mcpkg::deploy::module::{Kind, Module};
use mcpkg::deploy::project;
use mcpkg::op::Context;
use mcpkg::store::modules::{self, Row};
use mcpkg::store::prompts;
use mcpkg::store::resources;

use crate::support::Scratch;

fn prompt(context: &Context, name: &str, text: &str) -> prompts::Prompt {
    let written = context.write("t", name, |db, project, author| {
        prompts::insert(db, author, project, context.clock.uuid(), name, prompts::Attributes::default(), text)
    });
    written.expect("a prompt")
}

fn resource(context: &Context, name: &str, uri: &str, content: &str) -> resources::Resource {
    let attributes = resources::Attributes {
        uri: uri.to_owned(),
        description: None,
        mime_type: None,
        text: true,
        executable: uri.ends_with(".sh"),
    };
    let written = context.write("t", name, |db, project, author| {
        resources::insert(
            db,
            author,
            project,
            context.clock.uuid(),
            name,
            attributes,
            &content.as_bytes().to_vec().into(),
        )
    });
    written.expect("a resource")
}

fn compose(context: &Context) -> (Vec<Module>, Vec<String>) {
    context.read(project::compose).expect("modules")
}

fn fingerprint(context: &Context) -> [u8; 32] {
    context.read(|db, of| project::fingerprint(db, of.id)).expect("a fingerprint")
}

/// Each module as a line: id, kind, and its files.
fn lines(modules: &[Module]) -> Vec<String> {
    let line = |module: &Module| {
        let files = module.files.iter().map(|file| {
            let program = if file.executable { "*" } else { "" };
            format!(" {}{program}={}", file.path, String::from_utf8_lossy(&file.bytes))
        });
        format!("{} {}:{}", module.id, module.kind.word(), files.collect::<String>())
    };
    modules.iter().map(line).collect()
}

#[test]
fn a_project_gives_commands_skills_and_instructions() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    prompt(&context, "review", "Review it\n");
    resource(&context, "s", "skill://pdf/SKILL.md", "# PDF");
    resource(&context, "r", "skill://pdf/scripts/run%20me.sh", "ls");
    resource(&context, "i", "instructions://web.AGENTS.md", "Rules");
    resource(&context, "doc", "file:///doc.md", "Doc");
    resource(&context, "half", "skill://half/notes.md", "x");
    resource(&context, "bad", "skill://pdf/../../x", "x");
    let (modules, warnings) = compose(&context);
    assert_eq!(
        lines(&modules),
        [
            "command:review command: review.md=Review it\n",
            "instructions:web.AGENTS.md instructions: AGENTS.md=Rules",
            "skill:pdf skill: SKILL.md=# PDF scripts/run me.sh*=ls",
        ]
    );
    assert_eq!(
        warnings,
        [
            "resource 'bad' is left out: skill://pdf/../../x names no file that could be written",
            "skill://half/ has no SKILL.md, so it is no skill; it is left out",
        ]
    );
}

#[test]
fn rows_change_what_a_module_is() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    let review = prompt(&context, "review", "Review it\n");
    let doc = resource(&context, "doc", "file:///doc.md", "Doc");
    resource(&context, "s", "skill://pdf/SKILL.md", "# PDF");
    let row = |item: String, kind: Option<&str>, enabled: bool| {
        let targets = vec!["codex".to_owned()];
        let row = Row { item, kind: kind.map(str::to_owned), tags: vec!["a".to_owned()], targets, enabled };
        context.write("t", "", |db, project, _| modules::put(db, project.id, &row)).expect("a row");
    };
    let mut seen = vec![fingerprint(&context)];
    let mut differs = |context: &Context| {
        let now = fingerprint(context);
        assert!(!seen.contains(&now));
        seen.push(now);
    };
    row(format!("prompt:{}", review.uuid), Some("prompt"), true);
    differs(&context);
    row(format!("resource:{}", doc.uuid), Some("instructions"), true);
    differs(&context);
    row("skill:pdf".to_owned(), None, false);
    differs(&context);
    row("skill:gone".to_owned(), None, false);
    let (modules, warnings) = compose(&context);
    assert_eq!(
        lines(&modules),
        ["instructions:doc instructions: AGENTS.md=Doc", "prompt:review prompt: review.md=Review it\n"]
    );
    assert_eq!(modules[0].kind, Kind::Instructions);
    assert_eq!(modules[0].targets.iter().map(|target| target.name()).collect::<Vec<_>>(), ["codex"]);
    assert_eq!(warnings, [""; 0]);
    differs(&context);
    context
        .write("t", "", |db, project, author| {
            resources::update(db, author, project, doc, "update", Some(&b"New".to_vec().into()))
        })
        .expect("an update");
    differs(&context);
    context.write("t", "", |db, project, author| prompts::delete(db, author, project, "review")).expect("a deletion");
    differs(&context);
    assert_eq!(lines(&compose(&context).0), ["instructions:doc instructions: AGENTS.md=New"]);
}
