//! The runners that there are.

/// What runs tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, clap::ValueEnum, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunnerKind {
    #[value(help = "bubblewrap, with this machine's own programs")]
    Bubblewrap,
    #[value(help = "podman, with an image that is there")]
    Podman,
    #[value(help = "docker, with an image that is there")]
    Docker,
    #[value(help = "mcpkg itself, for a WebAssembly module")]
    Wasm,
    #[value(help = "Without a sandbox, where a person allowed it")]
    None,
}

impl RunnerKind {
    /// Every runner.
    pub const ALL: [Self; 5] = [Self::Bubblewrap, Self::Podman, Self::Docker, Self::Wasm, Self::None];

    /// Returns the word that is kept and shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Wasm => "wasm",
            Self::None => "none",
        }
    }
}
