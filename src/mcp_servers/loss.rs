//! What an agent's form cannot say of a server.

/// What is left out of an entry, since its agent does not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// What stands for a variable that is not set.
    Defaults,
    /// The folder that the program is started in.
    Folder,
}

impl Lost {
    /// What is left out, for a person.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Defaults => "the defaults of variables",
            Self::Folder => "the folder that it is started in",
        }
    }
}

/// Why an agent cannot be given a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unsayable {
    /// It fills in no variable there.
    Variables,
    /// It would fill in what is meant as it is.
    Literal,
    /// It asks its user nothing.
    Inputs,
    /// It fills in no files.
    Files,
    /// It does not speak that transport.
    Transport,
}

impl Unsayable {
    /// Why, for a person.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Variables => "it fills in no variable there",
            Self::Literal => "it would fill in what is meant as it is",
            Self::Inputs => "it asks its user for no values",
            Self::Files => "it fills in no files",
            Self::Transport => "it does not speak that transport",
        }
    }
}
