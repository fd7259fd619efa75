//! The parts of a server that an agent's file cannot express.

/// A part that is left out of an entry because its agent does not support it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// The values that replace variables that are not set.
    Defaults,
    /// The folder that the program is started in.
    Folder,
}

impl Lost {
    /// What is left out, for a person.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Defaults => "the default values of variables",
            Self::Folder => "the folder in which the server starts",
        }
    }
}

/// Why an agent cannot be given a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsayable {
    /// It does not replace variables there.
    Variables,
    /// It would replace text that must stay literal.
    Literal,
    /// It does not ask its user for values.
    Inputs,
    /// It does not insert the contents of files.
    Files,
    /// It does not support that transport.
    Transport,
}

impl Unsayable {
    /// Why, for a person.
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
