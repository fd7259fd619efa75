//! Chooses the runner for a tool, based on its manifest, the permissions that a person gave, and what works on this
//! machine.

use serde_json::{Value, json};

use super::bubblewrap;
use super::call::{Call, Tool};
use super::container::Container;
use super::engine;
use super::grants::{self, Granted};
use super::health;
use super::kind::RunnerKind;
use super::runner::Runner;
use super::unsandboxed::Unsandboxed;
use crate::config;
use crate::package::manifest::{Base, Manifest};
use crate::trust::Verdict;
use mcpkg_base::approved::Approved;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::platform::IS_WINDOWS;
use mcpkg_core::op::Context;
use mcpkg_store::Db;

/// The settings that affect the choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether tools may run without a sandbox.
    pub allow_unsandboxed: bool,
    /// The container images that tools may do without: they then run with this machine's own programs.
    pub stand_in: Vec<String>,
}

impl Settings {
    /// Reads the user's settings.
    pub fn of(db: &Db<'_>, approved: &Approved) -> Result<Self> {
        Ok(Self { allow_unsandboxed: config::allows_unsandboxed(db, approved)?, stand_in: config::stand_in(db)? })
    }
}

/// Everything that the choice of a runner depends on.
#[derive(Clone, Copy)]
pub struct Wanted<'w> {
    pub context: &'w Context,
    pub call: &'w Call,
    /// The permissions that a person gave the tool.
    pub granted: &'w Granted,
    pub settings: &'w Settings,
    /// The runner that the caller asks for.
    pub kind: Option<RunnerKind>,
    /// Whether to build the tool instead of running it.
    pub builds: bool,
}

/// The reason why a runner cannot run a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The runner does not work on this machine, or the tool may not use it.
    Reason(String),
    /// The runner is not suitable for the tool.
    Unsuitable(String),
    /// The image is missing; this command pulls it.
    ImageMissing(String),
}

/// A kind of runner, and the runner itself or the reason why it cannot run the tool.
pub type Candidate = (RunnerKind, Result<Box<dyn Runner>, Why>);

/// Returns the first suitable runner that works on this machine.
///
/// # Errors
/// `E_IMAGE_MISSING` if an engine works but lacks the tool's image; otherwise `E_RUNNER_UNAVAILABLE`. Both have the
/// reason for each runner in `details.runners`.
pub fn choose(wanted: Wanted<'_>) -> Result<Box<dyn Runner>> {
    let mut refused = Vec::new();
    for kind in order(&wanted) {
        match find(&wanted, kind) {
            Ok(runner) => return Ok(runner),
            Err(why) => refused.push((kind, why)),
        }
    }
    Err(refusal(wanted.call, &refused))
}

/// Tries all runners for a tool in order, and returns the result of each.
pub fn each(wanted: Wanted<'_>) -> Vec<Candidate> {
    order(&wanted).into_iter().map(|kind| (kind, find(&wanted, kind))).collect()
}

/// Returns the runners to try: the one that the caller asks for, else [`RunnerKind::None`] if the tool may run
/// without a sandbox, else all suitable ones.
fn order(wanted: &Wanted<'_>) -> Vec<RunnerKind> {
    if let Some(kind) = wanted.kind {
        return vec![kind];
    }
    if !wanted.builds && may_run_unsandboxed(wanted).is_ok() {
        return vec![RunnerKind::None];
    }
    suitable(wanted)
}

/// Returns the suitable runners. WebAssembly modules run in mcpkg itself, unless the call is a build. Tools with an
/// image run in a container; if the tool may do without the image, bubblewrap comes last. All others run in
/// bubblewrap.
fn suitable(wanted: &Wanted<'_>) -> Vec<RunnerKind> {
    match &wanted.call.from {
        _ if is_module(wanted.call) && !wanted.builds => vec![RunnerKind::Wasm],
        Base::Host => vec![RunnerKind::Bubblewrap],
        Base::Image(image) => {
            let mut kinds = vec![RunnerKind::Podman, RunnerKind::Docker];
            if wanted.settings.stand_in.contains(image) {
                kinds.push(RunnerKind::Bubblewrap);
            }
            kinds
        }
    }
}

/// Returns whether the program of a call is a WebAssembly module.
fn is_module(call: &Call) -> bool {
    call.argv.first().is_some_and(|program| names_module(program))
}

fn names_module(program: &str) -> bool {
    program.ends_with(".wasm")
}

fn find(wanted: &Wanted<'_>, kind: RunnerKind) -> Result<Box<dyn Runner>, Why> {
    if kind == RunnerKind::None {
        may_run_unsandboxed(wanted).map_err(Why::Reason)?;
        return Ok(Box::new(Unsandboxed));
    }
    if !suitable(wanted).contains(&kind) {
        let from = match &wanted.call.from {
            _ if is_module(wanted.call) => "mcpkg's own WebAssembly runtime".to_owned(),
            Base::Host => "the programs on this machine".to_owned(),
            Base::Image(image) => format!("the image {image}"),
        };
        return Err(Why::Unsuitable(format!("{} needs {from}", wanted.call.tool.name)));
    }
    match (kind, &wanted.call.from) {
        (RunnerKind::Podman | RunnerKind::Docker, Base::Image(name)) => {
            let engine = engine::find(kind).map_err(Why::Reason)?;
            match engine::image(&engine, name).map_err(Why::Reason)? {
                Some(image) => Ok(Box::new(Container::new(engine, image))),
                None => Err(Why::ImageMissing(engine::pull(kind, name))),
            }
        }
        (RunnerKind::Wasm, _) => module(wanted),
        _ => bubblewrap::find().map(|found| Box::new(found) as Box<dyn Runner>).map_err(Why::Reason),
    }
}

