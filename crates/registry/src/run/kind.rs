//! Names the kinds of runners.

/// A kind of runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RunnerKind {
    /// Run in bubblewrap, with this machine's own programs.
    Bubblewrap,
    /// Run in podman, with a container image that is already on this machine.
    Podman,
    /// Run in docker, with a container image that is already on this machine.
    Docker,
    /// Run in mcpkg itself, for a WebAssembly module.
    Wasm,
    /// Run without a sandbox, if a person has allowed this.
    None,
}

impl RunnerKind {
    pub const ALL: [Self; 5] = [Self::Bubblewrap, Self::Podman, Self::Docker, Self::Wasm, Self::None];

    /// Returns the word that is stored and shown.
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
