//! Places instructions that apply only sometimes, in each target's own format. If a target cannot express when they
//! apply, it does not get them: the text never goes to a file that the target always loads.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::{below, is_longer, path_in};
use super::hidden;
use super::importing::{self, AGENTS_MD, Import};
use super::texts::Texts;
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::desired::output::{Form, part};
use crate::module::{Kind, Module};
use crate::targets::{Target, TargetConfig};
use mcpkg_agents::agents::places::{AgentsMd, Rules};
use mcpkg_agents::commands::skill::split_front;
use mcpkg_base::error::Result;
use mcpkg_base::inside::stays_inside;
use mcpkg_store::modules::Applies;

/// The instruction files to write in folders. The key is the folder and the file name; the value is the modules in the
/// file, and the targets that read the file.
type FolderFiles<'m> = BTreeMap<(String, &'static str), (Vec<&'m Module>, Vec<Target>)>;

/// Adds the files below the deploy root. A target that also reads another target's file gets the text from that file.
pub(super) fn for_project(
    builder: &mut Builder,
    (modules, texts): (&[Module], &Texts),
    configs: &[&TargetConfig],
    present: &[Target],
    root: &Path,
) -> Result<()> {
    let mut folder_files = FolderFiles::new();
    for module in scoped(modules) {
        let wanting = configs.iter().map(|config| config.target);
        let mut wanting: Vec<Target> =
            wanting.filter(|target| module.is_for(*target) && present.contains(target)).collect();
        without_holders(&mut wanting, module, root)?;
        let rest = in_folders(builder, &mut folder_files, (module, texts), wanting, root)?;
        as_rules(builder, (module, texts), rest, root)?;
    }
    write_folder_files(builder, folder_files, root)
}

/// Adds instruction files to folders. If the AGENTS.md of a folder already contains a module, other files in the folder
/// import that AGENTS.md instead of repeating the module.
fn write_folder_files(builder: &mut Builder, files: FolderFiles<'_>, root: &Path) -> Result<()> {
    for ((folder, file), (modules, readers)) in &files {
        let mut readers = readers.clone();
        readers.sort_unstable();
        readers.dedup();
        let shared = files.get(&(folder.clone(), AGENTS_MD)).filter(|_| *file != AGENTS_MD);
        let in_both = |module: &&Module| shared.is_some_and(|(known, _)| known.iter().any(|one| one.id == module.id));
        let (imported, own): (Vec<&Module>, Vec<&Module>) = modules.iter().copied().partition(in_both);
        if imported.is_empty() {
            builder.block(&readers, root, &format!("{folder}/{file}"), &own)?;
            continue;
        }
        // Targets that read the folder's AGENTS.md already have the text. Only those that need the import line remain.
        let by_import = |target: &Target| target.facts().project.agents_md == AgentsMd::ImportedBy(file);
        readers.retain(by_import);
        let imports: Vec<Import> = readers.iter().filter_map(|target| Import::of(*target, file, AGENTS_MD)).collect();
        let imports: Vec<&Import> = imports.iter().collect();
        importing::import(builder, &readers, &root.join(folder), &imports, &imported, &own)?;
    }
    Ok(())
}

/// Adds the files of one target below the home folder.
pub(super) fn for_user(
    builder: &mut Builder,
    (modules, texts): (&[Module], &Texts),
    target: Target,
    home: &Path,
) -> Result<()> {
    for module in scoped(modules).filter(|module| module.is_for(target)) {
        match target.facts().user.scoped_rules {
            None => builder.leave_out(module, target, Reason::NotForTheUser),
            Some(rules) => match Written::of(module, target, rules) {
                Ok(written) => written.add(builder, &[target], rules, (module, texts), home)?,
                Err(reason) => builder.leave_out(module, target, reason),
            },
        }
    }
    Ok(())
}

fn scoped(modules: &[Module]) -> impl Iterator<Item = &Module> {
    modules.iter().filter(|module| module.kind == Kind::Instructions && module.about.applies != Applies::Always)
}

/// Removes the targets that already load the text from the user's own files: in each of the module's folders, such a
/// file contains the text.
fn without_holders(targets: &mut Vec<Target>, module: &Module, root: &Path) -> Result<()> {
    let (Some(folders), Some(file)) = (folders(&module.about.applies, root), module.files.first()) else {
        return Ok(());
    };
    for target in std::mem::take(targets) {
        let own = target.facts().project.folder_files.first().map_or(&[][..], |file| file.hidden_by);
        let mut holds = !own.is_empty();
        for folder in &folders {
            let found = hidden::in_folder(&root.join(folder), own)?;
            holds &= found.is_some_and(|found| found.text.trim_ascii() == file.bytes.trim_ascii());
        }
        if !holds {
            targets.push(target);
        }
    }
    Ok(())
}

/// Adds a module to the instruction files of folders, for targets that have no rules. This works only if the module's
/// globs are whole folders and the targets read a file there. Returns the targets that still need a rule of their own.
fn in_folders<'m>(
    builder: &mut Builder,
    files: &mut FolderFiles<'m>,
    (module, texts): (&'m Module, &'m Texts),
    wanting: Vec<Target>,
    root: &Path,
) -> Result<Vec<Target>> {
    let (mut rest, mut bare): (Vec<Target>, Vec<Target>) =
        wanting.into_iter().partition(|target| target.facts().project.scoped_rules.is_some());
    // Targets that read AGENTS.md come first, so that a target that reads AGENTS.md and another file gets the text
    // only once.
    bare.sort_by_key(|target| target.facts().project.folder_files.first().map(|file| file.name != AGENTS_MD));
    for target in bare {
        let file = target.facts().project.folder_files.first();
        let (Some(file), Some(folders)) = (file, folders(&module.about.applies, root)) else {
            builder.leave_out(module, target, without_rules(&module.about.applies));
            continue;
        };
        let mut readers = vec![target];
        for other in std::mem::take(&mut rest) {
            let list = if reads(other, file.name, &folders, root)? { &mut readers } else { &mut rest };
            list.push(other);
        }
        texts.remark(builder, module, &readers);
        remark_excluded(builder, module, target);
        for folder in folders {
            let (modules, known) = files.entry((folder, file.name)).or_default();
            known.extend(&readers);
            if !modules.iter().any(|known| known.id == module.id) {
                modules.push(texts.inert(module));
            }
        }
    }
    Ok(rest)
}

