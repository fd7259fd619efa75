//! Makes the screen of `mcpkg up`, the question, and the replies.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::apply::Done;
use super::find::{Found, Verdict, adds_block};
use super::wish::Wish;
use crate::desired::left_out::{self, Reason};
use crate::plan::Change;
use crate::plan::budget::Budget;
use crate::plan::code::{self, Code};
use mcpkg_agents::agents::Agent;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_agents::client::connections::{Connection, State};
use mcpkg_base::disk;
use mcpkg_base::plural;
use mcpkg_base::shell::quote;
use mcpkg_content::audited;
use mcpkg_content::import::Group;
use mcpkg_core::op::{Body, Context, Reply};

/// The columns of the screen before a question. Without a question, lines have any length.
const WIDTH: usize = 78;

/// The most kinds of content that are listed.
const MANY: usize = 6;

/// The most agents that are listed with what would be written for them.
const AGENTS: usize = 8;

/// The most agents that are listed as to be connected.
const CONNECTIONS: usize = 5;

/// The most agents that a sentence names. If there are more, it only counts them.
const NAMED: usize = 6;

/// The most notes on files that are listed.
const NOTES: usize = 2;

/// The most reasons that are listed for what agents do not get. Each takes two lines.
const REASONS: usize = 2;

/// Collects the lines of the screen.
struct Screen {
    lines: Vec<String>,
    width: usize,
    home: Option<PathBuf>,
    folder: PathBuf,
}

impl Screen {
    fn of(wish: &Wish) -> Self {
        Self { lines: Vec::new(), width: WIDTH, home: disk::home().ok(), folder: wish.folder.clone() }
    }

    fn heading(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.line(text);
    }

    /// Adds a line, and cuts it at the edge of the screen.
    fn line(&mut self, text: &str) {
        let mut line: String = text.chars().take(self.width).collect();
        if text.chars().count() > self.width {
            line.pop();
            line.push('…');
        }
        self.lines.push(line);
    }

    /// Adds rows of two columns. If there are more than `most`, the last line counts the others.
    fn rows(&mut self, rows: &[(String, String)], most: usize, more: &str) {
        let shown = if rows.len() > most { most - 1 } else { rows.len() };
        let width = rows.iter().map(|(first, _)| first.chars().count()).max().unwrap_or_default();
        for (first, second) in &rows[..shown] {
            self.line(&format!("  {first:width$}  {second}"));
        }
        if rows.len() > shown {
            self.line(&format!("  and {} more{more}", rows.len() - shown));
        }
    }

    /// Returns a path relative to the folder, or as `~/...`, if it is below one of them.
    fn path(&self, path: &Path) -> String {
        if let Ok(rest) = path.strip_prefix(&self.folder) {
            return rest.display().to_string();
        }
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }

    fn paths<'c>(&self, changes: impl Iterator<Item = &'c Change>, most: usize) -> String {
        plural::first(changes.map(|change| self.path(&change.path)), most)
    }
}

/// Returns what a person reads before the question, or a dry run shows. Takes the body of the source's offer out of `found`.
pub(super) fn screen(wish: &Wish, found: &mut Found, is_dry: bool) -> Body {
    let offer = found.offer.as_mut().and_then(|offer| offer.body.take());
    let mut screen = Screen { width: if is_dry { usize::MAX } else { WIDTH }, ..Screen::of(wish) };
    screen.heading(&heading(wish));
    content(&mut screen, found);
    not_imported(&mut screen, found);
    files(&mut screen, found);
    programs(&mut screen, found);
    screen.lines.extend(critical_lines(found));
    findings(&mut screen, found);
    connections(&mut screen, found);
    screen.lines.push(String::new());
    Body::Several(offer.into_iter().chain([Body::lines(screen.lines)]).collect())
}

/// Like [`screen`], but without what the list shows from which the person chooses.
pub(super) fn above_list(wish: &Wish, found: &mut Found) -> Body {
    let offer = found.offer.as_mut().and_then(|offer| offer.body.take());
    let mut screen = Screen::of(wish);
    files(&mut screen, found);
    findings(&mut screen, found);
    connections(&mut screen, found);
    let at = screen.lines.len();
    not_imported(&mut screen, found);
    if screen.lines.len() > at {
        screen.lines.insert(at, String::new());
    }
    screen.lines.push(String::new());
    Body::Several(offer.into_iter().chain([Body::lines(screen.lines)]).collect())
}

pub(super) fn heading(wish: &Wish) -> String {
    let folder = Screen { folder: PathBuf::new(), ..Screen::of(wish) }.path(&wish.folder);
    let project = if wish.is_new { "new project" } else { "project" };
    format!("Found in {folder}, for {project} '{}':", wish.project)
}

