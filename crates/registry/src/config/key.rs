//! Defines the settings of `mcpkg tool config`: names, descriptions, defaults and accepted values.

use std::time::Duration;

use crate::package::unit;
use mcpkg_base::error::{Code, Error, Result};

/// The value of a switch that is on.
pub(super) const TRUE: &str = "true";

/// The value of a switch that is off.
const FALSE: &str = "false";

/// The maximum number of images that one setting can list.
const IMAGES: usize = 64;

/// The longest timeout of a run.
const LONGEST: Duration = Duration::from_secs(60 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Whether tools may run without a sandbox.
    AllowUnsandboxed,
    /// Container images that mcpkg replaces with this machine's own programs.
    StandIn,
    /// The timeout of a run if neither the caller nor the manifest sets one.
    Timeout,
    /// How much disk space the unpacked archives may use.
    CacheSize,
    /// How long a cached registry response stays valid.
    CacheTtl,
}

impl Key {
    /// All settings, in documentation order.
    pub const ALL: [Self; 5] = [Self::AllowUnsandboxed, Self::StandIn, Self::Timeout, Self::CacheSize, Self::CacheTtl];

    pub const fn name(self) -> &'static str {
        match self {
            Self::AllowUnsandboxed => "execution.allow_unsandboxed",
            Self::StandIn => "execution.stand_in",
            Self::Timeout => "execution.timeout",
            Self::CacheSize => "cache.size",
            Self::CacheTtl => "cache.ttl",
        }
    }

    /// Describes the setting in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::AllowUnsandboxed => "whether tools with the permission `unsandboxed` can run without a sandbox",
            Self::StandIn => "container images that mcpkg replaces with this machine's own programs",
            Self::Timeout => "maximum duration of a run",
            Self::CacheSize => "maximum disk space for unpacked tools",
            Self::CacheTtl => "how long mcpkg uses a cached registry response",
        }
    }

    /// Returns the default value.
    pub const fn usual(self) -> &'static str {
        match self {
            Self::AllowUnsandboxed => FALSE,
            Self::StandIn => "",
            Self::Timeout => "5m",
            Self::CacheSize => "1GiB",
            Self::CacheTtl => "1h",
        }
    }

    /// Returns whether a value lets tools do more than the default does; only a person at a terminal can set such a
    /// value.
    pub fn loosens(self, text: &str) -> bool {
        self == Self::AllowUnsandboxed && text == TRUE
    }

    pub fn of_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name).ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("There is no setting '{}'", name.escape_debug())).suggest(
                name,
                Self::ALL.iter().map(|key| key.name()),
                "`mcpkg tool config` lists the settings",
            )
        })
    }

    /// Checks a value and returns it in the form that is stored.
    pub fn check(self, text: &str) -> Result<String> {
        let text = text.trim();
        let wrong = |why: String, hint: &str| {
            let what = format!("'{}' is not a valid value for {}: {why}", text.escape_debug(), self.name());
            Error::new(Code::InvalidArgument, what).hint(hint)
        };
        match self {
            Self::AllowUnsandboxed if text == TRUE || text == FALSE => Ok(text.to_owned()),
            Self::AllowUnsandboxed => Err(wrong("it is neither true nor false".to_owned(), "use true or false")),
            Self::StandIn => images(text)
                .map_err(|why| wrong(why, "use image names such as node:20-alpine,docker.io/library/python:3.12")),
            Self::Timeout => match unit::time(text) {
                Ok(time) if time <= LONGEST => Ok(text.to_owned()),
                Ok(_) => Err(wrong("it is longer than an hour".to_owned(), "use a duration such as 30s, 5m or 1h")),
                Err(why) => Err(wrong(why, "use a duration such as 30s, 5m or 1h")),
            },
            Self::CacheTtl => unit::time(text)
                .map(|_| text.to_owned())
                .map_err(|why| wrong(why, "use a duration such as 10m, 1h or 24h")),
            Self::CacheSize => {
                unit::size(text).map(|_| text.to_owned()).map_err(|why| wrong(why, "use a size such as 512MiB or 2GiB"))
            }
        }
    }
}

/// Reads comma-separated image names.
fn images(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.len() > IMAGES {
        return Err(format!("it names more than {IMAGES} images"));
    }
    let is_image = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.len() <= 255
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c))
    };
    match names.iter().find(|name| !is_image(name)) {
        Some(odd) => Err(format!("'{}' is not an image name", odd.escape_debug())),
        None => Ok(names.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_accepts_its_default_and_refuses_invalid_values() {
        for key in Key::ALL {
            let name = key.name();
            assert_eq!(key.check(key.usual()).expect(name), key.usual());
            assert_eq!(Key::of_name(name).expect(name), key);
            assert!(!key.loosens(key.usual()));
        }
        assert_eq!(LONGEST, crate::run::limits::LONGEST);
        for (key, bad) in [
            (Key::AllowUnsandboxed, "yes"),
            (Key::AllowUnsandboxed, ""),
            (Key::StandIn, "a b"),
            (Key::StandIn, "--privileged"),
            (Key::Timeout, "2h"),
            (Key::Timeout, "5"),
            (Key::CacheSize, "much"),
            (Key::CacheTtl, "-1h"),
        ] {
            assert_eq!(key.check(bad).expect_err(bad).code(), Code::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn an_unknown_setting_gets_a_suggestion() {
        let error = Key::of_name("execution.time_out").expect_err("unknown");
        assert_eq!(error.hints(), ["did you mean 'execution.timeout'?"]);
    }
}
