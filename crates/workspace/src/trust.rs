//! `mcpkg workspace trust`: allows the programs that a repository's git configuration names.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::root::Workspace;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git;
use mcpkg_base::git::programs::{self, Named};
use mcpkg_base::process::Limits;
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Trust the programs that a repository's configuration names
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Folder of the repository, or the repository's name in the workspace [default: the current folder]
    #[arg(value_name = "PATH")]
    #[serde(default)]
    path: Option<PathBuf>,
}

impl Operation for Trust {
    const TOOL: &'static str = "trust_repository";
    const CLI: &'static [&'static str] = &["workspace", "trust"];
    const TITLE: &'static str = "Trust a repository";
    const ABOUT: &'static str = "Let git run the programs named in a repository's configuration";
    const HELP: &'static str = "The configuration in a repository's .git folder can make git run programs: \
        filters, merge drivers, an ssh command, a signer or a hook. Such settings can be in a repository that you \
        copied together with its .git folder. mcpkg does not let git run these programs until you run `mcpkg \
        workspace trust` to trust the settings. If the settings change, you have to trust the new settings. Your \
        own configuration (~/.gitconfig) is always trusted.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workspace trust", "mcpkg workspace trust api"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let folder = self.folder(context)?;
        let limits = Limits::new(git::LOCAL, &context.cancelled);
        let named = Named::of(&folder, &limits)?;
        let shown = folder.display().to_string();
        let data = |trusted: bool| json!({ "repository": shown, "settings": named.data(), "trusted": trusted });
        if named.is_trusted(&context.approved)? {
            let sentence = match named.settings.is_empty() {
                true => format!("`{shown}` does not name any programs: there is nothing to trust"),
                false => format!("You already trust `{shown}`"),
            };
            return Ok(Reply::sentence(sentence, data(true)));
        }
        if context.confirmation != Confirmation::Ask {
            return Err(Error::new(
                Code::TerminalRequired,
                "Only a person at a terminal can trust a repository; --yes does not apply",
            )
            .with_details(json!({ "repository": shown, "settings": named.data() }))
            .hint("run the command at a terminal, without --yes"));
        }
        let programs = named.lines().into_iter().map(|line| format!("  {line}"));
        let lines = std::iter::once(format!("If you agree, git uses these settings of `{shown}`:")).chain(programs);
        (context.ask)(Body::lines(lines), &format!("Trust these settings of `{shown}`?"))?;
        programs::trust(&named, &context.approved)?;
        Ok(Reply::sentence(format!("Trusted `{shown}`"), data(true)))
    }
}

impl Trust {
    /// Returns the folder to trust: an existing path, or else the folder of the repository with this name.
    fn folder(&self, context: &Context) -> Result<PathBuf> {
        let path = self.path.clone().unwrap_or_else(|| PathBuf::from("."));
        let named = path.to_str().filter(|_| !path.exists()).and_then(|name| {
            let workspace = Workspace::open(context).ok()?;
            workspace.folder(workspace.manifest.repos.iter().find(|repo| repo.name == name)?).ok()
        });
        let folder = named.unwrap_or(path);
        let folder = mcpkg_base::platform::real(&folder).map_err(|error| Error::file("read", &folder, error))?;
        git::toplevel(&folder).ok_or_else(|| {
            Error::new(Code::GitRepoRequired, format!("`{}` is not in a git repository", folder.display()))
        })
    }
}
