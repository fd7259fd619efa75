//! Writes the generated pages in docs/reference with `UPDATE_DOCS=1 cargo test docs`. Otherwise checks that they are
//! current.

use std::fmt::Write;
use std::path::Path;

use mcpkg_agents::agents::places::{AgentsMd, Commands, OriginalForm, OriginalPlace, OwnInstructions, Rules};
use mcpkg_agents::audit::rules::{RULES, Reads, Severity};
use mcpkg_agents::forms::rule::{GlobList, Switch, Words};
use mcpkg_agents::forms::subagent::{SubagentForm, ToolNames};
use mcpkg_base::error::Code;
use mcpkg_deploy::targets::Target;
use mcpkg_workflow::finding::Kind;

pub(super) fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a page");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "docs/reference/{name} is not current: run `UPDATE_DOCS=1 cargo test docs`");
}

#[test]
fn docs_of_the_errors_are_current() {
    let mut page = String::from(
        "# Errors\n\nOn a terminal, mcpkg prints `error:` and `hint:` lines to stderr. With `--json` it prints an object with `code`,\n\
         `message`, `hints` and `details` to stdout ([JSON](json.md)). A failed tool call is a result with `isError`; any other MCP\n\
         method that fails answers with the JSON-RPC code. Workspace tools answer with the code in the column `workspace`, as a\n\
         JSON-RPC error in the protocol revisions before 2026-07-28.\n\n\
         The deploy commands answer with an envelope, whose `details` contain `reason_code` and `next_actions`. A failure can\n\
         replace both with more specific ones.\n\n\
         | code | exit | JSON-RPC | workspace | meaning | reason_code | next_actions |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for code in Code::ALL {
        let (name, exit, rpc, about, reason) = (code.name(), code.exit(), code.rpc(), code.about(), code.reason());
        let actions = code.next_actions().join(", ");
        writeln!(page, "| `{name}` | {exit} | {rpc} | {} | {about} | {reason} | {actions} |", code.smctl())
            .expect("text");
    }
    check("errors.md", &page);
}

#[test]
fn docs_of_the_keys_are_current() {
    let mut page = String::from(
        "# Keys of the console\n\nA key has the same meaning on every screen where it appears. `?` in `mcpkg console` shows this table, and the last\n\
         row of the screen names the keys that matter there. While the last row says TYPING, letters are text; esc ends that.\n\n\
         | keys | meaning |\n| --- | --- |\n",
    );
    let mut known = Vec::new();
    for key in mcpkg_console::keys::KEYS {
        writeln!(page, "| `{}` | {} |", key.keys, key.meaning).expect("text");
        known.extend(key.keys.split([' ', ',']).filter(|key| !key.is_empty()));
    }
    page.push_str("\n## Screens\n\nBeside the keys of every screen, each has these:\n\n| screen | shows | keys |\n| --- | --- | --- |\n");
    for found in mcpkg_console::screens::SCREENS {
        let keys: Vec<String> = found
            .keys
            .iter()
            .map(|(key, word)| {
                let key = match key {
                    ' ' => "space".to_owned(),
                    '\n' => "enter".to_owned(),
                    key => key.to_string(),
                };
                format!("`{key}` {word}")
            })
            .collect();
        writeln!(page, "| {} | {} | {} |", found.screen, found.shows, keys.join(", ")).expect("text");
    }
    let mut once = known.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), known.len(), "a key has two meanings: {known:?}");
    check("keys.md", &page);
}

#[test]
fn docs_of_the_findings_are_current() {
    let mut page = String::from(
        "# Findings\n\n`mcpkg workflow validate` and the tool `validate_workflow` report these about a [workflow](workflows.md). A workflow\n\
         with errors does not run; warnings do not stop it. Each finding has its line and column, counted from 1. Columns count\n\
         characters, and the end is exclusive.\n",
    );
    let mut family = "";
    for kind in Kind::ALL {
        if kind.family() != family {
            family = kind.family();
            write!(page, "\n## {family}\n\n| code | severity | meaning | example |\n| --- | --- | --- | --- |\n")
                .expect("text");
        }
        let severity = match kind.severity() {
            mcpkg_workflow::finding::Severity::Error => "error",
            mcpkg_workflow::finding::Severity::Warning => "warning",
        };
        let example = kind.example().replace('|', "\\|");
        writeln!(page, "| `{}` | {severity} | {} | `{example}` |", kind.name(), kind.about()).expect("text");
    }
    check("findings.md", &page);
}

