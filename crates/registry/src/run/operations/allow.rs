//! `mcpkg tool allow`: shows and changes what a tool may do beyond its sandbox.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::run::call::Tool;
use crate::run::grants;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::tools::grants::{self as stored, Allowed, Grant};

/// Folders that the sandbox itself uses; no folder of the host can be mounted over them.
const TAKEN: [&str; 14] = [
    "/bin",
    "/dev",
    "/etc",
    "/input",
    "/lib",
    "/lib32",
    "/lib64",
    "/output",
    "/proc",
    "/run",
    "/sbin",
    "/tmp",
    "/usr",
    "/workspace",
];

/// The permission to give to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum What {
    #[value(help = "Reach other hosts, and services on this machine")]
    Network,
    #[value(help = "Read and write a folder")]
    Files,
    #[value(help = "Run without a sandbox, if the setting execution.allow_unsandboxed is on")]
    Unsandboxed,
}

/// Grant a tool access beyond its sandbox
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Allow {
    /// Tool name, or the path of the tool's folder [default: list the permissions of all tools]
    tool: Option<String>,
    /// Permission to grant to the tool [default: show its current permissions]
    #[arg(value_enum)]
    what: Option<What>,
    /// For the permission `files`: folder that the tool can read and write
    #[arg(requires = "what")]
    folder: Option<String>,
    /// Revoke the permission
    #[arg(long, requires = "what")]
    #[serde(default)]
    revoke: bool,
}

impl Operation for Allow {
    const TOOL: &'static str = "allow_tool";
    const CLI: &'static [&'static str] = &["tool", "allow"];
    const TITLE: &'static str = "Grant a tool access beyond its sandbox";
    const ABOUT: &'static str = "Let a tool use the network, access a folder, or run unsandboxed";
    const HELP: &'static str = "To grant a permission, you must confirm at a terminal; --yes cannot skip the confirmation. The \
        permission applies only on this machine, and only while the tool has the same publisher. For an unsigned tool, the permission \
        applies only to the current archive or folder.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool allow alice/utils/weather network",
        "mcpkg tool allow alice/utils/weather",
        "mcpkg tool allow",
        "mcpkg tool allow alice/utils/weather network --revoke",
        "mcpkg tool allow ./my-tool files ~/data",
        "mcpkg tool allow alice/utils/weather unsandboxed",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.tool.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Some(tool) = &self.tool else { return all(context) };
        let tool = super::subject::tool(context, tool)?;
        let Some(what) = self.what else { return shown(context, &tool) };
        let allowed = match (what, &self.folder) {
            (What::Network, None) => Allowed::Network,
            (What::Unsandboxed, None) => Allowed::Unsandboxed,
            (What::Network | What::Unsandboxed, Some(_)) => {
                return Err(Error::new(Code::InvalidArgument, "Only the permission `files` takes a folder"));
            }
            (What::Files, None) => return Err(Error::new(Code::InvalidArgument, "`files` needs a folder")),
            // The permission for a folder that no longer exists can be revoked by the path that was shown.
            (What::Files, Some(folder)) if self.revoke => {
                Allowed::Files(real(folder).unwrap_or_else(|_| folder.clone()))
            }
            (What::Files, Some(folder)) => Allowed::Files(checked(context, folder)?),
        };
        let (tool, publisher) = (tool.name.clone(), tool.holder());
        let grant = Grant { tool, publisher, allowed, granted_at: context.clock.now() };
        if self.revoke { revoke(context, &grant) } else { allow(context, &grant) }
    }
}

fn allow(context: &Context, grant: &Grant) -> Result<Reply> {
    if context.confirmation != Confirmation::Ask {
        let why = "Only a person at a terminal can grant a tool access beyond its sandbox; --yes cannot skip this confirmation";
        return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
    }
    let does = match &grant.allowed {
        Allowed::Network => "reach every host that this machine can reach, and every service on this machine".to_owned(),
        Allowed::Files(folder) => format!("read, change and delete everything below {folder}"),
        Allowed::Unsandboxed => {
            "run without a sandbox, and do everything that you can do on this machine: read your keys, change your files"
                .to_owned()
        }
    };
    let text = format!("{}, published by {}, will be able to {does}.", grant.tool, holder(&grant.publisher));
    (context.ask)(Body::lines([text]), &format!("Allow {} to {does}?", grant.tool))?;
    grants::approve(&context.approved, grant)?;
    let author = context.author();
    context.store.write(|db| {
        stored::insert(db, grant)?;
        context.event(db, author, None, "tool.allow", &grant.tool)
    })?;
    let sentence = format!("{} can now {does}", grant.tool);
    Ok(Reply::sentence(sentence, json!({ "tool": grant.tool, "granted": [data(grant, true)] })).hint(format!(
        "to revoke this permission: `mcpkg tool allow {} {} --revoke`",
        grant.tool,
        words(&grant.allowed)
    )))
}

