//! Determines what `mcpkg up` would do, on a copy of the database.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::home::{self, Home};
use super::wish::Wish;
use crate::plan;
use crate::plan::budget::{self, Budget, When};
use crate::plan::code::{self, Code as Runs};
use crate::plan::prepare::Prepared;
use crate::plan::show::changed_meanwhile;
use crate::plan::{After, Change, Drift, Plan, RowChange, block, entries};
use crate::source::Site;
use mcpkg_agents::audit::{Finding, Report};
use mcpkg_agents::client::connections::{self, Connection, State};
use mcpkg_agents::forms::sections;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::approved::{self, Approved};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::{hex, sha256};
use mcpkg_content::import::gathered::{Audited, Gathered};
use mcpkg_content::import::merge::Update;
use mcpkg_content::import::recognise::{self, Recognised};
use mcpkg_content::import::{self, Group, find};
use mcpkg_content::item::{File, Item, What};
use mcpkg_content::stored::{self, Stored};
use mcpkg_content::{audited, ignored, source};
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::backup::Progress;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::deploys::{self, Deployed, Image};
use mcpkg_store::{Store, projects, sources};

/// What `mcpkg up` found, and what it would do.
pub(super) struct Found {
    pub(super) gathered: Gathered,
    /// The findings in files that the import stores.
    pub(super) audit: Audited,
    /// The findings in what the deploy adds to files.
    pub(super) outgoing: Report,
    /// What a person must allow before a file is written, by the file's path.
    needs: HashMap<PathBuf, BTreeSet<String>>,
    /// What the import changes in the project, by kind.
    pub(super) groups: Vec<Group>,
    /// What the source adds to the project, by kind, and the findings in it.
    pub(super) of_source: Vec<Group>,
    source_audit: Report,
    imports_nothing: bool,
    /// Whether the project has no content, even after the import.
    is_empty: bool,
    pub(super) offer: Option<Offer>,
    pub(super) prepared: Prepared,
    /// What each agent loads in a session, before and after the deploy.
    pub(super) budgets: Vec<(Budget, Budget)>,
    pub(super) connections: Vec<Connection>,
    pub(super) home: Option<Home>,
}

/// The question that a person has to answer before a source is added.
pub(super) struct Offer {
    pub(super) body: Option<Body>,
    pub(super) question: String,
}

/// What happens to a planned change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Write,
    /// The change lets agents run something, or has critical findings, so a person has to agree.
    Person,
    /// The user changed the file since it was deployed, so it is left alone.
    Edited,
    /// mcpkg did not write the file, so it is left alone.
    Foreign,
}

/// Whether a change only adds a block to a file that the user wrote.
pub(super) fn adds_block(change: &Change) -> bool {
    let has_block = change.before.bytes().is_none_or(|bytes| sections::find(bytes).is_some());
    change.block
        && change.drift == Drift::Unmanaged
        && !has_block
        && entries::dialect(&change.targets, &change.module_ids).is_none()
}