#[test]
fn docs_of_the_audit_are_current() {
    let mut page = String::from(
        "# What an audit finds\n\n`mcpkg audit` reports these about texts that agents read. It is also what `mcpkg import`, `source add`, `source update`,\n\
         `up` and `deploy` report. The rules only read: nothing is executed, and nothing is sent anywhere.\n\n\
         - A **critical** finding is hidden from you, or dangerous in any case. A person has to agree before mcpkg stores the\n\
         \x20 text, and is not asked about the same lines again.\n\
         - A **warning** needs a look.\n\
         - A **note** is for your information.\n\n\
         Prose is Markdown, text, TOML and YAML. Settings are the files that configure an agent, such as `settings.json` and\n\
         `.mcp.json`. Each rule reports a line once. Columns count characters. A finding is a reason to look,\n\
         not a verdict: a text that warns of an attack may contain the attack.\n",
    );
    for severity in [Severity::Critical, Severity::Warning, Severity::Note] {
        write!(
            page,
            "\n## {}\n\n| rule | finds | in | why it matters | example |\n| --- | --- | --- | --- | --- |\n",
            severity.word()
        )
        .expect("text");
        for rule in RULES.iter().filter(|rule| rule.severity == severity) {
            let files = match rule.reads {
                Reads::All => "all texts",
                Reads::Prose => "prose",
                Reads::Settings => "settings",
            };
            let text: String = mcpkg_base::quote::text(rule.example.1).chars().take(100).collect();
            let text = text.replace('|', "\\|");
            writeln!(page, "| `{}` | {} | {files} | {} | `{text}` |", rule.id, rule.what, rule.why).expect("text");
        }
    }
    check("audit.md", &page);
}

#[test]
fn docs_of_the_tools_are_current() {
    let mut page = String::from(
        "# Tools\n\nThe MCP tools that `mcpkg serve` can offer, in the order of tools/list. [Which of them an agent sees](mcp.md) depends on\nwhere the server runs.\n",
    );
    let tools = mcpkg::mcp::listed_tools(None);
    for tool in tools.as_array().expect("tools") {
        let entry = mcpkg::DOMAINS.operations().find(|entry| tool["name"] == entry.tool).expect("an operation");
        let name = tool["name"].as_str().expect("a name");
        let about = tool["description"].as_str().expect("a description");
        writeln!(page, "\n## {name}\n\n{about}. Group `{}`", entry.group).expect("text");
        if entry.faces.shell() {
            writeln!(page, "; in the shell `mcpkg {}`.", entry.cli.join(" ")).expect("text");
        }
        let schema = &tool["inputSchema"];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object().expect("properties");
        if !properties.is_empty() {
            writeln!(page, "\n| argument | type | | |\n| --- | --- | --- | --- |").expect("text");
        }
        for (argument, property) in properties {
            let kind = property["type"].as_str().unwrap_or_default();
            let text = property["description"].as_str().unwrap_or_default();
            let needed = if required.contains(&argument.as_str().into()) { "required" } else { "" };
            // Escape words such as `<name>`, which are not HTML.
            let text = text.replace('<', "\\<");
            writeln!(page, "| `{argument}` | {kind} | {needed} | {text} |").expect("text");
        }
        if let Some(output) = tool.get("outputSchema") {
            writeln!(page, "\nstructuredContent:\n\n```json\n{output:#}\n```").expect("text");
        }
    }
    // The first line of a tool is written in two parts, so join them.
    check("tools.md", &page.replace("`\n;", "`;"));
}

/// Returns the file name for the commands below a heading: its title before the colon, in kebab case.
fn file_of(heading: &str) -> String {
    let title = heading.split(':').next().expect("a title");
    format!("{}.md", title.to_lowercase().replace(' ', "-"))
}

