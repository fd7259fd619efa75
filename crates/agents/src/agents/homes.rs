//! Finds the folders that the paths of agents' files start from.

use std::path::PathBuf;

use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::platform::{SYSTEM, System};

/// The folders that the paths of agents' files start from.
#[derive(Clone, Debug)]
pub struct Homes {
    pub home: PathBuf,
    /// The system's folder for applications' configuration.
    pub config: PathBuf,
    /// The folder in `XDG_CONFIG_HOME`, or else `.config` in the home folder. Some agents use it on every system.
    pub xdg: PathBuf,
}

impl Homes {
    /// Finds the folders in the environment.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` if HOME is not set.
    pub fn find() -> Result<Self> {
        let home = disk::home()?;
        let xdg = named("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let config = match SYSTEM {
            System::Linux => xdg.clone(),
            System::MacOs => home.join("Library/Application Support"),
            System::Windows => named("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming")),
        };
        Ok(Self { home, config, xdg })
    }

    /// Returns the folder that an agent's variable names, or `usual` below the home folder if the variable is not set.
    pub fn moved(&self, variable: &str, usual: &str) -> PathBuf {
        named(variable).unwrap_or_else(|| self.home.join(usual))
    }
}

/// Returns the absolute path in an environment variable; `None` for a relative path.
pub fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