impl Found {
    /// Imports the folder into a copy of the database, and plans the deploy there.
    pub(super) fn rehearse(context: &Context, wish: &Wish) -> Result<Self> {
        let scratch = tempfile::Builder::new().prefix("mcpkg-up-").tempdir().map_err(|error| {
            Error::new(Code::FileFailed, format!("Cannot create a temporary folder: {error}")).with_source(error)
        })?;
        let copy = wish.context(&copied(context, scratch.path())?);
        wish.make_project(&copy)?;
        let offer = wish.source.as_ref().map(|source| offer(&copy, wish, source)).transpose()?.flatten();
        let (of_source, source_audit) = match &offer {
            Some(_) => in_source(&copy)?,
            None => (Vec::new(), Report::default()),
        };
        // With --yes, nobody can accept critical findings, so files with them are left out.
        let (gathered, mut audit) = gather(&copy, wish, context.confirmation != Confirmation::Given)?;
        let content = gathered.content(false, Update::IfNewer);
        let plan = content.plan(&copy, audit.plan.take())?;
        let (groups, imports_nothing) = (gathered.groups(Some(&plan)), plan.is_empty());
        content.write(&copy, "", Some(plan))?;
        let prepared = Prepared::new(&copy, &wish.choice())?;
        let (mut outgoing, mut needs) = (Report::default(), HashMap::new());
        for change in &prepared.plan.changes {
            let change = std::slice::from_ref(change);
            let found = plan::audit::report(&copy, change, &prepared.site);
            let code = code::of(change);
            let needed = code.iter().map(key_of_code).chain(found.critical().map(key_of_finding));
            let needed: BTreeSet<String> = needed.collect();
            if !needed.is_empty() {
                needs.insert(change[0].path.clone(), needed);
            }
            outgoing.findings.extend(found.findings);
        }
        let before = budget::of(&prepared, When::Now)?;
        let budgets = before.into_iter().zip(budget::of(&prepared, When::After)?).collect();
        let connections = match wish.connects {
            true => wish.agents.iter().map(|agent| connections::look(&copy, agent)).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let is_empty = copy.read(|db, project| {
            let held = projects::summary(db, project.clone())?;
            let servers = mcpkg_store::servers::all(db, project.id)?;
            let files = mcpkg_store::agent_files::all(db, project.id)?;
            Ok(held.prompts == 0 && held.resources == 0 && servers.is_empty() && files.is_empty())
        })?;
        let home = home::find(&copy, wish);
        Ok(Self {
            gathered,
            audit,
            outgoing,
            needs,
            groups,
            of_source,
            source_audit,
            imports_nothing,
            is_empty,
            offer,
            prepared,
            budgets,
            connections,
            home,
        })
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.prepared.plan
    }

    pub(super) fn verdict(&self, change: &Change) -> Verdict {
        match change.adopt && !adds_block(change) {
            true if change.drifted => Verdict::Edited,
            true => Verdict::Foreign,
            false if self.needs.contains_key(&change.path) => Verdict::Person,
            false => Verdict::Write,
        }
    }

    /// Returns the planned changes with this verdict.
    pub(super) fn changes(&self, verdict: Verdict) -> impl Iterator<Item = &Change> {
        self.plan().changes.iter().filter(move |change| self.verdict(change) == verdict)
    }

    /// Returns everything that a person can allow.
    pub(super) fn all_needs(&self) -> HashSet<String> {
        self.needs.values().flatten().cloned().chain(self.critical().map(key_of_finding)).collect()
    }

    /// Whether a change is written if a person has allowed exactly `allowed`.
    pub(super) fn is_written(&self, change: &Change, allowed: &HashSet<String>) -> bool {
        match self.verdict(change) {
            Verdict::Write => true,
            Verdict::Person => self.needs[&change.path].iter().all(|key| allowed.contains(key)),
            Verdict::Edited | Verdict::Foreign => false,
        }
    }

    /// Returns the critical findings in what the import and the source add to the project.
    pub(super) fn critical(&self) -> impl Iterator<Item = &Finding> {
        self.audit.report.critical().chain(self.source_audit.critical())
    }

    /// Returns the findings in what is imported from the folder and in what is written.
    pub(super) fn report(&self) -> Report {
        let mut report = self.audit.report.clone();
        report.add_new(self.outgoing.clone());
        report
    }

    /// Returns what agents would run after the changes that need a person.
    pub(super) fn runs(&self) -> Vec<Runs> {
        self.changes(Verdict::Person).flat_map(|change| code::of(std::slice::from_ref(change))).collect()
    }

    /// Returns the agents to connect: those without an entry for mcpkg that can get one.
    pub(super) fn to_connect(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().filter(|connection| matches!(connection.state, State::Missing))
    }

    /// Whether neither the folder nor the project has anything for agents.
    pub(super) fn is_nothing(&self) -> bool {
        self.is_empty && self.plan().changes.is_empty()
    }

    /// Whether there is nothing to do if a person has allowed exactly `allowed`. Ignores files that are left alone.
    pub(super) fn does_nothing(&self, allowed: &HashSet<String>) -> bool {
        let claims = |change: &RowChange| matches!(change, RowChange::Claim(..));
        self.imports_nothing
            && self.offer.is_none()
            && !self.plan().changes.iter().any(|change| self.is_written(change, allowed))
            && self.to_connect().next().is_none()
            && !self.plan().row_changes.iter().any(claims)
    }

    /// Fails if something would be stored that a person has to accept and has not seen.
    pub(super) fn refuse_unseen(&self, allowed: &HashSet<String>) -> Result<()> {
        match self.critical().all(|finding| allowed.contains(&key_of_finding(finding))) {
            true => Ok(()),
            false => Err(changed_meanwhile()),
        }
    }
}

/// Returns the same context with a copy of the database, and with a copy of the findings that this user accepted. No
/// other approvals are copied.
fn copied(context: &Context, scratch: &Path) -> Result<Context> {
    let approved = Approved::below(scratch.join("approved"));
    for (sha256, note) in context.approved.all(approved::Kind::Finding)? {
        approved.put_unsynced(approved::Kind::Finding, &sha256, &note)?;
    }
    let progress = Arc::clone(&context.progress);
    // The import and deploy steps would report progress under their own names, but here they change only the copy.
    let context =
        &Context { progress: Arc::new(move |_, done, total| progress("Looking", done, total)), ..context.clone() };
    let file = scratch.join("mcpkg.db");
    // A database that does not exist yet has nothing to copy.
    if context.stands_for.is_none() {
        context.store.backup(&file, &Progress::new(&|_, _| {}, &context.cancelled))?;
    }
    let stands_for = Some(context.database().to_owned());
    Ok(Context { store: Store::open(&file)?, stands_for, approved, ..context.clone() })
}

/// Adds the source to the copy, and captures the question that a person would be asked. Returns `None` if the project
/// already has the source.
fn offer(copy: &Context, wish: &Wish, source: &str) -> Result<Option<Offer>> {
    let asked = Arc::new(Mutex::new(None));
    let mut adding = copy.clone();
    // Critical findings are refused with --yes, and otherwise part of the question.
    adding.confirmation = match copy.confirmation {
        Confirmation::Given => Confirmation::Given,
        Confirmation::Ask | Confirmation::Nobody => Confirmation::Ask,
    };
    let slot = Arc::clone(&asked);
    adding.ask = Arc::new(move |body, question| {
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((body, question.to_owned()));
        Ok(())
    });
    match source::add(source, &wish.only, &wish.plugins, &adding) {
        Ok(_) => {}
        Err(error) if error.code() == Code::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    }
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(asked.map(|(body, question)| Offer { body: Some(body), question }))
}

/// Returns what the source added to the copy, by kind, and the findings in it. The source is the newest in the project.
fn in_source(copy: &Context) -> Result<(Vec<Group>, Report)> {
    copy.read(|db, project| {
        let Some(row) = sources::list(db, project.id)?.into_iter().max_by_key(|row| row.id) else {
            return Ok(Default::default());
        };
        let above = if row.origin.path.is_empty() { String::new() } else { format!("{}/", row.origin.path) };
        let stored: HashMap<String, Stored> =
            stored::all(db, project)?.into_iter().map(|stored| (stored.key(), stored)).collect();
        let (mut items, mut servers, mut report) = (Vec::new(), Vec::new(), Report::default());
        for item in sources::items(db, row.id)? {
            let Some(stored) = stored.get(&item.item) else { continue };
            let path = item.path.strip_prefix(&above).unwrap_or(&item.path).to_owned();
            let content = NewContent::from(stored.content(db)?);
            audited::add(&mut report, &path, &content)?;
            match stored.entry.what {
                What::Server => servers.push(path),
                _ => items.push(Item { path, entry: stored.entry.clone(), content }),
            }
        }
        let mut groups = import::groups(items.iter(), &items);
        if !servers.is_empty() {
            groups.push(Group { noun: "MCP server", paths: servers });
        }
        Ok((groups, report))
    })
    .map(|(groups, report)| (groups, ignored::without_harmless(report, copy)))
}

/// Returns the key that stands for a person's consent to what agents would run.
pub(super) fn key_of_code(code: &Runs) -> String {
    format!("{}\0{}", code.path, code.runs)
}

/// Returns the key that stands for a person's consent to a critical finding. The key is the same in every file with
/// these lines.
pub(super) fn key_of_finding(finding: &Finding) -> String {
    format!("{}\0{}", finding.rule.id, hex::encode(&finding.sha256))
}

/// Reads the files of the folder that an import would take. If `accepts` is false, files with critical findings are
/// left out, because no person can accept the findings.
pub(super) fn gather(context: &Context, wish: &Wish, accepts: bool) -> Result<(Gathered, Audited)> {
    let choice = recognise::Choice { only: &wish.only, ..recognise::Choice::default() };
    let found = find::find(std::slice::from_ref(&wish.folder), false, context)?;
    let mut recognised = recognise::recognise(found, &choice, context)?;
    leave_out_deployed(context, wish, &mut recognised)?;
    Gathered::audited(recognised, Secrets::default(), (Update::IfNewer, false, accepts), context)
}

/// Leaves out what deploys wrote in the folder: whole files, and blocks and entries in the user's files.
fn leave_out_deployed(context: &Context, wish: &Wish, recognised: &mut Recognised) -> Result<()> {
    let place = match Site::find(context, &wish.choice()) {
        Ok(site) => site.place,
        // A new project has deployed nothing yet.
        Err(error) if wish.is_new && error.code() == Code::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    context.store.read(|db| {
        let Some(place) = deploys::place(db, &place)? else { return Ok(()) };
        let is_written = |row: &Deployed| row.written && row.applied != Image::Absent;
        let rows = deploys::of_place(db, place)?.into_iter().filter(is_written);
        let rows: HashMap<String, Deployed> = rows.map(|row| (row.path.clone(), row)).collect();
        let mut kept = Vec::with_capacity(recognised.files.len());
        for (file, to) in std::mem::take(&mut recognised.files) {
            let path = recognised.on_disk.get(&file.relative).and_then(|path| mcpkg_base::platform::real(path).ok());
            let row = path.as_ref().and_then(|path| rows.get(path.to_string_lossy().as_ref()));
            match (row, path) {
                (Some(row), Some(path)) if row.block => {
                    if let After::File { bytes, .. } = block::without(db, row, &disk::look(&path)?)? {
                        kept.push((File { content: NewContent::from(bytes.to_vec()), ..file }, to));
                    }
                }
                (Some(_), _) => {}
                (None, _) => kept.push((file, to)),
            }
        }
        recognised.files = kept;
        Ok(())
    })
}

/// Returns a hash of what a plan writes to files. It omits the project's id: a new project has one id in the copy and
/// another in the database.
pub(super) fn digest(plan: &Plan) -> String {
    let mut digest = sha256::Hasher::new();
    let sha = |sha: Option<&sha256::Sha>| sha.map_or(String::new(), |sha| hex::encode(sha));
    for change in &plan.changes {
        let mode = change.after.mode().unwrap_or_default();
        let (before, after) = (sha(change.before.sha256()), sha(change.after.sha256()));
        let line =
            format!("{}\0{}\0{before}\0{after}\0{mode}\0{}\n", change.op.word(), change.path.display(), change.adopt);
        digest.update(line);
    }
    hex::encode(&digest.finish())
}
