//! The runners that there are.

/// What runs tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RunnerKind {
    /// bubblewrap, with this machine's own programs.
    Bubblewrap,
    /// podman, with an image that is there.
    Podman,
    /// docker, with an image that is there.
    Docker,
    /// mcpkg itself, for a WebAssembly module.
    Wasm,
    /// Without a sandbox, where a person allowed it.
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
