//! Tests of a project as a source of modules: the modules, what is left out, and what changes the fingerprint.

use mcpkg_base::error::Code;
use mcpkg_core::op::Context;
use mcpkg_deploy::module::{Kind, Module};
use mcpkg_deploy::project::{self, Broken};
use mcpkg_store::modules::{self, Applies, Row};
use mcpkg_store::prompts;
use mcpkg_store::resources;

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
    let composition = context.read(|db, project| project::compose(db, project, |_, _| {})).expect("modules");
    assert!(composition.broken.is_empty(), "{:?}", composition.broken);
    (composition.modules, composition.warnings)
}

fn fingerprint(context: &Context) -> [u8; 32] {
    context.read(|db, of| project::fingerprint(db, of.id)).expect("a fingerprint")
}

/// Returns each module as a line: its id, kind and files.
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
            "resource 'bad' is left out: skill://pdf/../../x is not a valid file path",
            "skill://half/ has no SKILL.md, so it is not a skill; it is left out",
        ]
    );
}

#[test]
fn rows_change_a_module() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    let review = prompt(&context, "review", "Review it\n");
    let doc = resource(&context, "doc", "file:///doc.md", "Doc");
    resource(&context, "s", "skill://pdf/SKILL.md", "# PDF");
    let row = |item: String, kind: Option<&str>, enabled: bool| {
        let targets = vec!["codex".to_owned()];
        let (kind, tags) = (kind.map(str::to_owned), vec!["a".to_owned()]);
        let row = Row { item, kind, tags, targets, enabled, ..Row::default() };
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

#[test]
fn an_edited_file_goes_back_where_it_came_from() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    scratch.file("p/.claude/commands/a/b.md", "---\nmodel: opus\n---\nDo $1\n");
    scratch.file("p/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF");
    scratch.file("p/CLAUDE.md", "Rules");
    scratch.ok(&["import", "p"]);
    let back = |module: &str, file: &str, bytes: &[u8]| {
        context.write("t", module, |db, of, author| {
            project::write_back(db, author, of, module, file, bytes, &context.clock)
        })
    };
    let edits: [(&str, &str, &[u8]); 5] = [
        ("command:a.b", "a/b.md", b"---\nmodel: haiku\ndescription: New\n---\nDo $1 and $2\n"),
        ("skill:pdf", "SKILL.md", b"---\nname: pdf\ndescription: All of PDF\n---\n# PDF"),
        ("skill:pdf", "bin/new one", b"\x00\xff"),
        ("skill:pdf", "empty.md", b""),
        ("instructions:CLAUDE.md", "AGENTS.md", b"More rules"),
    ];
    for (module, file, bytes) in edits {
        back(module, file, bytes).expect("it goes back");
        let before = fingerprint(&context);
        back(module, file, bytes).expect("it is there already");
        assert_eq!(fingerprint(&context), before, "{module} {file} made a revision of nothing");
    }
    let (modules, _) = compose(&context);
    for (id, path, bytes) in edits {
        let module = modules.iter().find(|module| module.id == id).expect("a module");
        let file = module.files.iter().find(|file| file.path == path).expect("a file");
        assert_eq!(&*file.bytes, bytes, "{id} {path}");
        let item = context.read(|db, of| project::item_of(db, of, id, path)).expect("an item");
        assert!(item.is_some_and(|item| item.starts_with("prompt:") || item.starts_with("resource:")));
    }
    let skill = scratch.json(&["resource", "list"])["resources"].clone();
    let skill = skill.as_array().expect("rows").iter().find(|row| row["uri"] == "skill://pdf/SKILL.md").cloned();
    assert_eq!(skill.expect("the skill")["description"], "All of PDF");
    assert_eq!(scratch.ok(&["prompt", "show", "a.b", "-a", "arg1=x"]), "Do x and $2\n");

    let code = |module: &str, file: &str, bytes: &[u8]| back(module, file, bytes).expect_err("refused").code();
    assert_eq!(code("command:a.c", "x.md", b"x"), Code::NotFound);
    assert_eq!(code("command:a.b", "x.md", b"x"), Code::NotFound);
    assert_eq!(code("skill:pdf", "../x", b"x"), Code::NotFound);
    assert_eq!(code("command:a.b", "a/b.md", b"\xff"), Code::InvalidArgument);
    assert_eq!(code("command:a.b", "a/b.md", b"---\nmodel: x\n---\n"), Code::InvalidArgument);
}

