//! Finds the folders that the paths of agents' files start from.

use std::path::{Path, PathBuf};

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
        let config = config(SYSTEM, &home, &xdg, named("APPDATA"));
        Ok(Self { home, config, xdg })
    }

    /// Returns the folder that an agent's variable names, or `usual` below the home folder if the variable is not set.
    pub fn moved(&self, variable: &str, usual: &str) -> PathBuf {
        named(variable).unwrap_or_else(|| self.home.join(usual))
    }
}

fn config(system: System, home: &Path, xdg: &Path, appdata: Option<PathBuf>) -> PathBuf {
    match system {
        System::Linux => xdg.to_owned(),
        System::MacOs => home.join("Library/Application Support"),
        System::Windows => appdata.unwrap_or_else(|| home.join("AppData").join("Roaming")),
    }
}

/// Returns the absolute path in an environment variable; `None` if the variable is not set or its path is relative.
pub fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents;

    /// Shows which file of MCP servers an agent reads for the user Ada on each system.
    #[test]
    fn each_system_has_its_own_places() {
        for (system, home, appdata, expected) in [
            (
                System::Linux,
                "/home/ada",
                None,
                ["/home/ada/.config/Claude/claude_desktop_config.json", "/home/ada/.config/Code/User/mcp.json"],
            ),
            (
                System::MacOs,
                "/Users/ada",
                None,
                [
                    "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json",
                    "/Users/ada/Library/Application Support/Code/User/mcp.json",
                ],
            ),
            (
                System::Windows,
                "C:/Users/ada",
                None,
                [
                    "C:/Users/ada/AppData/Roaming/Claude/claude_desktop_config.json",
                    "C:/Users/ada/AppData/Roaming/Code/User/mcp.json",
                ],
            ),
            (
                System::Windows,
                "C:/Users/ada",
                Some("D:/Roaming"),
                ["D:/Roaming/Claude/claude_desktop_config.json", "D:/Roaming/Code/User/mcp.json"],
            ),
        ] {
            let (home, xdg) = (PathBuf::from(home), Path::new(home).join(".config"));
            let homes = Homes { config: config(system, &home, &xdg, appdata.map(PathBuf::from)), home, xdg };
            let found = ["claude_desktop", "vscode"].map(|id| {
                let agent = agents::with_id(id).unwrap();
                (agent.client.user_file)(&homes)
            });
            assert_eq!(found, expected.map(PathBuf::from), "{system:?}");
        }
    }
}
