//! Defines the parts of a server that an agent's file cannot express.

/// A part of a server that is left out of an entry because the agent does not support it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// Defaults for variables that are not set.
    Defaults,
    /// The folder in which the program is started.
    Folder,
}

impl Lost {
    /// Returns the part's name for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Defaults => "the default values of variables",
            Self::Folder => "the folder in which the server starts",
        }
    }
}

/// The reason why an agent's file cannot contain a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsayable {
    /// The agent does not replace variables at this place.
    Variables,
    /// The agent would replace text that must stay literal.
    Literal,
    /// The agent does not ask its user for values.
    Inputs,
    /// The agent does not insert the contents of files.
    Files,
    /// The agent does not support the server's transport.
    Transport,
}

impl Unsayable {
    /// Returns the reason for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Variables => "the agent does not replace variables there",
            Self::Literal => "the agent would replace text that must stay literal",
            Self::Inputs => "the agent does not ask its user for values",
            Self::Files => "the agent does not insert the contents of files",
            Self::Transport => "the agent does not support that transport",
        }
    }
}
