//! Selects what to take from a config repo.

/// The profile, machine and project for which modules are composed.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The profile that selects the modules.
    pub profile: &'a str,
    /// The machine's id. See [`super::identity::machine`].
    pub machine: &'a str,
    /// The project's id. See [`super::identity::project`].
    pub project: &'a str,
}