#[test]
fn docs_of_the_commands_are_current() {
    let mut page = String::from(
        "# Commands\n\nWhat `mcpkg help` and `--help` print, a page for each group of commands:\n\n\
         | group | commands |\n| --- | --- |\n",
    );
    for (heading, commands) in mcpkg::cli::HEADINGS {
        let file = file_of(heading);
        let linked = commands.iter().map(|name| format!("[{name}](commands/{file}#mcpkg-{name})"));
        writeln!(page, "| {heading} | {} |", linked.collect::<Vec<_>>().join(", ")).expect("text");
    }
    let options = mcpkg::cli::options(100).to_string();
    write!(page, "\n## Global options\n\nEvery command takes these.\n\n```text\n{}\n```\n", trimmed(&options))
        .expect("text");
    let all = anstream::adapter::strip_str(&mcpkg::cli::commands(100)).to_string();
    write!(page, "\n## mcpkg\n\n```text\n{}\n```\n", trimmed(all.split("\nGlobal options").next().expect("help")))
        .expect("text");
    check("cli.md", &page);

    let mut root = mcpkg::cli::command().term_width(100);
    root.build();
    for (heading, commands) in mcpkg::cli::HEADINGS {
        let mut page = format!(
            "# {heading}\n\nThe help of these commands. [Global options](../cli.md#global-options) are explained once.\n"
        );
        for name in commands {
            describe(root.find_subcommand_mut(name).expect("a command"), &format!("mcpkg {name}"), &mut page);
        }
        check(&format!("commands/{}", file_of(heading)), &page);
    }
}

