//! Policies, and the verbs that ask what they say.

use mcpkg_base::error::{Code, Error, Result};

/// What happens to an archive that is not verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    RequireAttestation,
    /// A person is asked; a yes is kept for this archive.
    #[default]
    Prompt,
    /// It is used, and said to be unverified.
    Allow,
}

impl Policy {
    /// Every policy, the strictest first.
    pub const ALL: [Self; 3] = [Self::RequireAttestation, Self::Prompt, Self::Allow];

    /// The word for people and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RequireAttestation => "require_attestation",
            Self::Prompt => "prompt",
            Self::Allow => "allow",
        }
    }

    /// Whether this lets through what `other` does not.
    pub fn is_looser_than(self, other: Self) -> bool {
        let place = |policy| Self::ALL.iter().position(|known| *known == policy);
        place(self) > place(other)
    }

    /// Returns the policy of a word, or of one that configurations of Enact have had: `require_audit`, and `true` or `false`
    /// for `require_signatures`.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` for any other word: none stands for a default.
    pub fn of_word(word: &str) -> Result<Self> {
        match word {
            "require_audit" | "true" => return Ok(Self::RequireAttestation),
            "false" => return Ok(Self::Allow),
            _ => {}
        }
        Self::ALL.into_iter().find(|policy| policy.word() == word).ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("'{}' is not a policy", word.escape_debug())).suggest(
                word,
                Self::ALL.iter().map(|policy| policy.word()),
                "the policies are require_attestation, prompt and allow",
            )
        })
    }
}

/// What somebody is about to do with an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// To read its documentation.
    Learn,
    Install,
    /// To put it instead of another version.
    Update,
    /// To run it by its name.
    Run,
    /// To call it as a tool of its own.
    Call,
    /// To build it, or run what it does after an install.
    Build,
    /// To take it over from elsewhere.
    Import,
}

impl Verb {
    pub const ALL: [Self; 7] =
        [Self::Learn, Self::Install, Self::Update, Self::Run, Self::Call, Self::Build, Self::Import];

    /// The word for people and programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Learn => "learn",
            Self::Install => "install",
            Self::Update => "update",
            Self::Run => "run",
            Self::Call => "call",
            Self::Build => "build",
            Self::Import => "import",
        }
    }

    /// Returns the name of the operation that does it, under which a person is asked.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Learn => "enact__learn",
            Self::Install | Self::Build => "enact__install",
            Self::Update => "update_tool",
            Self::Run => "enact__run",
            Self::Call => "call_tool",
            Self::Import => "import_tools",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x17_legacy_words_are_read_and_no_other_stands_for_a_default() {
        for (word, policy) in [
            ("require_attestation", Policy::RequireAttestation),
            ("require_audit", Policy::RequireAttestation),
            ("true", Policy::RequireAttestation),
            ("prompt", Policy::Prompt),
            ("allow", Policy::Allow),
            ("false", Policy::Allow),
        ] {
            assert_eq!(Policy::of_word(word).expect(word), policy);
        }
        for word in ["", "Prompt", "promt", "none", "0"] {
            assert_eq!(Policy::of_word(word).expect_err(word).code(), Code::InvalidArgument);
        }
        assert_eq!(Policy::of_word("promt").expect_err("a typo").hints(), ["did you mean 'prompt'?"]);
    }

    #[test]
    fn allow_is_the_loosest() {
        assert!(
            Policy::Allow.is_looser_than(Policy::Prompt) && Policy::Prompt.is_looser_than(Policy::RequireAttestation)
        );
        assert!(!Policy::Prompt.is_looser_than(Policy::Prompt) && !Policy::Prompt.is_looser_than(Policy::Allow));
    }
}
