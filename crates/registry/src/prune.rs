//! `mcpkg tool prune`: deletes data that no tool needs any more, such as unused archives and old runs.

use std::time::{Duration, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::config;
use crate::run;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Entry, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::runs;
use mcpkg_store::tools::unused::{self, Amount, Since};

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<Prune>()];

/// How long unpacked files are kept after their last use: twice the longest timeout of a run, since a run may still use
/// the files that it started with.
const RUNS: Millis = 2 * 60 * 60 * 1000;

/// How long an archive is kept after it was last looked up: a server session may have it installed without a row in
/// the database.
const SEEN: Millis = 24 * 60 * 60 * 1000;

/// The maximum number of past runs that one transaction deletes.
const BATCH: u32 = 10_000;

/// Delete archives and cached responses that nothing refers to
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Prune {
    /// Also delete archives used in the last 24 hours; a session of a running server may still need these archives
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Show what would be deleted, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Prune {
    const TOOL: &'static str = "prune_tools";
    const CLI: &'static [&'static str] = &["tool", "prune"];
    const TITLE: &'static str = "Delete data that no tool needs any more";
    const ABOUT: &'static str = "Delete unused archives, unpacked copies and cached responses";
    const HELP: &'static str = "mcpkg deletes archives that nobody has installed and that were not published in this database. mcpkg \
        remembers the digests and yanks of deleted archives, so it still refuses a different archive of the same version. Signatures and \
        audits stay. mcpkg deletes past runs that exceed the limits shown by `mcpkg limit list`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool prune --dry-run", "mcpkg tool prune --yes", "mcpkg tool prune --all --yes"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        if !self.dry_run {
            run::record::sweep_locks(context)?;
        }
        let since = self.since(context);
        let found = Unused::of(context, since)?;
        if found.is_nothing() {
            let reply = Reply::sentence("There is nothing to free", found.data(self.dry_run));
            let recent = context.store.read(|db| unused::archives(db, Since { seen: Millis::MAX, ..since }))?;
            return Ok(match recent.count {
                0 => reply,
                count => {
                    let archives = plural::count(count, "archive");
                    reply.hint(format!("{archives} used in the last 24 hours stay; --all frees them too"))
                }
            });
        }
        if self.dry_run {
            return Ok(Reply::sentence(format!("Would free {}", found.words()), found.data(true)));
        }
        (context.ask)(Body::Several(Vec::new()), &format!("Free {}?", found.words()))?;
        let freed = free(context, since, found)?;
        let reply = Reply::sentence(format!("Freed {}", freed.words()), freed.data(false));
        Ok(match freed.archives.bytes + freed.builds.bytes {
            0 => reply,
            _ => reply.hint("`mcpkg compact` returns the freed space to the disk"),
        })
    }
}

impl Prune {
    fn since(&self, context: &Context) -> Since {
        let now = context.clock.now();
        Since { runs: now - RUNS, seen: if self.all { Millis::MAX } else { now - SEEN } }
    }
}

/// The amounts of data that can be deleted.
#[derive(Clone, Copy, Debug, Default)]
struct Unused {
    archives: Amount,
    builds: Amount,
    copies: Amount,
    answers: Amount,
    approvals: u64,
    runs: u64,
}

impl Unused {
    fn of(context: &Context, since: Since) -> Result<Self> {
        let now = context.clock.now();
        let found = context.store.read(|db| {
            db.allow_long();
            Ok(Self {
                archives: unused::archives(db, since)?,
                builds: unused::builds(db, since)?,
                copies: Amount::default(),
                answers: unused::answers(db, now.saturating_sub(config::answers_hold(db)?))?,
                approvals: unused::approvals(db)?,
                runs: runs::GROWING.count(db, now)?,
            })
        })?;
        Ok(Self { copies: copies(context, since, true)?, ..found })
    }

    fn is_nothing(&self) -> bool {
        let Self { archives, builds, copies, answers, approvals, runs } = self;
        archives.count + builds.count + copies.count + answers.count + approvals + runs == 0
    }

    fn words(&self) -> String {
        let sized = |amount: Amount, what: &str| {
            let counted = plural::count(amount.count, what).replace("copys", "copies");
            (amount.count > 0).then(|| format!("{counted} ({})", bytes(amount.bytes)))
        };
        let counted = |count: u64, what: &str| (count > 0).then(|| plural::count(count, what));
        let parts = [
            sized(self.archives, "archive"),
            sized(self.builds, "build"),
            sized(self.copies, "unpacked copy"),
            sized(self.answers, "answer"),
            counted(self.approvals, "approval"),
            counted(self.runs, "run"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn data(&self, is_dry: bool) -> Value {
        let amount = |amount: Amount| json!({ "count": amount.count, "bytes": amount.bytes });
        json!({
            "archives": amount(self.archives),
            "builds": amount(self.builds),
            "copies": amount(self.copies),
            "answers": amount(self.answers),
            "approvals": self.approvals,
            "runs": self.runs,
            "dry_run": is_dry,
        })
    }
}

/// Deletes what was found, and returns what was deleted.
fn free(context: &Context, since: Since, found: Unused) -> Result<Unused> {
    let now = context.clock.now();
    let go_on = || match context.is_cancelled() {
        true => Err(Error::new(Code::Cancelled, "Cancelled; data that was already deleted is not restored")),
        false => Ok(()),
    };
    // Delete the build results whose archive is missing or will be deleted below.
    context.store.write(|db| {
        db.allow_long();
        unused::free_builds(db, since)
    })?;
    let mut archives = 0;
    loop {
        go_on()?;
        let freed = context.store.write(|db| {
            db.allow_long();
            unused::free_archives(db, since)
        })?;
        archives += freed;
        (context.progress)("Freeing archives", archives, found.archives.count.max(archives));
        if freed == 0 {
            break;
        }
    }
    let mut past = 0;
    loop {
        go_on()?;
        let deleted = context.store.write(|db| runs::GROWING.prune(db, now, BATCH))?;
        past += deleted;
        if deleted < u64::from(BATCH) {
            break;
        }
    }
    context.store.write(|db| {
        db.allow_long();
        unused::forget_answers(db, now.saturating_sub(config::answers_hold(db)?))?;
        unused::forget_approvals(db)?;
        let subject = format!("{archives} archives, {past} runs");
        context.event(db, context.author(), None, "tool.prune", &subject)
    })?;
    // Unpacked copies of the archives deleted above are now unused too.
    let copies = copies(context, since, false)?;
    let archives = Amount { count: archives, ..found.archives };
    Ok(Unused { archives, copies, runs: past, ..found })
}

/// Returns the number and size of the unpacked copies that nothing needs, and deletes them unless this is a dry run.
fn copies(context: &Context, since: Since, is_dry: bool) -> Result<Amount> {
    let kept = context.store.read(|db| {
        db.allow_long();
        unused::needed(db, since)
    })?;
    let is_needed = |name: &str| hex::decode(name).is_some_and(|sha256| kept.contains(sha256.as_slice()));
    let before = UNIX_EPOCH + Duration::from_millis(u64::try_from(since.runs).unwrap_or(0));
    run::unused::sweep(&run::cache()?, &is_needed, before, is_dry)
}

/// Formats a number of bytes.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => plural::count(bytes, "byte"),
        1024..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
