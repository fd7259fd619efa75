//! `mcpkg tool sign`: signs a tool as its publisher.

use schemars::JsonSchema;
use serde::Deserialize;

use super::signing::Signing;
use crate::GROUP;
use crate::trust::statement::Says;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reach, Reply};

/// Sign a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Sign {
    #[command(flatten)]
    #[serde(flatten)]
    signing: Signing,
}

impl Operation for Sign {
    const TOOL: &'static str = "sign_tool";
    const CLI: &'static [&'static str] = &["tool", "sign"];
    const TITLE: &'static str = "Sign a tool";
    const ABOUT: &'static str = "Sign a tool's archive as the tool's publisher";
    const HELP: &'static str = "The signature covers the tool's name and version, and the SHA-256 of the archive. The signature counts \
        only for people who trust the signing key. If the key has a passphrase, ssh-keygen asks for the passphrase and makes the \
        signature. To sign in two steps, for example on another machine, use --print first and --with later.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool sign alice/weather",
        "mcpkg tool sign ./weather --key ~/.ssh/id_ed25519",
        "mcpkg tool sign alice/weather --print > weather.json",
        "mcpkg tool sign alice/weather --with weather.json",
        "mcpkg tool sign alice/weather@1.2.0 --to team",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.signing.name()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        self.signing.run(context, "tool.sign", Some(&Says::Made))
    }
}