const fn without_rules(applies: &Applies) -> Reason {
    match applies {
        Applies::Described => Reason::ByDescription,
        Applies::Manual => Reason::ByHand,
        Applies::Always | Applies::Globs(_) => Reason::NotAFolder,
    }
}

/// Whether a target reads a file with this name in all of the folders.
fn reads(target: Target, name: &str, folders: &[String], root: &Path) -> Result<bool> {
    let mut files = target.facts().project.folder_files.iter();
    let Some(file) = files.find(|file| file.name == name) else { return Ok(false) };
    for folder in folders {
        if hidden::in_folder(&root.join(folder), file.hidden_by)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the folders below the root that the globs stand for, such as `src/**` -> `src`. Returns `None` if a glob is
/// not a whole folder.
fn folders(applies: &Applies, root: &Path) -> Option<Vec<String>> {
    let Applies::Globs(globs) = applies else { return None };
    let included = globs.iter().filter(|glob| !glob.starts_with('!'));
    let folder = |glob: &String| {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let folder = glob.strip_suffix("/**").or_else(|| glob.strip_suffix("/**/*"))?;
        let is_plain = !folder.contains(['*', '?', '[', ']', '{', '}', '!', ',', '\\']);
        let is_folder = root.join(folder).metadata().map_or(true, |metadata| metadata.is_dir());
        (is_plain && is_folder && stays_inside(folder)).then(|| folder.to_owned())
    };
    included.map(folder).collect::<Option<Vec<_>>>().filter(|folders| !folders.is_empty())
}

/// Returns when a rule applies, but leaves out the globs that exclude files, because no other agent's format can
/// express them. If the rule has only such globs, they stay.
fn included(applies: &Applies) -> Applies {
    match applies {
        Applies::Globs(globs) if globs.iter().any(|glob| !glob.starts_with('!')) => {
            Applies::Globs(globs.iter().filter(|glob| !glob.starts_with('!')).cloned().collect())
        }
        other => other.clone(),
    }
}

/// Adds a remark about a rule's globs that exclude files: they are dropped, so the rule also applies to those files.
fn remark_excluded(builder: &mut Builder, module: &Module, target: Target) {
    let Applies::Globs(globs) = &module.about.applies else { return };
    let excluded: Vec<String> =
        globs.iter().filter(|glob| glob.starts_with('!')).map(|glob| format!("`{glob}`")).collect();
    if !excluded.is_empty() && excluded.len() < globs.len() {
        let said =
            format!("no other agent supports its exclusion {}, so the exclusion is dropped", excluded.join(", "));
        builder.remark(module, target, said);
    }
}

/// Adds a module as a rule for each target. If one target also reads another target's rule, it does not get its own.
fn as_rules(
    builder: &mut Builder,
    (module, texts): (&Module, &Texts),
    targets: Vec<Target>,
    root: &Path,
) -> Result<()> {
    let mut written: Vec<(Vec<Target>, Rules, Written)> = Vec::new();
    for target in targets {
        let Some(rules) = target.facts().project.scoped_rules else { continue };
        match Written::of(module, target, rules) {
            Ok(form) => written.push((vec![target], rules, form)),
            Err(reason) => builder.leave_out(module, target, reason),
        }
    }
    // Pairs (own rule, other rule): the target of the own rule also reads the other rule, so its own rule is not
    // written.
    let twice: Vec<(usize, usize)> = (0..written.len())
        .filter_map(|at| {
            let also_reads = written[at].0[0].facts().project.also_reads;
            let other = written.iter().position(|(_, rules, _)| also_reads.contains(&rules.folder));
            other.filter(|other| *other != at).map(|other| (at, other))
        })
        .collect();
    for (at, other) in &twice {
        let reader = written[*at].0[0];
        written[*other].0.push(reader);
        let (folder, own) = (written[*other].1.folder, written[*at].1.folder);
        let title = reader.facts().title;
        let note = format!("{title} also reads `{folder}`, so the same text is not written to `{own}` again");
        builder.note(&[reader], note);
    }
    for (at, (targets, rules, form)) in written.iter().enumerate() {
        if !twice.iter().any(|(given, _)| *given == at) {
            form.add(builder, targets, *rules, (module, texts), root)?;
        }
    }
    Ok(())
}

/// How a rule is written for a target.
enum Written {
    /// A copy of the module's own file, which already means the same to this target.
    AsItIs,
    /// The module's text with this front matter.
    With(String),
}

impl Written {
    fn of(module: &Module, target: Target, rules: Rules) -> Result<Self, Reason> {
        let about = &module.about;
        let most = rules.format.max_characters.unwrap_or(usize::MAX);
        if module.files.first().is_some_and(|file| is_longer(&file.bytes, most)) {
            return Err(Reason::TooLong);
        }
        let head = rules.format.write(&included(&about.applies), about.description.as_deref());
        // A file in this target's own format is copied unchanged, because it may have fields that mcpkg cannot write.
        let says_it = module.files.first().is_some_and(|file| split_front(&file.bytes).0.is_some());
        let is_own = about.is_of(target) || (about.agent.is_none() && head.is_ok() && says_it);
        let own = module.files.first().filter(|_| is_own).and_then(|file| std::str::from_utf8(&file.bytes).ok());
        // At its original path, a file is copied even if its agent does not load it.
        let is_at_home = || about.path.as_deref().is_some_and(|path| path.starts_with(&format!("{}/", rules.folder)));
        let says = |text: &str| {
            let scope = rules.format.read(text);
            scope.applies == about.applies && (scope.is_loaded || is_at_home())
        };
        if own.is_some_and(says) { Ok(Written::AsItIs) } else { head.map(Written::With).map_err(Reason::from) }
    }

    fn add(
        &self,
        builder: &mut Builder,
        targets: &[Target],
        rules: Rules,
        (module, texts): (&Module, &Texts),
        base: &Path,
    ) -> Result<()> {
        let Some(owner) = targets.first() else { return Ok(()) };
        let module = texts.for_target(builder, module, *owner);
        let Some(file) = module.files.first() else { return Ok(()) };
        let (folder, path) = (below(base, rules.folder), path_in(rules.folder, rules.ending, module, *owner));
        for target in targets {
            builder.root(*target, &folder, target.facts().project.lists_extras);
        }
        match self {
            Written::With(head) => {
                remark_excluded(builder, module, *owner);
                builder.rule(targets, &folder, &path, module, head)
            }
            Written::AsItIs => {
                let bytes = std::sync::Arc::clone(&file.bytes);
                builder.add(targets, &folder, &path, Form::Copy, vec![part(module, file)], bytes, file.executable)
            }
        }
    }
}
