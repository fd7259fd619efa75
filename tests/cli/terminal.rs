//! Tests of what a terminal shows: tables and sentences that fit it.

use insta::assert_snapshot;
use regex::{Captures, Regex};

use crate::support::{Scratch, agents, shown_on, skipped};

/// Returns a project with a path and a description that are longer than a narrow terminal. Nothing is deployed yet.
fn deployed() -> Scratch {
    let scratch = Scratch::with_project_in_tmp();
    scratch.file(
        ".claude/commands/review.md",
        "---\ndescription: Reviews a change for what breaks, for what is missing and for what nobody will understand in a year\n---\nReview\n",
    );
    scratch.file(".claude/commands/release/write-the-notes-of-a-release.md", "Write the notes\n");
    scratch.file(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
    scratch.file("CLAUDE.md", "Rules\n");
    scratch.ok(&["import", ".claude", "CLAUDE.md"]);
    // The deploy root is below this folder. A CLAUDE.md above the root would hide AGENTS.md.
    std::fs::remove_file(scratch.path().join("CLAUDE.md")).expect("a file");
    std::fs::create_dir(scratch.path().join("work")).expect("a folder");
    scratch
}

/// Returns what a command shows on terminals of 40, 80, 100 and 160 columns. Values that differ from run to run are
/// masked.
///
/// # Errors
/// Returns the reason why the test cannot run on this machine.
fn on_four_widths(scratch: &Scratch, arguments: &[&str]) -> Result<String, &'static str> {
    // Where a path is cut depends on its length, so the scratch folder must be in /tmp.
    let random = scratch.path().to_str().and_then(|path| path.strip_prefix("/tmp/mcpkg-test-"));
    let random = random.ok_or("the scratch folder is not in /tmp")?;
    let mut all = String::new();
    for columns in [40, 80, 100, 160] {
        let mut shown =
            shown_on(columns, scratch.command().env("PATH", "/usr/bin:/bin").args(arguments).arg("--quiet"))
                .ok_or(NO_SCRIPT)?;
        // mcpkg does not wrap sentences; the terminal does.
        let is_too_wide =
            |line: &&str| unstyled(line).chars().count() > usize::from(columns) && !line.contains(" bytes (about ");
        let too_wide = shown.lines().find(is_too_wide);
        assert!(
            arguments.first() == Some(&"doctor") || too_wide.is_none(),
            "wider than {columns}: {too_wide:?}\n{shown}"
        );
        shown = shown.replace(random, &"X".repeat(random.len()));
        for cut in 1..random.len() {
            let masked = "X".repeat(random.len() - cut);
            // Paths within the folder are also cut, possibly inside the folder's random name.
            shown = shown.replace(&format!("…{}/work", &random[cut..]), &format!("…{masked}/work"));
            let (start, masked) = (&random[..cut], "X".repeat(cut));
            shown = shown.replace(&format!("mcpkg-test-{start}…"), &format!("mcpkg-test-{masked}…"));
        }
        all.push_str(&format!("--- {columns}\n{}", masked(&unstyled(&shown))));
    }
    Ok(all)
}

pub(super) fn unstyled(text: &str) -> String {
    Regex::new("\x1b\\[[0-9;]*m").expect("a pattern").replace_all(text, "").into_owned()
}