#[cfg(feature = "wasm")]
fn module(wanted: &Wanted<'_>) -> Result<Box<dyn Runner>, Why> {
    Ok(Box::new(super::module::Module::new(wanted.context, wanted.call)))
}

#[cfg(not(feature = "wasm"))]
fn module(_: &Wanted<'_>) -> Result<Box<dyn Runner>, Why> {
    Err(Why::Reason("this mcpkg was built without the feature `wasm`".to_owned()))
}

/// Fails unless a tool may run without a sandbox. This needs the setting `execution.allow_unsandboxed`, a person's
/// permission, a trusted tool, and a caller on this machine. Builds and WebAssembly modules never may, and on Windows
/// no tool may.
fn may_run_unsandboxed(wanted: &Wanted<'_>) -> Result<(), String> {
    let Wanted { call, granted, settings, builds, .. } = wanted;
    let tool = &call.tool.name;
    let reasons = [
        (*builds, "mcpkg runs builds only in a sandbox".to_owned()),
        (is_module(call), "mcpkg itself runs WebAssembly modules".to_owned()),
        (IS_WINDOWS, "on Windows, mcpkg runs tools only in a sandbox".to_owned()),
        (!settings.allow_unsandboxed, "the setting execution.allow_unsandboxed is off".to_owned()),
        (
            !granted.unsandboxed,
            format!("you have not allowed this tool to run without a sandbox: `mcpkg tool allow {tool} unsandboxed`"),
        ),
        (!call.verdict.is_trusted(), format!("{tool} is {}", call.verdict.word())),
        (!call.is_local, "mcpkg never runs a tool without a sandbox for a call over the network".to_owned()),
    ];
    match reasons.into_iter().find(|(holds, _)| *holds) {
        Some((_, why)) => Err(why),
        None => Ok(()),
    }
}

/// Returns whether settings and permissions let a local call of the tool run without a sandbox, to warn about it in
/// lists. A tool whose actions are all WebAssembly modules always runs in a sandbox.
pub fn is_unsandboxed(
    db: &Db<'_>,
    approved: &Approved,
    tool: &Tool,
    verdict: &Verdict,
    manifest: &Manifest,
) -> Result<bool> {
    let only_modules = manifest.actions.iter().all(|action| action.command.program().is_some_and(names_module));
    let may = !only_modules && verdict.is_trusted() && grants::of(db, approved, tool)?.unsandboxed;
    Ok(may && Settings::of(db, approved)?.allow_unsandboxed)
}

/// Returns the error for a tool that no runner can run.
fn refusal(call: &Call, refused: &[(RunnerKind, Why)]) -> Error {
    let pull = refused.iter().find_map(|(_, why)| match why {
        Why::ImageMissing(pull) => Some(pull),
        Why::Reason(_) | Why::Unsuitable(_) => None,
    });
    let runners: Vec<Value> =
        refused.iter().map(|(kind, why)| json!({ "runner": kind.word(), "reason": why.text() })).collect();
    let tool = &call.tool.name;
    if let (Some(pull), Base::Image(image)) = (pull, &call.from) {
        let what = format!("{tool} needs the image {image}, which is not on this machine");
        return Error::new(Code::ImageMissing, what)
            .with_details(json!({ "image": image, "pull": pull, "runners": runners }))
            .hint(format!("the user has to run `{pull}`, since mcpkg does not fetch images"));
    }
    let reasons: Vec<String> = refused.iter().map(|(kind, why)| format!("{}: {}", kind.word(), why.text())).collect();
    let what = format!("Cannot run {tool} on this machine ({})", reasons.join("; "));
    let error = Error::new(Code::RunnerUnavailable, what).with_details(json!({ "runners": runners }));
    let lacks = |kind: RunnerKind| {
        refused.iter().find(|(asked, why)| *asked == kind && matches!(why, Why::Reason(_))).map(|(_, why)| why.text())
    };
    let mend = match (lacks(RunnerKind::Bubblewrap), lacks(RunnerKind::Podman)) {
        (Some(why), _) => health::mend(&why),
        (None, Some(why)) if why.ends_with("Linux only") => health::mend(&why),
        (None, Some(_)) => "install podman (Debian: `apt install podman`)",
        (None, None) => return error,
    };
    error.hint(format!("{mend}; then check with `mcpkg doctor`"))
}

impl Why {
    /// Describes the reason as part of a sentence.
    pub fn text(&self) -> String {
        match self {
            Self::Reason(why) | Self::Unsuitable(why) => why.clone(),
            Self::ImageMissing(pull) => format!("the image is missing: fetch the image with `{pull}`"),
        }
    }
}

/// Returns the error for a runner that was chosen, but then did not work.
pub fn unavailable(call: &Call, kind: RunnerKind, why: String) -> Error {
    refusal(call, &[(kind, Why::Reason(why))])
}
