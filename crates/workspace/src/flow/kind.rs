//! Defines the kinds of flow branches: their names, where they start, and where they are merged.

use crate::manifest::{Flow, Repo};
use crate::names;
use mcpkg_base::error::{Code, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Starts at develop and is merged into develop.
    Feature,
    /// Starts at develop; is merged into main, tagged there, and merged into develop.
    Release,
    /// Starts at main, and is finished like a release.
    Hotfix,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Feature, Kind::Release, Kind::Hotfix];

    /// Returns the lowercase name: `feature`.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Feature => "feature",
            Kind::Release => "release",
            Kind::Hotfix => "hotfix",
        }
    }

    /// Returns the capitalized name: `Feature`.
    pub const fn title(self) -> &'static str {
        match self {
            Kind::Feature => "Feature",
            Kind::Release => "Release",
            Kind::Hotfix => "Hotfix",
        }
    }

    /// Returns the prefix of branch names of this kind.
    pub fn prefix(self, flow: &Flow) -> &str {
        match self {
            Kind::Feature => &flow.feature_prefix,
            Kind::Release => &flow.release_prefix,
            Kind::Hotfix => &flow.hotfix_prefix,
        }
    }

    /// Returns the branch at which branches of this kind start.
    pub fn base<'a>(self, flow: &'a Flow, repo: &'a Repo) -> &'a str {
        match self {
            Kind::Feature | Kind::Release => &flow.develop_branch,
            Kind::Hotfix => &repo.default_branch,
        }
    }

    /// Returns whether finishing a branch of this kind publishes a version: the branch is merged into main, with a tag.
    pub const fn is_released(self) -> bool {
        matches!(self, Kind::Release | Kind::Hotfix)
    }

    /// Checks a name and returns its full branch name.
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
