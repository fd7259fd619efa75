//! The kinds of branches of a flow: what each is called, where it begins, and where it is merged to.

use crate::manifest::{Flow, Repo};
use crate::names;
use mcpkg_base::error::{Code, Error, Result};

/// A kind of branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Begins at develop, and is merged into it.
    Feature,
    /// Begins at develop; is merged into main, tagged there, and merged into develop.
    Release,
    /// Begins at main, and ends as a release does.
    Hotfix,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Feature, Kind::Release, Kind::Hotfix];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Feature => "feature",
            Kind::Release => "release",
            Kind::Hotfix => "hotfix",
        }
    }

    /// The word as a sentence begins with it.
    pub const fn title(self) -> &'static str {
        match self {
            Kind::Feature => "Feature",
            Kind::Release => "Release",
            Kind::Hotfix => "Hotfix",
        }
    }

    /// What its branches begin with.
    pub fn prefix(self, flow: &Flow) -> &str {
        match self {
            Kind::Feature => &flow.feature_prefix,
            Kind::Release => &flow.release_prefix,
            Kind::Hotfix => &flow.hotfix_prefix,
        }
    }

    /// The branch that it begins at.
    pub fn base<'a>(self, flow: &'a Flow, repo: &'a Repo) -> &'a str {
        match self {
            Kind::Feature | Kind::Release => &flow.develop_branch,
            Kind::Hotfix => &repo.default_branch,
        }
    }

    /// Whether its end is a version: merged into main, with a tag.
    pub const fn is_released(self) -> bool {
        matches!(self, Kind::Release | Kind::Hotfix)
    }

    /// Returns the branch of a name, after a look at the name.
    pub fn branch(self, flow: &Flow, name: &str) -> Result<String> {
        match self {
            Kind::Release => super::version::read(name).map(drop)?,
            Kind::Feature | Kind::Hotfix => names::name(self.word(), name)?,
        }
        let prefix = self.prefix(flow);
        if !prefix.is_empty() && name.starts_with(prefix) {
            return Err(Error::new(Code::InvalidArgument, format!("`{name}` already has the prefix `{prefix}`"))
                .hint("pass the name without the prefix"));
        }
        Ok(format!("{prefix}{name}"))
    }
}
