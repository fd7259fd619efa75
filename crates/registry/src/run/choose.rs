//! Which runner runs a tool: by what its manifest says, what a person allowed and what works on this machine.

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
use crate::package::manifest::Base;
use mcpkg_base::approved::Approved;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::Db;

/// What the choice depends on, apart from the call itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether tools may run without a sandbox at all.
    pub allow_unsandboxed: bool,
    /// The images that this machine's own programs stand in for.
    pub stand_in: Vec<String>,
}

impl Settings {
    /// Returns what this user set.
    pub fn of(db: &Db<'_>, approved: &Approved) -> Result<Self> {
        Ok(Self { allow_unsandboxed: config::allows_unsandboxed(db, approved)?, stand_in: config::stand_in(db)? })
    }
}

/// What a runner is chosen for.
#[derive(Clone, Copy)]
pub struct Wanted<'w> {
    /// What the call runs in.
    pub context: &'w Context,
    pub call: &'w Call,
    /// What a person allowed the tool.
    pub granted: &'w Granted,
    pub settings: &'w Settings,
    /// The one that the caller names.
    pub kind: Option<RunnerKind>,
    /// Whether the tool is to be built, and not to be run.
    pub builds: bool,
}

/// Why a runner does not run a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It does not work here.
    Reason(String),
    /// It does not suit the tool.
    Unsuitable(String),
    /// The image is not there; the command brings it.
    ImageMissing(String),
}

/// A runner that was asked: itself where it runs the tool.
pub type Asked = (RunnerKind, Result<Box<dyn Runner>, Why>);

/// Returns the first runner that suits the tool and works on this machine.
///
/// # Errors
/// `E_RUNNER_UNAVAILABLE` with the reason of each in details.runners, `E_IMAGE_MISSING`.
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

/// Returns each runner that is asked for a tool, in the order in which they are asked, with what it says.
pub fn each(wanted: Wanted<'_>) -> Vec<Asked> {
    order(&wanted).into_iter().map(|kind| (kind, find(&wanted, kind))).collect()
}

/// Returns the runners that are asked: the one that is named, else those that the table says.
fn order(wanted: &Wanted<'_>) -> Vec<RunnerKind> {
    if let Some(kind) = wanted.kind {
        return vec![kind];
    }
    if !wanted.builds && may_run_unsandboxed(wanted).is_ok() {
        return vec![RunnerKind::None];
    }
    suitable(wanted)
}

/// Returns the runners that suit a tool: a module runs in mcpkg, a tool of an image in the image, all else in bubblewrap.
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

/// Whether the program of a call is a WebAssembly module.
fn is_module(call: &Call) -> bool {
    call.argv.first().is_some_and(|word| word.ends_with(".wasm"))
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
            let engine = engine::found(kind).map_err(Why::Reason)?;
            match engine::image(&engine, name).map_err(Why::Reason)? {
                Some(image) => Ok(Box::new(Container::new(engine, image))),
                None => Err(Why::ImageMissing(engine::pull(kind, name))),
            }
        }
        (RunnerKind::Wasm, _) => module(wanted),
        _ => bubblewrap::found().map(|found| Box::new(found) as Box<dyn Runner>).map_err(Why::Reason),
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

/// Fails unless a tool may run without a sandbox: by the setting, a person's grant, and what is thought of the tool.
fn may_run_unsandboxed(wanted: &Wanted<'_>) -> Result<(), String> {
    let Wanted { call, granted, settings, builds, .. } = wanted;
    let tool = &call.tool.name;
    let reasons = [
        (*builds, "mcpkg runs builds only in a sandbox".to_owned()),
        (is_module(call), "mcpkg itself runs WebAssembly modules".to_owned()),
        (!settings.allow_unsandboxed, "the setting execution.allow_unsandboxed is off".to_owned()),
        (
            !granted.unsandboxed,
            format!("you have not allowed this tool to run without a sandbox: `mcpkg tool allow {tool} unsandboxed`"),
        ),
        (!is_trusted(&call.verdict), format!("{tool} is {}", call.verdict)),
        (!call.is_local, "mcpkg never runs a tool without a sandbox for a call over the network".to_owned()),
    ];
    match reasons.into_iter().find(|(holds, _)| *holds) {
        Some((_, why)) => Err(why),
        None => Ok(()),
    }
}

/// Whether a tool runs without a sandbox where it is called on this machine: what a person has to know when tools are listed.
pub fn is_unsandboxed(db: &Db<'_>, approved: &Approved, tool: &Tool, verdict: &str) -> Result<bool> {
    let may = is_trusted(verdict) && grants::of(db, approved, tool)?.unsandboxed;
    Ok(may && Settings::of(db, approved)?.allow_unsandboxed)
}

/// Whether what is thought of a tool lets it run without a sandbox at all.
fn is_trusted(verdict: &str) -> bool {
    matches!(verdict, "verified" | "approved")
}

/// Returns the failure of a tool that no runner runs.
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
        (None, Some(_)) => "install podman (Debian: `apt install podman`)",
        (None, None) => return error,
    };
    error.hint(format!("{mend}; then check with `mcpkg doctor`"))
}

impl Why {
    /// Returns it as a sentence's part.
    pub fn text(&self) -> String {
        match self {
            Self::Reason(why) | Self::Unsuitable(why) => why.clone(),
            Self::ImageMissing(pull) => format!("the image is missing: fetch the image with `{pull}`"),
        }
    }
}

/// Returns the failure of a runner that turned out not to work.
pub fn unavailable(call: &Call, kind: RunnerKind, why: String) -> Error {
    refusal(call, &[(kind, Why::Reason(why))])
}