fn content(screen: &mut Screen, found: &Found) {
    let row = |group: &Group| {
        let etc = if group.paths.len() > 1 { ", ..." } else { "" };
        (group.counted(), format!("{}{etc}", group.paths[0]))
    };
    let rows: Vec<_> = found.groups.iter().map(row).collect();
    match rows.is_empty() {
        true => screen.line("  nothing new"),
        false => screen.rows(&rows, MANY, ""),
    }
}

/// Adds what is not imported, and where to see it.
fn not_imported(screen: &mut Screen, found: &Found) {
    let left: Vec<String> = found
        .gathered
        .account
        .counted()
        .filter(|(_, what, why)| *what == "skipped" && *why != "version control")
        .map(|(count, _, why)| format!("{} ({why})", plural::count(count, "file")))
        .collect();
    if !left.is_empty() {
        screen.line(&format!("  Left out: {}; see `mcpkg up --dry-run -v`", plural::first(left, 3)));
    }
    let notes = found.gathered.account.grouped_notes();
    for note in notes.iter().take(NOTES) {
        screen.line(&format!("  Note: {note}"));
    }
    let more = notes.len().saturating_sub(NOTES);
    if more > 0 {
        screen.line(&format!("  and {}; see `mcpkg up --dry-run -v`", plural::count(more, "more note")));
    }
    if let Some(home) = &found.home {
        let counts: Vec<_> = home.groups.iter().map(Group::counted).collect();
        screen.line(&format!("In your home folder, which loads everywhere anyway: {}", counts.join(", ")));
        // A command is never cut, because it is there to be copied.
        screen.lines.push(format!("  to import them too: {}", home.command));
    }
}

fn files(screen: &mut Screen, found: &Found) {
    let planned: Vec<&Change> = found.changes(Verdict::Write).chain(found.changes(Verdict::Person)).collect();
    screen.heading("Would be written:");
    let rows: Vec<_> = found.budgets.iter().map(|(before, after)| agent_row(before, after, &planned)).collect();
    screen.rows(&rows, AGENTS, " agents");
    for warning in cuts(found) {
        // Not cut, because it ends with a command.
        screen.lines.push(format!("  {warning}"));
    }
    let blocks: Vec<&Change> = planned.iter().copied().filter(|change| adds_block(change)).collect();
    if !blocks.is_empty() {
        let paths = screen.paths(blocks.into_iter(), 3);
        screen.line(&format!("  Gets a block, and your text in it stays: {paths}"));
    }
    let lacks = unsupported(found);
    let shown = if lacks.len() > REASONS { REASONS - 1 } else { lacks.len() };
    for (what, why) in &lacks[..shown] {
        screen.line(&format!("  {what}:"));
        screen.line(&format!("    {why}"));
    }
    if lacks.len() > shown {
        screen.line(&format!("  and {} more such lines; see `mcpkg plan`", lacks.len() - shown));
    }
    for (verdict, why) in [
        (Verdict::Edited, "Edited after a deploy, and not overwritten; see `mcpkg evolve propose`"),
        (Verdict::Foreign, "Yours, and not overwritten; see `mcpkg diff`"),
    ] {
        if found.changes(verdict).next().is_some() {
            screen.line(&format!("  {why}:"));
            let paths = screen.paths(found.changes(verdict), 3);
            screen.line(&format!("    {paths}"));
        }
    }
}

/// Returns the row of an agent: its title, then how many files it gets and how much it loads in a session.
fn agent_row(before: &Budget, after: &Budget, planned: &[&Change]) -> (String, String) {
    let target = after.target();
    let count = planned.iter().filter(|change| change.targets.iter().any(|name| name == target.name())).count();
    let files = plural::count(count, "file");
    let (before, after) = (before.bytes(), after.bytes());
    let loads = match before == after {
        true => format!("loads {after} bytes (about {} tokens) in each session", after / 4),
        false => format!("loads {before} -> {after} bytes (about {} -> {} tokens)", before / 4, after / 4),
    };
    (target.facts().title.to_owned(), format!("{files:>8}, {loads}"))
}

/// Returns the warnings about agents that would not load everything.
fn cuts(found: &Found) -> impl Iterator<Item = String> {
    found.budgets.iter().filter_map(|(_, after)| after.warning())
}

/// Returns a line for each file that is not imported, each note, and each item that an agent does not get.
pub(super) fn details(found: &Found) -> Vec<String> {
    let lines = found.gathered.account.lines().into_iter();
    lines.chain(left_out::each(&found.plan().desired.left_out)).collect()
}

