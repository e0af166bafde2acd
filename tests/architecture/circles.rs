//! Finds circles: files of one crate that import each other, directly or through others. An arrow
//! leads from a file to the file that defines the name it uses, through all `pub use` between. A
//! declaration `mod x;` alone is no arrow, and test modules do not count. A module in the folder of a
//! file is a part of that file: what it takes from the file is no arrow either.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::module_text::{ModuleText, tokens};

/// A module, and the names that it imports.
struct Module {
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    text: ModuleText,
}

/// All modules of a crate; the first one is its root.
pub(crate) struct Modules(Vec<Module>);

/// The target of a path: a module, or a name that a file defines.
enum Target {
    Module(usize),
    Name(usize),
}

/// For each file, the files that it uses, with the paths that lead there.
pub(crate) type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// A circle, with the arrows inside it.
pub(crate) struct Circle {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) arrows: Vec<String>,
}

impl Modules {
    /// Reads a crate from its `lib.rs` or `main.rs`.
    pub(crate) fn read(root: &Path) -> Self {
        let mut modules = Self(Vec::new());
        modules.read_file(root, None, root.parent().unwrap());
        modules
    }

    /// Reads a file and the modules below it, whose files are in `directory`.
    fn read_file(&mut self, file: &Path, parent: Option<usize>, directory: &Path) -> usize {
        let text = ModuleText::read(&tokens(&fs::read_to_string(file).unwrap()));
        self.add(file, parent, directory, text)
    }

    fn add(
        &mut self,
        file: &Path,
        parent: Option<usize>,
        directory: &Path,
        mut text: ModuleText,
    ) -> usize {
        let (declared, inline) =
            (std::mem::take(&mut text.declared), std::mem::take(&mut text.inline));
        let here = self.0.len();
        self.0.push(Module { file: file.to_owned(), parent, children: BTreeMap::new(), text });
        for (name, text) in inline {
            let child = self.add(file, Some(here), &directory.join(&name), text);
            self.0[here].children.insert(name, child);
        }
        for (name, path) in declared {
            let beside = path.map(|path| file.with_file_name(path));
            let flat = directory.join(format!("{name}.rs"));
            let folder = directory.join(&name).join("mod.rs");
            let Some(found) = beside.into_iter().chain([flat, folder]).find(|one| one.exists())
            else {
                continue;
            };
            let child = self.read_file(&found, Some(here), &directory.join(&name));
            self.0[here].children.insert(name, child);
        }
        here
    }

    /// Returns the circles, the largest first.
    pub(crate) fn circles(&self) -> Vec<Circle> {
        let arrows = self.arrows();
        let reached: BTreeMap<_, _> =
            arrows.keys().map(|file| (file, files_from(&arrows, file))).collect();
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        for (file, from) in &reached {
            let returns = |one: &&PathBuf| reached.get(*one).is_some_and(|on| on.contains(*file));
            let files: Vec<PathBuf> = from.iter().filter(returns).cloned().collect();
            if files.len() > 1 && seen.insert(files.clone()) {
                let arrows = arrows_within(&arrows, &files);
                circles.push(Circle { files, arrows });
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
        circles
    }

    /// Returns the arrows between the files of the crate.
    pub(crate) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (here, module) in self.0.iter().enumerate() {
            let from = arrows.entry(module.file.clone()).or_default();
            let imported = module.text.uses.iter().map(|(path, _)| path);
            for path in imported.chain(&module.text.paths) {
                let (Some(Target::Module(to) | Target::Name(to)), true) =
                    (self.target(here, path, &mut BTreeSet::new()), path.len() > 1)
                else {
                    continue;
                };
                let to = &self.0[to].file;
                if *to != module.file && !self.is_inside(&module.file, to) {
                    from.entry(to.clone()).or_default().insert(path.join("::"));
                }
            }
        }
        arrows
    }

    /// Returns `true` if a file is a direct part of the other file: a module in its folder.
    fn is_inside(&self, part: &Path, whole: &Path) -> bool {
        let folder = match whole.file_name().and_then(|name| name.to_str()) {
            Some("mod.rs") => whole.parent().map(Path::to_path_buf),
            Some("lib.rs" | "main.rs") => None,
            _ => Some(whole.with_extension("")),
        };
        folder.is_some_and(|folder| part.starts_with(folder))
    }

    /// Follows a path from a module. `None` if it leads out of the crate.
    fn target(
        &self,
        here: usize,
        path: &[String],
        seen: &mut BTreeSet<(usize, String)>,
    ) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(0, rest, seen),
            "self" => self.below(here, rest, seen),
            "super" => {
                let mut above = self.0[here].parent?;
                let mut rest = rest;
                while let Some((next, more)) = rest.split_first()
                    && next == "super"
                {
                    (above, rest) = (self.0[above].parent?, more);
                }
                self.below(above, rest, seen)
            }
            name if self.0[here].children.contains_key(name) => self.below(here, path, seen),
            name => match self.imported(here, name, seen)? {
                Target::Module(module) => self.below(module, rest, seen),
                named @ Target::Name(_) => Some(named),
            },
        }
    }

    /// Follows the rest of a path below a module.
    fn below(
        &self,
        module: usize,
        path: &[String],
        seen: &mut BTreeSet<(usize, String)>,
    ) -> Option<Target> {
        let Some((name, rest)) = path.split_first() else { return Some(Target::Module(module)) };
        if name == "*" {
            return Some(Target::Module(module));
        }
        if let Some(child) = self.0[module].children.get(name) {
            return self.below(*child, rest, seen);
        }
        match self.imported(module, name, seen) {
            Some(Target::Module(module)) => self.below(module, rest, seen),
            Some(named @ Target::Name(_)) => Some(named),
            None => Some(Target::Name(module)),
        }
    }

    /// Returns the target of a name that a module imports.
    fn imported(
        &self,
        module: usize,
        name: &str,
        seen: &mut BTreeSet<(usize, String)>,
    ) -> Option<Target> {
        if !seen.insert((module, name.to_owned())) {
            return None;
        }
        let uses = &self.0[module].text.uses;
        if let Some((path, _)) = uses.iter().find(|(_, bound)| bound == name) {
            return self.target(module, path, seen);
        }
        let all = uses.iter().filter(|(path, _)| path.last().is_some_and(|last| last == "*"));
        for (path, _) in all {
            let Some(Target::Module(from)) = self.target(module, path, seen) else { continue };
            let (from, bound) = (&self.0[from], from);
            let has = from.children.contains_key(name)
                || from.text.defined.contains(name)
                || from.text.uses.iter().any(|(_, bound)| bound == name);
            if has && bound != module {
                return self.below(bound, &[name.to_owned()], seen);
            }
        }
        None
    }
}

/// Returns every file that arrows lead to from a file.
fn files_from(arrows: &Arrows, file: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        for next in arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

fn arrows_within(arrows: &Arrows, files: &[PathBuf]) -> Vec<String> {
    let mut lines = Vec::new();
    for from in files {
        for (to, paths) in arrows.get(from).into_iter().flatten() {
            if files.contains(to) {
                let paths: Vec<_> = paths.iter().map(String::as_str).collect();
                let (from, to) = (from.display(), to.display());
                lines.push(format!("{from} -> {to}: {}", paths.join(", ")));
            }
        }
    }
    lines
}
