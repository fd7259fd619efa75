//! Builds the screen of `mcpkg up`, the question, and the data of the replies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::find::{Found, Verdict, adds_block};
use super::wish::Wish;
use crate::desired::left_out::{self, Reason};
use crate::plan::Change;
use crate::plan::budget::Budget;
use crate::plan::code::Code;
use mcpkg_agents::agents::Agent;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_agents::client::connections::{Connection, State};
use mcpkg_base::disk;
use mcpkg_base::plural;
use mcpkg_content::audited;
use mcpkg_content::import::Group;
use mcpkg_core::op::Body;

/// The width of the screen in columns if a question follows. Otherwise, lines may have any length.
const WIDTH: usize = 78;

/// The maximum number of kinds of content that are listed.
const MANY: usize = 6;

/// The maximum number of agents that are listed with what would be written for them.
const AGENTS: usize = 8;

/// The maximum number of agents to connect that the screen lists.
const CONNECTIONS: usize = 5;

/// The maximum number of agents that a sentence names. If there are more, it only counts them.
pub(super) const NAMED: usize = 6;

/// The maximum number of notes that the screen lists about files.
const NOTES: usize = 2;

/// The maximum number of reasons that are listed for what agents do not get. Each takes two lines.
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

    /// Shortens a path: below the folder that is set up, to a relative path; below the home folder, to `~/...`.
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

/// Returns the screen that a person reads before the question, or that a dry run shows. Takes the body of the source's
/// offer out of `found`.
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

/// Like [`screen`], but leaves out what the list of choices shows, which comes after these lines.
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
        // Never cut a command: the user copies it.
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
pub(super) fn cuts(found: &Found) -> impl Iterator<Item = String> {
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

/// Adds the audit's warnings, one line for each rule.
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

/// Returns an item of the list, as a title and further lines, for programs that a person can only allow together.
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

pub(super) fn titles(agents: impl Iterator<Item = &'static Agent>) -> String {
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