/// Returns text without whitespace at the ends of its lines and without empty lines at its end.
fn trimmed(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Adds the help of a command and its subcommands, without the global options.
fn describe(command: &mut clap::Command, path: &str, page: &mut String) {
    let help = command.render_long_help().to_string();
    let help = help.split("\nGlobal options: ").next().expect("help");
    write!(page, "\n## {path}\n\n```text\n{}\n```\n", trimmed(help)).expect("text");
    for inner in command.get_subcommands_mut().filter(|inner| !inner.is_hide_set()) {
        let path = format!("{path} {}", inner.get_name());
        describe(inner, &path, page);
    }
}

#[test]
fn docs_of_the_targets_are_current() {
    let mut page = String::from(
        "# Targets\n\nWhere `mcpkg deploy` writes for each agent: below the deploy root and, with `--scope user`, below the home folder.\n\
         If several instructions modules go into one file, each is a block between two marker lines. Agents that read a folder's\n\
         `AGENTS.md` share the one that is written for Codex, and get no copy of their own.\n\n\
         If your own files already contain a text, mcpkg writes it only for the agents that do not read it there. Then Codex may\n\
         get all its instructions in `AGENTS.override.md`, and others may get the text in their own places below, or through an\n\
         import in `GEMINI.md` or `.claude/CLAUDE.md`. If an agent still loads a text twice, `mcpkg plan` says so.\n",
    );
    for target in Target::all() {
        let facts = target.facts();
        let (project, user) = (&facts.project, &facts.user);
        let shared = match project.agents_md {
            AgentsMd::Always => "`AGENTS.md`".to_owned(),
            AgentsMd::UnlessHiddenBy(files) => {
                format!("`AGENTS.md` where none of these hides it, there or above: `{}`", files.join("`, `"))
            }
            AgentsMd::ImportedBy(file) => format!("`AGENTS.md`, which `{file}` imports"),
            AgentsMd::Never => "none".to_owned(),
        };
        let own = project.own_instructions.map(|own| match own {
            OwnInstructions::Rules(rules) => format!("`{}/NAME{}`", rules.folder, rules.ending),
            OwnInstructions::Block { folder, file } => format!("`{}`", joined(folder, file)),
        });
        let own = own.unwrap_or_else(|| "`AGENTS.md`".to_owned());
        let commands = |commands: Commands, home: &str| match commands {
            Commands::Files(folder) => format!("`{home}{folder}`"),
            Commands::FilesInWords { folder, max_characters, .. } => {
                let most = max_characters.map_or(String::new(), |most| format!("; at most {most} characters"));
                format!("`{home}{folder}`, arguments asked for in words{most}")
            }
            Commands::Numbered(folder) => format!("`{home}{folder}`, arguments as `$1`"),
            Commands::Toml(folder) => format!("`{home}{folder}` as TOML, arguments as `{{{{args}}}}`"),
            Commands::Skills => "as skills".to_owned(),
        };
        let moved = facts.moved_by.as_ref().map_or(String::new(), |moved| format!(" (or `{}`)", moved.variable));
        let instructions = user
            .instructions
            .map_or_else(|| "none".to_owned(), |file| format!("`~/{}/{file}`{moved}", facts.own_folder));
        writeln!(page, "\n## {} (`{}`)\n\n| what | project | user |\n| --- | --- | --- |", facts.title, facts.id)
            .expect("text");
        let servers = {
            let dialect = &facts.servers;
            let below = dialect.project.map_or_else(|| "left out".to_owned(), |file| format!("`{file}`"));
            let hidden = dialect.hidden_by.map_or(String::new(), |file| format!("; not read beside `{file}`"));
            let key = dialect.document.key();
            let of_user = if facts.id == "claude_code" { "left out" } else { "its own file for the user" };
            format!("| MCP servers, below `{key}` | {below}{hidden} | {of_user} |")
        };
        if facts.servers_only {
            writeln!(page, "{servers}").expect("text");
            continue;
        }
        writeln!(page, "| instructions for several agents | {shared} | {instructions} |").expect("text");
        writeln!(page, "| instructions for it alone | {own} | {instructions} |").expect("text");
        let rules = |rules: Rules, home: &str| {
            let format = rules.format;
            let list = match format.list {
                GlobList::Yaml => format!("`{}:` as a list", format.globs),
                GlobList::Quoted => format!("`{}: \"a,b\"`", format.globs),
                GlobList::Bare => format!("`{}: a,b`", format.globs),
            };
            let also = match format.switch {
                Switch::Word(key, Words { described_needs: Some(_), .. }) => format!(", `{key}`, by hand"),
                Switch::Always(key) | Switch::Word(key, _) => format!(", `{key}`, by description, by hand"),
                Switch::Globs { .. } => String::new(),
            };
            let most = format.max_characters.map_or(String::new(), |most| format!("; at most {most} characters"));
            format!("`{home}{}/NAME{}`: {list}{also}{most}", rules.folder, rules.ending)
        };
        let mut scoped: Vec<String> = project.scoped_rules.into_iter().map(|scoped| rules(scoped, "")).collect();
        let in_folders = project.folder_files.first().filter(|_| scoped.is_empty());
        scoped.extend(in_folders.map(|file| format!("`DIR/{}` for `DIR/**`, else left out", file.name)));
        scoped.extend(project.also_reads.iter().map(|folder| format!("what another target has in `{folder}`")));
        let of_user = user.scoped_rules.map_or_else(|| "left out".to_owned(), |scoped| rules(scoped, "~/"));
        writeln!(page, "| instructions that do not always apply | {} | {of_user} |", scoped.join("; ")).expect("text");
        let limit = project
            .agents_md_limit
            .map(|bytes| format!("{bytes} bytes of `AGENTS.md` from the root to where it starts"));
        let of_file = user.max_characters.map(|most| format!("{most} characters"));
        if limit.is_some() || of_file.is_some() {
            let [limit, of_file] = [limit, of_file].map(|text| text.unwrap_or_else(|| "no limit known".to_owned()));
            writeln!(page, "| loaded at most | {limit} | {of_file} |").expect("text");
        }
        writeln!(page, "| skills | `{}` | `~/{}` |", project.skills, user.skills).expect("text");
        let (below, home) = (commands(project.commands, ""), commands(user.commands, "~/"));
        writeln!(page, "| commands | {below} | {home} |").expect("text");
        if let Some(subagents) = facts.subagents {
            let form = match subagents.form {
                SubagentForm::Markdown { tools: ToolNames::Claude, .. } => "`tools: A, B`",
                SubagentForm::Markdown { tools: ToolNames::VsCode, .. } => "`tools: [\"a\", \"b\"]`",
                SubagentForm::Markdown { tools: ToolNames::ReadOnly, .. } => "`readonly` instead of tools",
                SubagentForm::Markdown { tools: ToolNames::Gemini, .. } => "`tools:` as a list",
                SubagentForm::Markdown { tools: ToolNames::OpenCode, .. } => "`tools:` as a map, the others off",
                SubagentForm::Toml => "TOML, no tools",
            };
            let file = format!("NAME{}", subagents.ending);
            let below = format!("`{}/{file}`: {form}", subagents.project);
            let home = subagents.user.map_or_else(
                || "left out".to_owned(),
                |folder| format!("`~/{}/{folder}/{file}`{moved}", facts.own_folder),
            );
            writeln!(page, "| subagents | {below} | {home} |").expect("text");
        }
        writeln!(page, "{servers}").expect("text");
        if let Some(folder) = project.prompt_files {
            writeln!(page, "| prompt files, where asked for | `{folder}` | none |").expect("text");
        }
        let places = |places: &[OriginalPlace], base: &str| {
            let place = |place: &OriginalPlace| {
                let what = match place.form {
                    OriginalForm::Instructions(file) => format!("`{base}{}`", joined(place.folder, file)),
                    OriginalForm::CursorRules => format!("`{base}{}/ID.mdc`", place.folder),
                    OriginalForm::Commands => format!("`{base}{}` (commands)", place.folder),
                    OriginalForm::Prompts => format!("`{base}{}` (prompts)", place.folder),
                    OriginalForm::PromptFiles => format!("`{base}{}` (prompt files)", place.folder),
                    OriginalForm::Skills => format!("`{base}{}` (skills)", place.folder),
                };
                format!("{what} by `{}` [{}]", place.option, if place.default { "on" } else { "off" })
            };
            places.iter().map(place).collect::<Vec<_>>().join("<br>")
        };
        let home = format!("~/{}/", facts.own_folder);
        let (below, home) = (places(facts.original_project, ""), places(facts.original_user, &home));
        if facts.in_contract {
            writeln!(page, "| layout of the original agentpack | {below} | {home} |").expect("text");
        }
    }
    check("targets.md", &page);
}

fn joined(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

/// Checks that each target's section in docs/reference/agents.md names every place that the target's file declares.
#[test]
fn docs_of_the_agents_name_every_place_of_their_targets() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/agents.md");
    let page = std::fs::read_to_string(path).expect("a page");
    for target in Target::all() {
        let facts = target.facts();
        let begin = format!("## {} (`{}`), ", facts.title, facts.id);
        let from = page.find(&begin).unwrap_or_else(|| panic!("no section begins with {begin:?}"));
        let section = page[from + 3..].split("\n## ").next().unwrap_or_default();
        let (project, user) = (&facts.project, &facts.user);
        let servers = facts.servers.project;
        assert!(servers.is_none_or(|file| section.contains(&format!("`{file}`"))), "{begin} names no file of servers");
        if facts.servers_only {
            continue;
        }
        let mut places: Vec<String> = vec![project.skills.to_owned(), format!("~/{}", user.skills)];
        places.extend(project.always_loaded.iter().map(|file| (*file).to_owned()));
        places.extend(user.instructions.map(|file| format!("~/{}/{file}", facts.own_folder)));
        places.extend(project.scoped_rules.map(|rules| format!("{}/NAME{}", rules.folder, rules.ending)));
        places.extend(user.scoped_rules.map(|rules| format!("~/{}", rules.folder)));
        places.extend(project.also_reads.iter().map(|folder| (*folder).to_owned()));
        for (commands, home) in [(project.commands, ""), (user.commands, "~/")] {
            match commands {
                Commands::Files(folder)
                | Commands::FilesInWords { folder, .. }
                | Commands::Numbered(folder)
                | Commands::Toml(folder) => places.push(format!("{home}{folder}")),
                Commands::Skills => assert!(section.contains("skills"), "{begin}"),
            }
        }
        if let Some(subagents) = facts.subagents {
            places.push(subagents.project.to_owned());
            places.extend(subagents.user.map(|folder| format!("~/{}/{folder}", facts.own_folder)));
        }
        for place in places {
            assert!(section.contains(&format!("`{place}`")), "{begin} does not name `{place}`");
        }
        for limit in [project.agents_md_limit, user.max_characters].into_iter().flatten() {
            let told = format!("{},{:03}", limit / 1000, limit % 1000);
            assert!(section.contains(&told), "{begin} does not name the limit {told}");
        }
    }
}
