//! The choice of what to take from a config repo.

/// The profile, machine and project to compose modules for.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The profile that selects the modules.
    pub profile: &'a str,
    /// The machine's id, from [`super::identity::machine`].
    pub machine: &'a str,
    /// The project's id, from [`super::identity::project`].
    pub project: &'a str,
}
