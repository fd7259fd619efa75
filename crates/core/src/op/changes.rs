//! What an operation may change of what clients see: the typed side of an event.
//!
//! An event's row has the operation's name, so every process finds the same of these in its table, whoever did it.

/// The lists that a change may alter, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    pub prompts: bool,
    pub resources: bool,
    pub tools: bool,
    pub skills: bool,
    /// Who may see it.
    pub reach: Reach,
}

/// Who may see a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whoever is served the project that the event names.
    Project,
    /// Everybody: which project is served, or what it is called, may have changed.
    Everybody,
}

impl Changes {
    pub const NO_LIST: Self =
        Self { prompts: false, resources: false, tools: false, skills: false, reach: Reach::Project };

    /// Every list of the project: what holds for an event of a newer version, whose operation is not known here.
    pub const PROJECT: Self = Self { prompts: true, resources: true, tools: true, skills: true, reach: Reach::Project };

    /// Which project is served, and so every list.
    pub const SELECTION: Self = Self { reach: Reach::Everybody, ..Self::PROJECT };

    /// The project's prompts, and the skills that they stand for.
    pub const PROMPTS: Self = Self { prompts: true, skills: true, ..Self::NO_LIST };

    /// The project's resources, and the skills among them; a first skill lists the tools that write them.
    pub const RESOURCES: Self = Self { resources: true, tools: true, skills: true, ..Self::NO_LIST };

    pub const TOOLS: Self = Self { tools: true, ..Self::NO_LIST };

    /// Returns what either of two may change.
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