fn masked(text: &str) -> String {
    let with = |text: &str, pattern: &str, mask: fn(char) -> char| {
        let pattern = Regex::new(pattern).expect("a pattern");
        pattern.replace_all(text, |found: &Captures<'_>| found[0].chars().map(mask).collect::<String>()).into_owned()
    };
    let text = with(text, r"20\d\d-\d\d-\d\d(T[\d:.]*Z?)?", |c| if c.is_ascii_digit() { '0' } else { c });
    with(&text, r"\b[0-9a-f]{8}-[0-9a-f-]*", |c| if c.is_ascii_hexdigit() { 'x' } else { c })
}

pub(super) const NO_SCRIPT: &str = "there is no script(1)";

#[test]
fn prompts_keep_their_names() {
    let scratch = deployed();
    let shown = match on_four_widths(&scratch, &["prompt", "list"]) {
        Ok(shown) => shown,
        Err(why) => return skipped(why),
    };
    assert_snapshot!(shown, @r#"
    --- 40
    NAME                            BYTES  …
    release.write-the-notes-of-a-   16
    release
    review                          7
    --- 80
    NAME                                  BYTES  REVISION  UPDATED      DESCRIPTION
    release.write-the-notes-of-a-release  16     1         0000-00-00…
    review                                7      1         0000-00-00…  Reviews a c…
    --- 100
    NAME                                  BYTES  REVISION  UPDATED               DESCRIPTION
    release.write-the-notes-of-a-release  16     1         0000-00-00T00:00:00Z
    review                                7      1         0000-00-00T00:00:00Z  Reviews a change for w…
    --- 160
    NAME                                  BYTES  REVISION  UPDATED               DESCRIPTION
    release.write-the-notes-of-a-release  16     1         0000-00-00T00:00:00Z
    review                                7      1         0000-00-00T00:00:00Z  Reviews a change for what breaks, for what is missing and for what nobody will und…
    "#);
}

#[test]
fn a_plan_and_a_status_name_paths_below_the_root() {
    let scratch = deployed();
    let shown = match on_four_widths(&scratch, &["plan", "--root", "work"]) {
        Ok(shown) => shown,
        Err(why) => return skipped(why),
    };
    assert_snapshot!(shown, @r#"
    --- 40
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      path                           …
    create  .claude/commands/release/
            write-the-notes-of-a-
            release.md
    create  .claude/commands/review.md
    create  .claude/skills/pdf/SKILL.md
    create  AGENTS.md
    create  .agents/skills/pdf/SKILL.md
    create  .agents/skills/release-write-
            the-notes-of-a-release/
            SKILL.md
    create  .agents/skills/review/
            SKILL.md
    create  .cursor/commands/release/
            write-the-notes-of-a-
            release.md
    create  .cursor/commands/review.md
    9 to create, 0 to update, 0 to delete
    Loaded in each session:
      Claude Code 0 -> 15 bytes (about 0 -> 3 tokens; 7 bytes list 1 skill)
      Codex 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      Cursor 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      VS Code 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
    --- 80
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      targets      path                                                      …
    create  claude_code  .claude/commands/release/write-the-notes-of-a-release.md
    create  claude_code  .claude/commands/review.md
    create  claude_code  .claude/skills/pdf/SKILL.md
    create  claude_cod…  AGENTS.md
    create  codex,curs…  .agents/skills/pdf/SKILL.md
    create  codex,vsco…  .agents/skills/release-write-the-notes-of-a-release/
                         SKILL.md
    create  codex,vsco…  .agents/skills/review/SKILL.md
    create  cursor       .cursor/commands/release/write-the-notes-of-a-release.md
    create  cursor       .cursor/commands/review.md
    9 to create, 0 to update, 0 to delete
    Loaded in each session:
      Claude Code 0 -> 15 bytes (about 0 -> 3 tokens; 7 bytes list 1 skill)
      Codex 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      Cursor 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      VS Code 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
    --- 100
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      targets           path                                                          reason
    create  claude_code       .claude/commands/release/write-the-notes-of-a-release.md      file missing
    create  claude_code       .claude/commands/review.md                                    file missing
    create  claude_code       .claude/skills/pdf/SKILL.md                                   file missing
    create  claude_code,cod…  AGENTS.md                                                     file missing
    create  codex,cursor,vs…  .agents/skills/pdf/SKILL.md                                   file missing
    create  codex,vscode      .agents/skills/release-write-the-notes-of-a-release/SKILL.md  file missing
    create  codex,vscode      .agents/skills/review/SKILL.md                                file missing
    create  cursor            .cursor/commands/release/write-the-notes-of-a-release.md      file missing
    create  cursor            .cursor/commands/review.md                                    file missing
    9 to create, 0 to update, 0 to delete
    Loaded in each session:
      Claude Code 0 -> 15 bytes (about 0 -> 3 tokens; 7 bytes list 1 skill)
      Codex 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      Cursor 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      VS Code 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
    --- 160
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      targets                          path                                                          needs  reason
    create  claude_code                      .claude/commands/release/write-the-notes-of-a-release.md             file missing
    create  claude_code                      .claude/commands/review.md                                           file missing
    create  claude_code                      .claude/skills/pdf/SKILL.md                                          file missing
    create  claude_code,codex,cursor,vscode  AGENTS.md                                                            file missing
    create  codex,cursor,vscode              .agents/skills/pdf/SKILL.md                                          file missing
    create  codex,vscode                     .agents/skills/release-write-the-notes-of-a-release/SKILL.md         file missing
    create  codex,vscode                     .agents/skills/review/SKILL.md                                       file missing
    create  cursor                           .cursor/commands/release/write-the-notes-of-a-release.md             file missing
    create  cursor                           .cursor/commands/review.md                                           file missing
    9 to create, 0 to update, 0 to delete
    Loaded in each session:
      Claude Code 0 -> 15 bytes (about 0 -> 3 tokens; 7 bytes list 1 skill)
      Codex 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      Cursor 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
      VS Code 0 -> 334 bytes (about 0 -> 83 tokens; 201 bytes list 3 skills)
    "#);
    scratch.ok(&["deploy", "--apply", "--root", "work", "--target", "claude_code", "--yes"]);
    scratch.file("work/.claude/skills/pdf/SKILL.md", "changed\n");
    let shown = on_four_widths(&scratch, &["status", "--root", "work", "--target", "claude_code"]).expect("script");
    assert_snapshot!(shown, @r#"
    --- 40
    Below /tmp/mcpkg-test-XXXXXX/work:
    kind      path                         …
    modified  .claude/skills/pdf/SKILL.md
    Loaded in each session:
      Claude Code 11 bytes (about 2 tokens; 3 bytes list 1 skill)
    --- 80
    Below /tmp/mcpkg-test-XXXXXX/work:
    kind      state          targets      path
    modified  user_modified  claude_code  .claude/skills/pdf/SKILL.md
    Loaded in each session:
      Claude Code 11 bytes (about 2 tokens; 3 bytes list 1 skill)
    --- 100
    Below /tmp/mcpkg-test-XXXXXX/work:
    kind      state          targets      path
    modified  user_modified  claude_code  .claude/skills/pdf/SKILL.md
    Loaded in each session:
      Claude Code 11 bytes (about 2 tokens; 3 bytes list 1 skill)
    --- 160
    Below /tmp/mcpkg-test-XXXXXX/work:
    kind      state          targets      path
    modified  user_modified  claude_code  .claude/skills/pdf/SKILL.md
    Loaded in each session:
      Claude Code 11 bytes (about 2 tokens; 3 bytes list 1 skill)
    "#);
    let shown = on_four_widths(&scratch, &["snapshot", "list", "--all"]).expect("script");
    // In a narrow terminal, an id continues in the next row.
    let shown = Regex::new("(?m)^[0-9a-f]{12}$").expect("a pattern").replace_all(&shown, "xxxxxxxxxxxx").into_owned();
    assert_snapshot!(shown, @r#"
    --- 40
    ID                             KIND    …
    xxxxxxxx-xxxx-xxxx-xxxx-       deploy
    xxxxxxxxxxxx
    --- 80
    ID                                    MADE             KIND    STATE    FILES  …
    xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx  0000-00-00T00:…  deploy  applied  4
    --- 100
    ID                                    MADE          KIND    STATE    FILES  TARGETS      ROOT
    xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx  0000-00-00T…  deploy  applied  4      claude_code  …XXXXX/work
    --- 160
    ID                                    MADE                  KIND    STATE    FILES  TARGETS      ROOT
    xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx  0000-00-00T00:00:00Z  deploy  applied  4      claude_code  /tmp/mcpkg-test-XXXXXX/work
    "#);
    let listed = scratch.json(&["snapshot", "list", "--all"]);
    let id = listed["data"]["snapshots"][0]["id"].as_str().or(listed["data"]["snapshots"][0]["snapshot_id"].as_str());
    let shown = on_four_widths(&scratch, &["snapshot", "show", id.expect("an id")]).expect("script");
    let shown = Regex::new("[0-9a-f]{12} ").expect("a pattern").replace_all(&shown, "xxxxxxxxxxxx ").into_owned();
    assert_snapshot!(shown, @r#"
    --- 40
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      path                      …
    create  .claude/commands/
            release/write-the-notes-
            of-a-release.md
    create  .claude/commands/
            review.md
    create  .claude/skills/pdf/
            SKILL.md
    create  AGENTS.md
    --- 80
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      path                                                 before  after
    create  .claude/commands/release/write-the-notes-of-a-       -       4cd2332bb6…
            release.md
    create  .claude/commands/review.md                           -       b940ba1542…
    create  .claude/skills/pdf/SKILL.md                          -       01ece69a19…
    create  AGENTS.md                                            -       4a8be6780c…
    --- 100
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      path                                                      before  after
    create  .claude/commands/release/write-the-notes-of-a-release.md  -       xxxxxxxxxxxx 644
    create  .claude/commands/review.md                                -       xxxxxxxxxxxx 644
    create  .claude/skills/pdf/SKILL.md                               -       xxxxxxxxxxxx 644
    create  AGENTS.md                                                 -       xxxxxxxxxxxx 644
    --- 160
    Below /tmp/mcpkg-test-XXXXXX/work:
    op      path                                                      before  after
    create  .claude/commands/release/write-the-notes-of-a-release.md  -       xxxxxxxxxxxx 644
    create  .claude/commands/review.md                                -       xxxxxxxxxxxx 644
    create  .claude/skills/pdf/SKILL.md                               -       xxxxxxxxxxxx 644
    create  AGENTS.md                                                 -       xxxxxxxxxxxx 644
    "#);
    // In a pipe, nothing is cut, and paths are complete.
    let piped = scratch.ok(&["plan", "--root", "work"]);
    assert!(
        piped.contains("<SCRATCH>/work/.claude/commands/release/") || piped.contains("<SCRATCH>/work/.agents/"),
        "{piped}"
    );
    assert!(!piped.contains('…') && !piped.contains("Below"), "{piped}");
}

#[test]
fn requests_for_consent_show_the_operation_and_the_requester() {
    use mcpkg_base::clock::Clock;
    use mcpkg_store::consents::{self, Binding, New};
    let scratch = Scratch::with_project_in_tmp();
    let clock = Clock::system();
    let binding = Binding { operation: "rollback", asker: "user", project: "p", inputs: "{}", plan_hash: "hash" };
    let new = New {
        uuid: clock.uuid(),
        binding,
        caller: "mcp:claude-code",
        summary: "Roll back /home/ada/work to how it was before any deploy: 12 files",
        effects: "[]",
        effect: Some("destroys"),
        asked_at: clock.now(),
        expires_at: clock.now() + 3_600_000,
    };
    assert!(scratch.store().write(|db| consents::insert(db, &new)).expect("a row"));
    let shown = match on_four_widths(&scratch, &["consent", "list"]) {
        Ok(shown) => shown,
        Err(why) => return skipped(why),
    };
    let shown = Regex::new(r"\b[0-9a-f]{12}\b").expect("a pattern").replace_all(&shown, "xxxxxxxxxxxx").into_owned();
    assert_snapshot!(shown, @r#"
    --- 40
    ID            WHAT           EFFECT    …
    xxxxxxxxxxxx  Roll back /h…  destroys
    --- 80
    ID            WHAT              EFFECT    EXPIRES          STATE    OPERATION  …
    xxxxxxxxxxxx  Roll back /home…  destroys  0000-00-00T00:…  pending  rollback
    --- 100
    ID            WHAT              EFFECT    EXPIRES           STATE    ASKED BY     PROJECT  OPERATION
    xxxxxxxxxxxx  Roll back /home…  destroys  0000-00-00T00:0…  pending  mcp:claude…  p        rollback
    --- 160
    ID            WHAT                                                                EFFECT    EXPIRES               STATE    ASKED BY         PROJECT  OPERATION
    xxxxxxxxxxxx  Roll back /home/ada/work to how it was before any deploy: 12 files  destroys  0000-00-00T00:00:00Z  pending  mcp:claude-code  p        rollback
    "#);
}

#[test]
fn doctor_does_not_cut_the_words_of_its_advice() {
    let scratch = deployed();
    // The width of the columns depends on the path of the database.
    if !scratch.is_file() {
        return;
    }
    let shown = match on_four_widths(&scratch, &["doctor", "--root", "work"]) {
        Ok(shown) => shown,
        Err(why) => return skipped(why),
    };
    assert_snapshot!(shown, @r#"
    --- 40
    what         where               state
    clients      no agents are con…  note
        mcpkg client add NAME
    database     /tmp/mcpkg-test-X…  ok
    selection    using project 'p'…  ok
    claude_code  …ork/.claude/rules  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.claude/rules
    codex        …-test-XXXXXX/work  ok
    cursor       …ork/.cursor/rules  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.cursor/rules
    vscode       …XXXX/work/.github  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.github
    claude_code  …rk/.claude/skills  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.claude/skills
    claude_code  …/.claude/commands  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.claude/commands
    codex        …rk/.agents/skills  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       …rk/.agents/skills  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       …/.cursor/commands  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.cursor/commands
    vscode       …rk/.agents/skills  missing
        create directory: mkdir -p
        /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    --- 80
    what         where                                         state
    clients      no agents are connected                       note
        mcpkg client add NAME
    database     /tmp/mcpkg-test-XXXXXX/test.db is sound       ok
    selection    using project 'p' (selected)                  ok
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/rules     missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/rules
    codex        /tmp/mcpkg-test-XXXXXX/work                   ok
    cursor       /tmp/mcpkg-test-XXXXXX/work/.cursor/rules     missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.cursor/rules
    vscode       /tmp/mcpkg-test-XXXXXX/work/.github           missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.github
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/skills
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/commands  missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/commands
    codex        /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       /tmp/mcpkg-test-XXXXXX/work/.cursor/commands  missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.cursor/commands
    vscode       /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    --- 100
    what         where                                         state
    clients      no agents are connected                       note
        mcpkg client add NAME
    database     /tmp/mcpkg-test-XXXXXX/test.db is sound       ok
    selection    using project 'p' (selected)                  ok
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/rules     missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/rules
    codex        /tmp/mcpkg-test-XXXXXX/work                   ok
    cursor       /tmp/mcpkg-test-XXXXXX/work/.cursor/rules     missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.cursor/rules
    vscode       /tmp/mcpkg-test-XXXXXX/work/.github           missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.github
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/skills
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/commands  missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/commands
    codex        /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       /tmp/mcpkg-test-XXXXXX/work/.cursor/commands  missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.cursor/commands
    vscode       /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing
        create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    --- 160
    what         where                                         state    what to do
    clients      no agents are connected                       note     mcpkg client add NAME
    database     /tmp/mcpkg-test-XXXXXX/test.db is sound       ok
    selection    using project 'p' (selected)                  ok
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/rules     missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/rules
    codex        /tmp/mcpkg-test-XXXXXX/work                   ok
    cursor       /tmp/mcpkg-test-XXXXXX/work/.cursor/rules     missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.cursor/rules
    vscode       /tmp/mcpkg-test-XXXXXX/work/.github           missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.github
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/skills    missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/skills
    claude_code  /tmp/mcpkg-test-XXXXXX/work/.claude/commands  missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.claude/commands
    codex        /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    cursor       /tmp/mcpkg-test-XXXXXX/work/.cursor/commands  missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.cursor/commands
    vscode       /tmp/mcpkg-test-XXXXXX/work/.agents/skills    missing  create directory: mkdir -p /tmp/mcpkg-test-XXXXXX/work/.agents/skills
    "#);
}

#[test]
fn each_event_and_each_client_is_one_line() {
    let scratch = deployed();
    let shown = match on_four_widths(&scratch, &["events"]) {
        Ok(shown) => shown,
        Err(why) => return skipped(why),
    };
    let shown = Regex::new(" [0-9a-f]{12}\\b").expect("a pattern").replace_all(&shown, " XXXXXXXXXXXX").into_owned();
    assert_snapshot!(shown, @r#"
    --- 40
    SEQ  WHAT           SUBJECT            …
    1    project.crea…  p
    2    import         .claude CLAUDE.md
    --- 80
    SEQ  AT            BY     PROJECT  WHAT            SUBJECT            OUTCOME  …
    1    0000-00-00T…  shell  p        project.create  p                  ok
    2    0000-00-00T…  shell  p        import          .claude CLAUDE.md  ok
    --- 100
    SEQ  AT                    BY     PROJECT  WHAT            SUBJECT            OUTCOME  SESSION
    1    0000-00-00T00:00:00Z  shell  p        project.create  p                  ok       XXXXXXXXXXXX
    2    0000-00-00T00:00:00Z  shell  p        import          .claude CLAUDE.md  ok       XXXXXXXXXXXX
    --- 160
    SEQ  AT                    BY     PROJECT  WHAT            SUBJECT            OUTCOME  SESSION
    1    0000-00-00T00:00:00Z  shell  p        project.create  p                  ok       XXXXXXXXXXXX
    2    0000-00-00T00:00:00Z  shell  p        import          .claude CLAUDE.md  ok       XXXXXXXXXXXX
    "#);
    let entry = r#"{"mcpServers":{"mcpkg":{"command":"/usr/local/lib/mcpkg/bin/mcpkg","args":["serve"]}}}"#;
    scratch.file(".cursor/mcp.json", entry);
    let shown = on_four_widths(&scratch, &["client", "list"]).expect("script");
    // Agents that are not installed have a line each, with no other information.
    let named = ["claude-code", "claude-desktop", "cursor"];
    let (others, shown): (Vec<&str>, Vec<&str>) = shown.lines().partition(|line| {
        let first = line.split(' ').next().unwrap_or_default();
        agents().iter().any(|agent| agent.name == first && !named.contains(&first))
    });
    assert_eq!(others.len(), 4 * (agents().len() - named.len()), "{others:#?}");
    for line in others {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words[1..3] == ["not", "found"] && words[3..].iter().all(|word| *word == "-"), "{line}");
    }
    assert_snapshot!(shown.join("\n"), @r#"
    --- 40
    AGENT           STATE      NAME   …
    claude-code     installed  -
    claude-desktop  not found  -
    cursor          installed  mcpkg
    --- 80
    AGENT           STATE      NAME   SCOPE  FILE            RUNS            BINARY
    claude-code     installed  -      -      -               -               -
    claude-desktop  not found  -      -      -               -               -
    cursor          installed  mcpkg  user   …rsor/mcp.json  /usr/local/li…  missing
    --- 100
    AGENT           STATE      NAME   SCOPE  FILE                      RUNS                      BINARY
    claude-code     installed  -      -      -                         -                         -
    claude-desktop  not found  -      -      -                         -                         -
    cursor          installed  mcpkg  user   …XXXXXX/.cursor/mcp.json  /usr/local/lib/mcpkg/bi…  missing
    --- 160
    AGENT           STATE      NAME   SCOPE  FILE                                     RUNS                                  BINARY
    claude-code     installed  -      -      -                                        -                                     -
    claude-desktop  not found  -      -      -                                        -                                     -
    cursor          installed  mcpkg  user   /tmp/mcpkg-test-XXXXXX/.cursor/mcp.json  /usr/local/lib/mcpkg/bin/mcpkg serve  missing
    "#);
}
