//! Reserves unique names for the items of an import.

use std::collections::HashSet;

use crate::item::name;

/// The maximum length of a subagent's name. It is lower than the limit for other names, because the resource's name
/// contains the subagent's name.
const MAX_SUBAGENT: usize = 240;

/// The names that are taken.
#[derive(Default)]
pub struct Names {
    prompts: HashSet<String>,
    resources: HashSet<String>,
    /// The paths of prompts, relative to the commands folder, in lower case.
    prompt_files: HashSet<String>,
    /// The names of skills in lower case, because some file systems ignore case.
    skills: HashSet<String>,
}

impl Names {
    /// Reserves exactly this name. Returns false if it is taken.
    pub fn take(&mut self, is_prompt: bool, name: &str) -> bool {
        let taken = if is_prompt { &mut self.prompts } else { &mut self.resources };
        taken.insert(name.to_owned())
    }

    /// Reserves the first free name for a prompt.
    pub fn prompt(&mut self, wanted: String, origins: &[String], path: &str) -> String {
        first(wanted, origins, path, |name| self.prompts.insert(name.to_owned()))
    }

    /// Reserves the first free name for a resource.
    pub fn resource(&mut self, wanted: String, origins: &[String], path: &str) -> String {
        first(wanted, origins, path, |name| self.resources.insert(name.to_owned()))
    }

    /// Reserves the first free name for a skill.
    pub fn skill(&mut self, wanted: String, origins: &[String], path: &str) -> String {
        first(wanted, origins, path, |name| self.skills.insert(name.to_lowercase()))
    }

    /// Reserves the first free name for a subagent. Returns the subagent's name, and the name of its resource.
    pub fn subagent(&mut self, wanted: String, origins: &[String], path: &str) -> (String, String) {
        let of = |subagent: &str| format!("agents.{subagent}.md");
        let subagent =
            first(wanted, origins, path, |name| name.len() <= MAX_SUBAGENT && self.resources.insert(of(name)));
        let resource = of(&subagent);
        (subagent, resource)
    }

    /// Returns the path to record for a prompt: `wanted`, unless that path follows from the prompt's name or is taken.
    pub fn prompt_file(&mut self, name: &str, wanted: Option<String>) -> Option<String> {
        let own = format!("{name}.md");
        let file = wanted.filter(|path| *path != own && self.prompt_files.insert(path.to_lowercase()));
        if file.is_none() {
            self.prompt_files.insert(own.to_lowercase());
        }
        file
    }

    /// Frees a resource's name.
    pub fn release(&mut self, resource: &str) {
        self.resources.remove(resource);
    }
}

fn first(wanted: String, origins: &[String], path: &str, mut take: impl FnMut(&str) -> bool) -> String {
    name::names(wanted, origins, path).find(|name| take(name)).unwrap_or_default()
}
