//! Runs the stages [`read`] and [`place`] of an import, and audits the files.

use std::collections::{BTreeSet, HashSet};

use super::account::Account;
use super::merge::write::{Content, Plan};
use super::merge::{Update, servers};
use super::place::{self, servers::ServerInFile};
use super::read;
use super::recognise::Recognised;
use super::report::{self, Group};
use crate::audited;
use crate::ignored;
use crate::item::{Item, server};
use crate::same::record::{self, Contents, Duplicates};
use mcpkg_agents::audit::Report;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::{Code, Result};
use mcpkg_base::{hex, sha256};
use mcpkg_core::op::Context;
use mcpkg_store::links::{Link, Target};

/// The findings of an audit in files that an import stores or would store.
#[derive(Default)]
pub struct Audited {
    /// What the import changes in the project. `None` if there is no project yet, or if files were left out.
    pub plan: Option<Plan>,
    pub report: Report,
    /// The critical findings in files that were left out.
    pub left_out: Report,
}

/// What an import takes from the files. It is not compared with the project yet.
pub struct Gathered {
    pub items: Vec<Item>,
    pub servers: Vec<ServerInFile>,
    pub account: Account,
    links: Vec<Link>,
    contents: Contents,
}

impl Gathered {
    pub fn of(recognised: Recognised, secrets: Secrets) -> Result<Self> {
        let Recognised { files, mut links, servers, mut account, .. } = recognised;
        servers.iter().try_for_each(server::check)?;
        let destinations = files.iter().map(|(file, to)| (file, to.as_ref()));
        let placed = place::place(read::read(destinations, |_| true, secrets)?, servers)?;
        if !placed.clashes.is_empty() {
            return Err(place::clashing(&placed.clashes));
        }
        // Files that belong to only one agent may contain secrets, so their original bytes must not be stored as a
        // duplicate.
        let file_at = |path: &str| {
            let at = files.binary_search_by(|(file, _)| file.relative.as_str().cmp(path)).ok()?;
            let (file, to) = &files[at];
            to.as_ref().is_some_and(|to| to.for_agent.is_none()).then_some(file)
        };
        let (others, contents) = record::among(&placed.account.same, &placed.partial, file_at);
        links.extend(others);
        let altered = placed.account.altered.iter();
        links.extend(altered.map(|(path, why)| Link { path: path.clone(), target: Target::Altered(why.clone()) }));
        account.extend(placed.account);
        Ok(Self { items: placed.items, servers: placed.servers, account, links, contents })
    }

    /// Like [`Gathered::of`], and also audits the files that the project does not have yet. Unless `accepts` is set,
    /// files with critical findings are left out. If one file of a skill is left out, so is the whole skill. `is_whole` says
    /// whether the whole tree was read.
    pub fn audited(
        mut recognised: Recognised,
        secrets: Secrets,
        (update, is_whole, accepts): (Update, bool, bool),
        context: &Context,
    ) -> Result<(Self, Audited)> {
        // An audit takes longer than everything else, so find out first what would be stored.
        let gathered = Self::of(recognised.clone(), secrets.clone())?;
        let plan = match gathered.content(is_whole, update).plan(context, None) {
            Ok(plan) => Some(plan),
            // The project does not exist yet.
            Err(error) if matches!(error.code(), Code::NotFound | Code::NoProject) => None,
            Err(error) => return Err(error),
        };
        let written = gathered.written(plan.as_ref());
        let mut report = Report::default();
        for (file, _) in recognised.files.iter().filter(|(file, _)| written.contains(&file.relative)) {
            context.unless_cancelled()?;
            audited::add(&mut report, &file.relative, &file.content)?;
        }
        let report = ignored::without_harmless(report, context);
        let critical: BTreeSet<String> = report.critical().map(|finding| finding.path.clone()).collect();
        if accepts || critical.is_empty() {
            return Ok((gathered, Audited { plan, report, ..Audited::default() }));
        }
        let left_out = recognised.leave_out(&critical);
        let is_left = |path: &String| left_out.contains(path);
        let audited = Audited {
            report: report.filtered(|finding| !is_left(&finding.path)),
            left_out: report.filtered(|finding| is_left(&finding.path) && critical.contains(&finding.path)),
            plan: None,
        };
        Ok((Self::of(recognised, secrets)?, audited))
    }

    /// Returns the paths of the files from which an import would store something.
    fn written(&self, plan: Option<&Plan>) -> HashSet<String> {
        let is_written = |at: usize| plan.is_none_or(|plan| plan.actions[at].is_written());
        let items = self.items.iter().enumerate().filter(|(at, _)| is_written(*at)).map(|(_, item)| item.path.clone());
        let is_changed = |at: usize| plan.is_none_or(|plan| !matches!(plan.of_servers[at], servers::Action::Unchanged));
        let servers = self.servers.iter().enumerate().filter(|(at, _)| is_changed(*at));
        let mut written: HashSet<String> = items.chain(servers.map(|(_, found)| found.file.clone())).collect();
        let same = self.account.same.iter().filter(|same| written.contains(&same.of)).map(|same| same.path.clone());
        written.extend(same.collect::<Vec<_>>());
        written
    }

    /// Counts by kind what a merge changes in the project. Without a plan, counts everything that was gathered.
    pub fn groups(&self, plan: Option<&Plan>) -> Vec<Group> {
        let is_written = |at: usize| plan.is_none_or(|plan| plan.actions[at].is_written());
        let items = self.items.iter().enumerate().filter(|(at, _)| is_written(*at)).map(|(_, item)| item);
        let mut groups = report::groups(items, &self.items);
        let is_changed = |at: usize| plan.is_none_or(|plan| !matches!(plan.of_servers[at], servers::Action::Unchanged));
        let changed = self.servers.iter().enumerate().filter(|(at, _)| is_changed(*at));
        let paths: Vec<String> = changed.map(|(_, found)| found.file.clone()).collect();
        if !paths.is_empty() {
            groups.push(Group { noun: "MCP server", paths });
        }
        groups
    }

    /// Returns the SHA-256 of the gathered items and servers.
    pub fn digest(&self) -> Result<String> {
        let mut digest = sha256::Hasher::new();
        for item in &self.items {
            digest.update(format!("{}\0{}\0", item.path, item.entry.json()?).as_bytes());
            digest.update(item.content.sha256());
        }
        for found in &self.servers {
            digest.update(format!("{}\0{:?}\0", found.file, found.server).as_bytes());
        }
        Ok(hex::encode(&digest.finish()))
    }

    /// Returns what is merged into the project. `is_whole` says whether the whole tree was read.
    pub fn content(&self, is_whole: bool, update: Update) -> Content<'_> {
        let duplicates =
            Duplicates { found: &self.links, contents: &self.contents, same: &self.account.same, is_whole };
        Content { items: &self.items, servers: &self.servers, duplicates, update }
    }
}
