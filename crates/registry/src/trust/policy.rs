//! The trust policies, and the actions that they apply to.

use mcpkg_base::error::{Code, Error, Result};

/// The rule for archives that are not verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    RequireAttestation,
    /// A person is asked, and an approval is remembered for this archive.
    #[default]
    Prompt,
    /// The archive may be used and is marked as unverified.
    Allow,
}

impl Policy {
    /// All policies, strictest first.
    pub const ALL: [Self; 3] = [Self::RequireAttestation, Self::Prompt, Self::Allow];

    pub const fn word(self) -> &'static str {
        match self {
            Self::RequireAttestation => "require_attestation",
            Self::Prompt => "prompt",
            Self::Allow => "allow",
        }
    }

    /// Returns whether this policy allows more than `other`.
    pub fn is_looser_than(self, other: Self) -> bool {
        let place = |policy| Self::ALL.iter().position(|known| *known == policy);
        place(self) > place(other)
    }

    /// Parses a policy, including the older words in configurations of Enact: `require_audit`, and `true` or
    /// `false` from `require_signatures`.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` for any other word; the default is not used instead.
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

/// The action that the caller is about to take with an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read the archive's documentation.
    Learn,
    Install,
    /// Replace another version with the archive.
    Update,
    /// Run the archive's tool by name.
    Run,
    /// Call the archive's tool as an MCP tool.
    Call,
    /// Build the archive, or run its post-install commands.
    Build,
    /// Import the archive from another program's folders.
    Import,
}

impl Verb {
    pub const ALL: [Self; 7] =
        [Self::Learn, Self::Install, Self::Update, Self::Run, Self::Call, Self::Build, Self::Import];

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

    /// Returns the name of the operation, which the approval prompt shows.
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
    fn x17_legacy_words_are_read_and_unknown_words_are_refused() {
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
