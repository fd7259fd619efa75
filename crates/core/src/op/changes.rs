//! Which lists of clients an operation may change: the typed side of an event.
//!
//! An event's row stores the operation's name. Every process looks up the same `Changes` in its own table, no matter which
//! process made the change.

/// The lists that an operation may change, and who may see the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    pub prompts: bool,
    pub resources: bool,
    pub tools: bool,
    pub skills: bool,
    /// Who may see the change.
    pub reach: Reach,
}

/// The clients that may see a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The clients that are served the event's project.
    Project,
    /// Every client: the operation may change which project is served, or its name.
    Everybody,
}

impl Changes {
    pub const NO_LIST: Self =
        Self { prompts: false, resources: false, tools: false, skills: false, reach: Reach::Project };

    /// Every list of the project. This is also assumed for an event of a newer version whose operation is unknown here.
    pub const PROJECT: Self = Self { prompts: true, resources: true, tools: true, skills: true, reach: Reach::Project };

    /// Which project is served, and therefore every list.
    pub const SELECTION: Self = Self { reach: Reach::Everybody, ..Self::PROJECT };

    /// The project's prompts, and the skills made from them.
    pub const PROMPTS: Self = Self { prompts: true, skills: true, ..Self::NO_LIST };

    /// The project's resources, and the skills among them. Also the tools: with the first skill, the tools that write skills
    /// are listed.
    pub const RESOURCES: Self = Self { resources: true, tools: true, skills: true, ..Self::NO_LIST };

    pub const TOOLS: Self = Self { tools: true, ..Self::NO_LIST };

    /// Returns everything that either of the two may change.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let reach = match (self.reach, other.reach) {
            (Reach::Project, Reach::Project) => Reach::Project,
            _ => Reach::Everybody,
        };
        Self {
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
            tools: self.tools || other.tools,
            skills: self.skills || other.skills,
            reach,
        }
    }
}