/// Returns what agents do not get, and why. Skips broken modules, which warnings report.
fn unsupported(found: &Found) -> Vec<(String, &'static str)> {
    let mut by_agent: BTreeMap<(Reason, &str), Vec<&str>> = BTreeMap::new();
    for left in found.plan().desired.left_out.iter().filter(|left| left.reason != Reason::Broken) {
        by_agent.entry((left.reason, left.target.facts().title)).or_default().push(&left.module_id);
    }
    let mut by_items: BTreeMap<(Reason, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for ((reason, title), ids) in by_agent {
        by_items.entry((reason, ids)).or_default().push(title);
    }
    let line = |((reason, ids), titles): ((Reason, Vec<&str>), Vec<&str>)| {
        let verb = if titles.len() == 1 { "does" } else { "do" };
        let items = plural::count(ids.len(), "item");
        (format!("{} {verb} not get {items} such as '{}'", listed(&titles), ids[0]), reason.text())
    };
    by_items.into_iter().map(line).collect()
}

fn programs(screen: &mut Screen, found: &Found) {
    let runs = found.runs();
    if runs.is_empty() {
        return;
    }
    screen.heading("Agents will run this, so look at it:");
    for (what, titles, paths) in grouped(runs.iter()) {
        let paths = plural::first(paths.into_iter().map(|path| screen.path(Path::new(path))), 3);
        // Never cut these lines: a person agrees to exactly this.
        screen.lines.push(format!("  {what}"));
        screen.lines.push(format!("    {titles}: {paths}"));
    }
}

/// Returns the lines about critical findings. They are never cut, because a person accepts exactly this.
fn critical_lines(found: &Found) -> Vec<String> {
    let mut lines = audited::critical_lines(&found.report());
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// Adds the findings that are not critical.
fn findings(screen: &mut Screen, found: &Found) {
    let others = found.report().filtered(|finding| finding.rule.severity < Severity::Critical);
    let others = others.lines(Severity::Warning);
    if !others.is_empty() {
        screen.lines.push(String::new());
    }
    others.iter().for_each(|line| screen.line(line));
    if !others.is_empty() {
        screen.line("  `mcpkg audit` lists all findings");
    }
}

/// Groups what agents would run: each program with the titles of the agents and the paths of the files.
fn grouped<'c>(runs: impl Iterator<Item = &'c Code>) -> Vec<(&'c str, String, Vec<&'c str>)> {
    let mut groups: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for code in runs {
        let titles = code.targets.iter().map(|name| title(name));
        match groups.iter_mut().find(|(what, ..)| *what == code.runs) {
            Some((_, agents, paths)) => {
                agents.extend(titles);
                paths.push(&code.path);
            }
            None => groups.push((&code.runs, titles.collect(), vec![&code.path])),
        }
    }
    groups.into_iter().map(|(what, agents, paths)| (what, agents.join(", "), paths)).collect()
}

/// Returns the title and the other lines of a list's item for programs that a person allows together.
pub(super) fn program(wish: &Wish, codes: &[&Code]) -> (String, Vec<String>) {
    let screen = Screen::of(wish);
    let line = |(what, titles, paths): (&str, String, Vec<&str>)| {
        let paths: Vec<_> = paths.into_iter().map(|path| screen.path(Path::new(path))).collect();
        (what.to_owned(), format!("{titles}: {}", paths.join(", ")))
    };
    let mut lines: Vec<_> = grouped(codes.iter().copied()).into_iter().map(line).collect();
    match lines.len() {
        1 => lines.pop().map(|(what, where_)| (what, vec![where_])).unwrap_or_default(),
        count => {
            let title = format!("{count} programs that are in one file, so all of them or none");
            (title, lines.into_iter().flat_map(|(what, where_)| [what, format!("  {where_}")]).collect())
        }
    }
}

fn title(id: &str) -> &str {
    mcpkg_agents::agents::with_id(id).map_or(id, |agent| agent.title)
}

fn connections(screen: &mut Screen, found: &Found) {
    let row = |connection: &Connection| (connection.agent.title.to_owned(), screen.path(&connection.file));
    let rows: Vec<_> = found.to_connect().map(row).collect();
    if !rows.is_empty() {
        screen.heading("Would be connected to mcpkg:");
        screen.rows(&rows, CONNECTIONS, "; `mcpkg client list` lists the agents");
    }
    for connection in &found.connections {
        if let State::Blocked(why) = &connection.state {
            screen.line(&format!("  {} is not connected: {why}", connection.agent.title));
        }
    }
}

pub(super) fn question(wish: &Wish) -> String {
    let agents = match wish.agents.len() {
        count if count > NAMED => plural::count(count, "agent"),
        _ => titles(wish.agents.iter().copied()),
    };
    format!("Set up {} for {agents}?", wish.project)
}

fn titles(agents: impl Iterator<Item = &'static Agent>) -> String {
    listed(&agents.map(|agent| agent.title).collect::<Vec<_>>())
}

/// Lists names: `Claude Code, Codex and Cursor`.
fn listed(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns what the screen shows as JSON.
pub(super) fn data(wish: &Wish, found: &Found) -> Value {
    let group = |group: &Group| json!({ "kind": group.noun, "count": group.paths.len(), "example": group.paths[0] });
    let groups = |groups: &[Group]| groups.iter().map(group).collect::<Value>();
    let planned: Vec<&Change> = found.changes(Verdict::Write).chain(found.changes(Verdict::Person)).collect();
    let agent = |(before, after): &(Budget, Budget)| {
        let name = after.target().name();
        let count = planned.iter().filter(|change| change.targets.iter().any(|target| target == name)).count();
        let (before, after) = (before.bytes(), after.bytes());
        json!({ "agent": name, "files": count, "bytes_before": before, "bytes": after,
            "tokens_before": before / 4, "tokens": after / 4 })
    };
    let connection = |connection: &Connection| {
        let state = match &connection.state {
            State::Missing => "missing",
            State::Connected => "connected",
            State::Blocked(_) => "blocked",
        };
        json!({ "agent": connection.agent.name, "path": connection.file, "state": state })
    };
    let paths = |verdict| found.changes(verdict).map(|change| change.path.display().to_string()).collect::<Vec<_>>();
    json!({
        "project": wish.project,
        "new": wish.is_new,
        "folder": wish.folder,
        "source": wish.source,
        "found": groups(&found.groups),
        "skipped": found.gathered.account.left_out_data(),
        "home": found.home.as_ref().map(|home| groups(&home.groups)),
        "agents": found.budgets.iter().map(agent).collect::<Vec<_>>(),
        "left_out": found.plan().desired.left_out.iter().map(crate::desired::LeftOut::json).collect::<Vec<_>>(),
        "changes": planned.iter().map(|change| change.json()).collect::<Vec<_>>(),
        "code": found.runs().iter().map(Code::json).collect::<Vec<_>>(),
        "findings": found.report().findings.iter().map(audited::data).collect::<Value>(),
        "findings_left_out": found.audit.left_out.findings.iter().map(audited::data).collect::<Value>(),
        "edited": paths(Verdict::Edited),
        "foreign": paths(Verdict::Foreign),
        "connections": found.connections.iter().map(connection).collect::<Vec<_>>(),
    })
}

/// Returns the reply if neither the folder nor the project has anything for agents.
pub(super) fn nothing(context: &Context, wish: &Wish) -> Reply {
    let folder = wish.folder.display();
    let sentence = format!("Found nothing for agents in {folder}, so there is nothing to set up");
    let first = match wish.is_new {
        true => format!(
            "to start with a prompt of your own: `mcpkg project create {}`, then `mcpkg prompt create review 'Review the \
             last change.'`",
            quote(&wish.project)
        ),
        false => {
            "to start with a prompt of your own: `mcpkg prompt create review 'Review the last change.'`".to_owned()
        }
    };
    let reply = Reply::sentence(sentence, json!({ "project": wish.project, "folder": wish.folder, "found": [] }));
    let reply = reply.hint(first).hint("to start with what others publish: `mcpkg up anthropics/skills`");
    if context.database().exists() { reply } else { reply.hint("no database was created") }
}

/// Returns the reply if there is nothing to do, or if the rest needs a person and there is none.
pub(super) fn quiet(wish: &Wish, found: &Found, data: Value) -> Reply {
    let agents = plural::count(found.budgets.len(), "agent");
    let read = if found.budgets.len() == 1 { "reads" } else { "read" };
    let sentence = format!("Nothing changed: {agents} {read} project '{}'", wish.project);
    let reply = with_left_alone(Reply::sentence(sentence, data), found);
    without_person(reply, found)
}

/// Returns the reply if nothing of what the person chose has to be done.
pub(super) fn quiet_by_person(wish: &Wish, found: &Found, data: Value) -> Reply {
    with_left_alone(Reply::sentence(format!("Nothing changed in project '{}'", wish.project), data), found)
}

/// Returns the reply if the person chose nothing for a new project.
pub(super) fn nothing_chosen(wish: &Wish) -> Reply {
    let data = json!({ "project": wish.project, "folder": wish.folder, "found": [] });
    Reply::sentence("You chose nothing, so nothing was changed", data)
}

/// Adds a hint about files that were not written because the person did not tick something.
pub(super) fn with_unticked(reply: Reply, found: &Found, allowed: &HashSet<String>) -> Reply {
    let count = found.changes(Verdict::Person).filter(|change| !found.is_written(change, allowed)).count();
    if count == 0 {
        return reply;
    }
    let written = if count == 1 { "was" } else { "were" };
    let files = plural::count(count, "file");
    reply.hint(format!("{files} {written} not written, because you did not tick what agents would run or read there"))
}

/// Adds warnings about what was left out because only a person can allow it. The command then exits with status 3.
fn without_person(mut reply: Reply, found: &Found) -> Reply {
    let runs = found.runs();
    let mut critical = found.audit.left_out.clone();
    critical.add_new(found.outgoing.clone());
    let critical = critical.lines(Severity::Critical);
    if runs.is_empty() && critical.is_empty() {
        return reply;
    }
    let what = match (runs.is_empty(), critical.is_empty()) {
        (true, _) => "accept what an audit finds",
        (false, true) => "allow what agents run",
        (false, false) => "allow what agents run and accept what an audit finds",
    };
    let left = code::lines(&runs).into_iter().take(runs.len()).chain(critical);
    reply.warnings.extend(left.map(|line| format!("left out: {line}")));
    reply.differs = true;
    reply.hint(format!("only a person can {what}: to see it and allow it, run `mcpkg up` at a terminal"))
}

pub(super) fn dry_run(screen: Body, details: Vec<String>, mut data: Value) -> Reply {
    data["dry_run"] = true.into();
    Reply { details, ..Reply::new(screen, data).hint("dry run: nothing was written") }
}

/// Returns the reply after everything was done.
pub(super) fn done(wish: &Wish, found: &Found, done: Done, is_by_person: bool, mut data: Value) -> Reply {
    data["snapshot_id"] = json!(done.snapshot.map(|id| id.to_string()));
    data["connected"] = done.connected.iter().map(|agent| agent.name).collect();
    let wrote = match done.written {
        0 => "no file had to be written".to_owned(),
        count => format!("wrote {}", plural::count(count, "file")),
    };
    let connected = match done.connected.len() {
        0 => String::new(),
        count if count > NAMED => format!("; connected {}", plural::count(count, "agent")),
        _ => format!("; connected {}", titles(done.connected.iter().copied())),
    };
    let sentence = format!("Set up project '{}': {wrote}{connected}", wish.project);
    let failed = done.connected.len() < found.to_connect().count();
    let mut reply = with_left_alone(Reply::sentence(sentence, data), found);
    reply.warnings.extend(done.warnings);
    reply.hints.extend(done.hints);
    reply.failed = failed;
    if !is_by_person {
        let others = found.report().filtered(|finding| finding.rule.severity < Severity::Critical);
        reply.warnings.extend(others.lines(Severity::Warning));
        reply.warnings.extend(cuts(found));
        reply = without_person(reply, found);
    }
    if !done.connected.is_empty() {
        reply = reply.hint("restart running agents, then test the connections with `mcpkg client check`");
    }
    reply.hint(format!("to undo all of it: `mcpkg up --undo{}`", here(wish)))
}

/// Returns the folder as an argument, or nothing if it is the working directory.
fn here(wish: &Wish) -> String {
    let is_here = std::env::current_dir().is_ok_and(|here| here == wish.folder);
    if is_here { String::new() } else { format!(" {}", quote(&wish.folder.to_string_lossy())) }
}

/// Adds hints about files that were left alone, and the details.
fn with_left_alone(mut reply: Reply, found: &Found) -> Reply {
    reply.details = details(found);
    let count = |verdict| found.changes(verdict).count();
    let (edited, foreign) = (count(Verdict::Edited), count(Verdict::Foreign));
    let stay = |count: usize| if count == 1 { "stays" } else { "stay" };
    if edited > 0 {
        let (files, stay) = (plural::count(edited, "file"), stay(edited));
        reply = reply.hint(format!(
            "{files} edited after a deploy {stay} unchanged; to take the edits into the project: `mcpkg evolve propose`"
        ));
    }
    if foreign > 0 {
        let (files, stay) = (plural::count(foreign, "file"), stay(foreign));
        reply =
            reply.hint(format!("{files} of yours {stay} unchanged; to see what a deploy would change: `mcpkg diff`"));
    }
    reply
}
