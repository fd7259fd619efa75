//! Tests that there is no dependency cycle between the modules of a crate. Cargo already refuses cycles between crates.
//!
//! Every source file is parsed. A path to another module of the same crate is an edge, also inside a macro. Code that
//! is compiled only for tests does not count. Neither do the tables `DOMAIN` and `OPS`, because they only list what a
//! module offers, as `mod` lines do. Paths with `Domains`, the type that holds these tables, do not count either.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};

/// A module's path in its crate, such as `["engine", "sqlite"]`. The path of the crate's root is empty.
type Module = Vec<String>;

/// The modules of a crate, with the paths that each of them uses.
struct Sources {
    files: BTreeMap<Module, Paths>,
}

/// The paths that a file uses.
#[derive(Default)]
struct Paths {
    /// The paths in `use` declarations and in code.
    named: Vec<Vec<String>>,
    /// The names that `pub use` declarations export, with the paths that they stand for.
    exported: BTreeMap<String, Vec<String>>,
    /// The names that `use` declarations import, with the paths that they stand for.
    imported: BTreeMap<String, Vec<String>>,
}

impl Paths {
    fn tree(&mut self, tree: &syn::UseTree, prefix: &[String], exported: bool) {
        match tree {
            syn::UseTree::Path(path) => {
                self.tree(&path.tree, &[prefix, &[path.ident.to_string()]].concat(), exported);
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, prefix, exported)),
            syn::UseTree::Name(name) if name.ident == "self" => self.name(prefix.to_vec(), prefix.last(), exported),
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.name([prefix, std::slice::from_ref(&name)].concat(), Some(&name), exported);
            }
            syn::UseTree::Rename(rename) => {
                let path = [prefix, &[rename.ident.to_string()]].concat();
                self.name(path, Some(&rename.rename.to_string()), exported);
            }
            syn::UseTree::Glob(_) => self.name(prefix.to_vec(), None, exported),
        }
    }

    fn name(&mut self, path: Vec<String>, name: Option<&String>, exported: bool) {
        if let Some(name) = name {
            self.imported.insert(name.clone(), path.clone());
        }
        match name {
            Some(name) if exported => drop(self.exported.insert(name.clone(), path)),
            _ => self.named.push(path),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let (attributes, name) = match item {
            syn::Item::Mod(item) => (&item.attrs, None),
            syn::Item::Fn(item) => (&item.attrs, None),
            syn::Item::Impl(item) => (&item.attrs, None),
            syn::Item::Const(item) => (&item.attrs, Some(item.ident.to_string())),
            syn::Item::Static(item) => (&item.attrs, Some(item.ident.to_string())),
            syn::Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        let is_of_tests = attributes.iter().any(|attribute| match &attribute.meta {
            syn::Meta::List(list) if list.path.is_ident("cfg") => {
                list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
            }
            _ => false,
        });
        let is_table = name.is_some_and(|name| matches!(name.as_str(), "DOMAIN" | "OPS"));
        if !is_of_tests && !is_table {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.named.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let text = called.tokens.to_string().replace(" :: ", "::");
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || "_:".contains(c))) {
            if word.contains("::") && !word.starts_with(':') {
                let path = word.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
                self.named.push(path.collect());
            }
        }
        visit::visit_macro(self, called);
    }
}

impl Sources {
    /// Reads the sources below a folder.
    fn read(root: &Path) -> Self {
        let mut files = BTreeMap::new();
        for (path, text) in super::house::sources().iter().filter(|(path, _)| path.starts_with(root)) {
            let inside = path.strip_prefix(root).expect("a source").with_extension("");
            let mut module: Module =
                inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|name| name == "mod" || name == "lib") {
                module.pop();
            }
            // Skip tests in files of their own, and programs.
            if module.contains(&"tests".to_owned())
                || matches!(module.first().map(String::as_str), Some("main" | "bin"))
            {
                continue;
            }
            let mut paths = Paths::default();
            paths.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
            files.insert(module, paths);
        }
        assert!(files.len() > 20, "{}", root.display());
        Self { files }
    }

    /// Returns the module of this crate that a path in `module` leads to, if there is one.
    fn module_of(&self, module: &Module, path: &[String], depth: usize) -> Option<Module> {
        let first = path.first()?.as_str();
        let (mut at, mut rest): (Module, &[String]) = match first {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.clone(), &path[1..]),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                (module[..module.len().checked_sub(ups)?].to_vec(), &path[ups..])
            }
            name => {
                let child = [module.clone(), vec![name.to_owned()]].concat();
                if !self.files.contains_key(&child) {
                    return None;
                }
                (child, &path[1..])
            }
        };
        while let Some((name, after)) = rest.split_first() {
            let child = [at.clone(), vec![name.clone()]].concat();
            if !self.files.contains_key(&child) {
                break;
            }
            (at, rest) = (child, after);
        }
        // A re-exported name leads to the module that defines it.
        let exported = rest.first().and_then(|name| self.files.get(&at)?.exported.get(name));
        match exported {
            Some(path) if depth < 8 => self.module_of(&at, path, depth + 1).or(Some(at)),
            _ => Some(at),
        }
    }

    /// Returns the other modules that each module uses.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let of = |module: &Module| {
            let paths = &self.files[module];
            let whole = |path: &Vec<String>| match paths.imported.get(&path[0]) {
                Some(import) if path.len() > 1 => [import, &path[1..]].concat(),
                _ => path.clone(),
            };
            let named = paths.named.iter().map(whole).filter(|path| !path.iter().any(|name| name == "Domains"));
            named.filter_map(|path| self.module_of(module, &path, 0)).filter(|other| other != module).collect()
        };
        self.files.keys().map(|module| (module.clone(), of(module))).collect()
    }
}

/// Returns the modules that depend on themselves through others.
fn circle(edges: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<&Module> {
    let returns = |start: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![start]);
        while let Some(module) = next.pop() {
            for other in edges.get(module).into_iter().flatten() {
                if other == start {
                    return true;
                }
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
        false
    };
    edges.keys().filter(|module| returns(module)).collect()
}

#[test]
fn no_modules_of_a_crate_need_each_other() {
    let mut wrong = Vec::new();
    for root in super::house::folders() {
        let edges = Sources::read(&root).edges();
        let found = circle(&edges);
        if !found.is_empty() {
            wrong.push(format!("{}: {} modules are in circles:", root.display(), found.len()));
        }
        for module in &found {
            let others = edges[*module].iter().filter(|other| found.contains(other)).map(|other| other.join("::"));
            wrong.push(format!("  {} -> {}", module.join("::"), others.collect::<Vec<_>>().join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_a_second_name_a_macro_and_behind_tests() {
    let module = |text: &str| {
        let mut paths = Paths::default();
        paths.visit_file(&syn::parse_file(text).expect("Rust"));
        paths
    };
    let files = [
        (vec!["a"], "mod b; mod c; pub use b::Thing;"),
        (
            vec!["a", "b"],
            "#[cfg(test)] mod tests { use super::super::d; }\nfn f() { format!(\"{}\", crate::a::c::g()); }",
        ),
        (vec!["a", "c"], "use super::Thing;"),
        (vec!["a", "d"], "use super::b;"),
    ];
    let own = |(path, text): (Vec<&str>, &str)| (path.into_iter().map(str::to_owned).collect(), module(text));
    let sources = Sources { files: files.into_iter().map(own).collect() };
    let edges = sources.edges();
    let found: Vec<String> = circle(&edges).into_iter().map(|module| module.join("::")).collect();
    assert_eq!(found, ["a::b", "a::c"]);
}