#[test]
fn a_prompt_that_cannot_be_written_is_named() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    let broken = prompt(&context, "broken", "x");
    context
        .write("t", "", |db, project, author| {
            let attributes = prompts::Attributes { template: true, ..prompts::Attributes::default() };
            prompts::update(db, author, project, prompts::Prompt { attributes, ..broken }, "update", "{{ nobody }}")
        })
        .expect("an update");
    // Other modules are still composed.
    prompt(&context, "sound", "Sound\n");
    let composed = context.read(|db, project| project::compose(db, project, |_, _| {})).expect("modules");
    assert_eq!(lines(&composed.modules), ["command:sound command: sound.md=Sound\n"]);
    let [Broken { id, why, .. }] = composed.broken.as_slice() else { panic!("{:?}", composed.broken) };
    assert_eq!((id.as_str(), why.code()), ("command:broken", Code::TemplateFailed));
    let expected =
        "Prompt 'broken' cannot be written as a file: The prompt template uses undeclared arguments: 'nobody'";
    assert_eq!(why.message(), expected);
    assert!(why.hints()[0].contains("mcpkg module remove command:broken"));
    scratch.ok(&["module", "remove", "command:broken"]);
    assert_eq!(compose(&context).0.len(), 1);
}

#[test]
fn contents_are_read_in_batches_and_reported_as_progress() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    for number in 0..130 {
        prompt(&context, &format!("p{number:03}"), &format!("Text {}\n", number % 100));
    }
    let told = std::sync::Mutex::new(Vec::new());
    let composed = context.read(|db, project| {
        project::compose(db, project, |done, total| told.lock().expect("a list").push((done, total)))
    });
    let modules = composed.expect("modules").modules;
    assert_eq!(told.into_inner().expect("a list"), [(0, 130), (64, 130), (128, 130), (130, 130)]);
    let text = |n: usize| String::from_utf8_lossy(&modules[n].files[0].bytes).into_owned();
    assert_eq!((modules.len(), text(0), text(129)), (130, "Text 0\n".to_owned(), "Text 29\n".to_owned()));
}

#[test]
fn an_import_and_a_deploy_are_the_same_bytes() {
    let scratch = Scratch::with_project_here();
    let files = [
        (
            "review.md",
            "---\r\ndescription: Review\r\nallowed-tools: Bash(git:*)\r\n---\r\n\r\nReview $ARGUMENTS, {{ x }}\r\n",
        ),
        ("dir/two words.md", "Fix $1 of {% raw %}"),
        ("odd.md", "---\n- no\n---\n$1"),
    ];
    for (path, text) in files {
        scratch.file(&format!("p/.claude/commands/{path}"), text);
    }
    scratch.ok(&["import", "p"]);
    let (modules, _) = compose(&scratch.context());
    for (path, text) in files {
        let file = modules.iter().flat_map(|module| &module.files).find(|file| file.path == path).expect("a file");
        assert_eq!(&*file.bytes, text.as_bytes());
    }
}

#[test]
fn a_row_stores_when_its_instructions_apply_and_their_origin() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    let rule = resource(&context, "rule", "instructions://rule", "Use tabs");
    let item = format!("resource:{}", rule.uuid);
    let globs = Applies::Globs(vec!["src/**".to_owned(), "*.rs".to_owned()]);
    let mut fingerprints = vec![fingerprint(&context)];
    for applies in [globs, Applies::Described, Applies::Manual, Applies::Always] {
        let row = Row {
            item: item.clone(),
            enabled: true,
            applies,
            agent: Some("cursor".to_owned()),
            path: Some(".cursor/rules/rule.mdc".to_owned()),
            ..Row::default()
        };
        context.write("t", "", |db, project, _| modules::put(db, project.id, &row)).expect("a row");
        let kept = context.read(|db, project| modules::all(db, project.id)).expect("the rows");
        assert_eq!(kept, [row]);
        let now = fingerprint(&context);
        assert!(!fingerprints.contains(&now), "a plan that was made before no longer holds");
        fingerprints.push(now);
    }
}
