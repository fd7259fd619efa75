//! What is wanted of a config repo.

/// What is wanted of a repo.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The profile that selects the modules.
    pub profile: &'a str,
    /// The machine, as [`super::identity::machine`] says it.
    pub machine: &'a str,
    /// The project, as [`super::identity::project`] says it.
    pub project: &'a str,
}
