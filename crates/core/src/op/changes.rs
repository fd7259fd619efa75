//! Declares which lists (prompts, resources, tools, skills) an operation may change.
//!
//! An event's row stores the operation's name, but not its `Changes`. Every process looks them up in its own table, no
//! matter which process made the change.

/// The lists that an operation may change, and the clients that may see the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    pub prompts: bool,
    pub resources: bool,
    pub tools: bool,
    pub skills: bool,
    pub reach: Reach,
}

/// The clients that may see a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The clients of the event's project.
    Project,
    /// All clients, for example because the operation may select or rename a project.
    Everybody,
}

impl Changes {
    pub const NO_LIST: Self =
        Self { prompts: false, resources: false, tools: false, skills: false, reach: Reach::Project };

    /// All lists of the project. Also used for an event whose operation this version of mcpkg does not know.
    pub const PROJECT: Self = Self { prompts: true, resources: true, tools: true, skills: true, reach: Reach::Project };

    /// All lists of all clients, for an operation that may select another project.
    pub const SELECTION: Self = Self { reach: Reach::Everybody, ..Self::PROJECT };

    /// The project's prompts, and the skills made from them.
    pub const PROMPTS: Self = Self { prompts: true, skills: true, ..Self::NO_LIST };

    /// The project's resources, including skills, and its tools: the tools that write skills are listed once there is a
    /// skill.
    pub const RESOURCES: Self = Self { resources: true, tools: true, skills: true, ..Self::NO_LIST };

    pub const TOOLS: Self = Self { tools: true, ..Self::NO_LIST };

    /// Combines two values: the result covers everything that either of them may change.
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