fn revoke(context: &Context, grant: &Grant) -> Result<Reply> {
    let author = context.author();
    let was = context.store.write(|db| {
        let was = stored::delete(db, grant)?;
        if was {
            context.event(db, author, None, "tool.allow.revoke", &grant.tool)?;
        }
        Ok(was)
    })?;
    grants::withdraw(&context.approved, grant)?;
    let sentence = match was {
        true => format!("Revoked a permission of {}: {}", grant.tool, words(&grant.allowed)),
        false => format!("{} did not have this permission: {}", grant.tool, words(&grant.allowed)),
    };
    Ok(Reply::sentence(sentence, json!({ "tool": grant.tool, "granted": [], "revoked": was })))
}

/// Lists the permissions of all tools.
fn all(context: &Context) -> Result<Reply> {
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    for grant in context.store.read(stored::all)? {
        let counts = grants::counts(&context.approved, &grant)?;
        let here = if counts { "yes" } else { "no: you have not allowed it on this machine" };
        rows.push(vec![grant.tool.clone(), words(&grant.allowed), here.to_owned(), holder(&grant.publisher)]);
        let mut data = data(&grant, counts);
        data["tool"] = grant.tool.into();
        listed.push(data);
    }
    let columns = &["TOOL", "ALLOWED", "COUNTS", "PUBLISHER"];
    let empty = "No tool has permissions beyond its sandbox".to_owned();
    Ok(Reply::new(Body::Table(Table { columns, rows, empty }), json!({ "granted": listed })))
}

fn shown(context: &Context, tool: &Tool) -> Result<Reply> {
    let found = context.store.read(|db| stored::of(db, &tool.name, &tool.holder()))?;
    let (mut lines, mut listed) = (Vec::new(), Vec::new());
    for grant in &found {
        let counts = grants::counts(&context.approved, grant)?;
        let note = if counts { "" } else { " (no effect: you have not allowed it on this machine)" };
        lines.push(format!("{} has this permission: {}{note}\n", tool.name, words(&grant.allowed)));
        listed.push(data(grant, counts));
    }
    if lines.is_empty() {
        lines.push(format!("{} has no permissions beyond its sandbox\n", tool.name));
    }
    Ok(Reply::new(Body::Text(lines.concat()), json!({ "tool": tool.name, "granted": listed })))
}

/// Returns the real path of a folder that a tool may be given.
///
/// # Errors
/// `E_NOT_FOUND` if the path does not exist. `E_INVALID_ARGUMENT` if it is not a folder or not UTF-8, if the sandbox
/// itself uses it, or if it is above or below the folder of mcpkg's database or approvals.
fn checked(context: &Context, folder: &str) -> Result<String> {
    let real = real(folder)?;
    let path = Path::new(&real);
    if !path.is_dir() {
        return Err(Error::new(Code::InvalidArgument, format!("`{real}` is not a folder")));
    }
    let taken = TAKEN.iter().map(Path::new).find(|taken| path.starts_with(taken) || taken.starts_with(path));
    if let Some(taken) = taken {
        let why = format!("Cannot allow `{real}`: every sandbox has its own `{}`", taken.display());
        return Err(Error::new(Code::InvalidArgument, why).hint("allow a folder of your own, such as ~/data"));
    }
    let own = [context.database().parent().map(Path::to_owned), context.approved.folder().map(Path::to_owned)];
    for own in own.into_iter().flatten() {
        let own = mcpkg_base::platform::real(&own).unwrap_or(own);
        if own.starts_with(path) || path.starts_with(&own) {
            let why = format!("Cannot allow `{real}`: mcpkg stores trusted files in `{}`", own.display());
            return Err(Error::new(Code::InvalidArgument, why).hint("choose a different folder"));
        }
    }
    Ok(real)
}

fn real(folder: &str) -> Result<String> {
    let path = match folder.strip_prefix("~/") {
        Some(rest) => disk::home()?.join(rest),
        None => folder.into(),
    };
    let real = mcpkg_base::platform::real(&path).map_err(|error| Error::file("read", &path, error))?;
    let no_text = |_| Error::new(Code::InvalidArgument, "Cannot allow a folder whose path is not valid UTF-8");
    real.into_os_string().into_string().map_err(no_text)
}

fn words(allowed: &Allowed) -> String {
    match allowed {
        Allowed::Network => "network".to_owned(),
        Allowed::Unsandboxed => "unsandboxed".to_owned(),
        Allowed::Files(folder) => format!("files {}", mcpkg_base::shell::quote(folder)),
    }
}

fn holder(publisher: &str) -> String {
    match publisher.split_once(':') {
        Some(("folder", path)) => format!("nobody (the folder {path})"),
        Some(("sha256", digest)) => format!("nobody (the archive {digest})"),
        _ => publisher.to_owned(),
    }
}

fn data(grant: &Grant, counts: bool) -> Value {
    let folder = match &grant.allowed {
        Allowed::Network | Allowed::Unsandboxed => None,
        Allowed::Files(folder) => Some(folder),
    };
    json!({
        "kind": grant.allowed.word(),
        "folder": folder,
        "publisher": grant.publisher,
        "counts": counts,
        "granted_at": rfc3339(grant.granted_at),
    })
}
