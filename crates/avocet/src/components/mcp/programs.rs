//! Finds the program of an MCP server, and the paths that it needs in its sandbox.
//!
//! The sandbox shows the programs of the system only, and the daemon often has a short `PATH`. Programs
//! of nvm, fnm, volta, asdf, mise, pyenv, Homebrew, uv, cargo and npm lie in the home directory of their
//! user. Such a program is seldom one file. One of uv, for example, is
//!
//! - a link in `~/.local/bin`,
//! - a script in `~/.local/share/uv/tools/NAME/bin`, whose first line names the interpreter beside it,
//! - a link there to the interpreter in `~/.local/share/uv/python/VERSION/bin`.
//!
//! So the links and interpreters are followed. Of each file, the directory of its installation is
//! readable, or the file alone if it lies in a directory of many programs, such as `~/.cargo/bin`.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use avocet_sandbox::{SYSTEM_PATHS, without_dots};

use crate::environment::{home_directory, read_variable};

/// The directories of programs below a home directory. `*` stands for the newest version.
const PLACES: [&str; 22] = [
    ".nvm/versions/node/*/bin",
    ".local/share/fnm/node-versions/*/installation/bin",
    ".fnm/node-versions/*/installation/bin",
    ".volta/tools/image/node/*/bin",
    ".asdf/installs/nodejs/*/bin",
    ".asdf/installs/python/*/bin",
    ".asdf/installs/uv/*/bin",
    ".local/share/mise/installs/node/*/bin",
    ".local/share/mise/installs/python/*/bin",
    ".local/share/mise/installs/uv/*",
    ".pyenv/versions/*/bin",
    ".local/bin",
    ".cargo/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".deno/bin",
    ".volta/bin",
    ".asdf/shims",
    ".pyenv/shims",
    ".linuxbrew/bin",
    "go/bin",
    "bin",
];
/// The directories of programs elsewhere.
const ELSEWHERE: [&str; 4] =
    ["/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin", "/opt/homebrew/bin", "/snap/bin"];
/// The `PATH` of the programs of the system.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The most links and interpreters that are followed.
const MOST_STEPS: usize = 32;
/// Bytes of a script in which its interpreter is named.
const LONGEST_SHEBANG: u64 = 512;
/// The directories above a file in which the root of its package is searched.
const MOST_ABOVE: usize = 5;
/// The files that stand at the root of a package.
const OF_PACKAGES: [&str; 3] = ["package.json", "pyproject.toml", "pyvenv.cfg"];

/// A program, and the paths that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundProgram {
    pub(crate) path: PathBuf,
    /// Paths that the sandbox does not show by itself.
    pub(crate) read: Vec<PathBuf>,
    /// The variable `PATH` for the program; `None` if that of the system is enough.
    pub(crate) search_path: Option<String>,
}

/// Finds programs of the user.
#[derive(Debug, Clone)]
pub(crate) struct ProgramFinder {
    /// The directories of `PATH`.
    directories: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl ProgramFinder {
    /// Makes a finder for this process's user.
    pub(crate) fn from_environment() -> Self {
        let path = read_variable("PATH").unwrap_or_else(|| SYSTEM_PATH.to_owned());
        Self { directories: std::env::split_paths(&path).collect(), home: home_directory() }
    }

    /// Finds a program by its name or path. `None` if it is nowhere.
    pub(crate) fn find(&self, command: &str) -> Option<FoundProgram> {
        let path = self.locate_command(command)?;
        let mut read = BTreeSet::new();
        let mut search = Vec::new();
        self.follow(&path, &mut read, &mut search);
        if path.ends_with("uvx") {
            read.extend(
                path.parent()
                    .map(|directory| directory.join("uv"))
                    .filter(|uv| uv.exists() && !is_of_system(uv)),
            );
        }
        let search_path = (!search.is_empty()).then(|| {
            let search: Vec<String> =
                search.iter().map(|directory| directory.display().to_string()).collect();
            format!("{}:{SYSTEM_PATH}", search.join(":"))
        });
        let read: Vec<PathBuf> =
            read.iter().filter(|path| !is_below_another(path, &read)).cloned().collect();
        Some(FoundProgram { path, read, search_path })
    }

    /// Returns the paths that a script needs, such as the first argument of `node`.
    pub(crate) fn paths_of_script(&self, script: &Path) -> Vec<PathBuf> {
        let mut read = BTreeSet::new();
        self.follow(script, &mut read, &mut Vec::new());
        read.iter().filter(|path| !is_below_another(path, &read)).cloned().collect()
    }

    fn locate_command(&self, command: &str) -> Option<PathBuf> {
        if let Some(below) = command.strip_prefix("~/") {
            return Some(self.home.as_ref()?.join(below)).filter(|path| is_program(path));
        }
        if command.contains('/') {
            return Some(PathBuf::from(command))
                .filter(|path| path.is_absolute() && is_program(path));
        }
        let system = SYSTEM_PATH.split(':').map(PathBuf::from);
        let known = self
            .home
            .iter()
            .flat_map(|home| PLACES.iter().flat_map(|place| newest_directories(home, place)));
        let elsewhere = ELSEWHERE.iter().map(PathBuf::from);
        let all = self.directories.iter().cloned().chain(system).chain(known).chain(elsewhere);
        // A shim only looks for the program, with files that the sandbox hides.
        let mut found =
            all.map(|directory| directory.join(command)).filter(|path| is_program(path));
        let first = found.next()?;
        if !is_shim(&first) {
            return Some(first);
        }
        found.find(|path| !is_shim(path)).or(Some(first))
    }

    /// Adds the paths that a file needs, and those of its link and of its interpreter.
    fn follow(&self, file: &Path, read: &mut BTreeSet<PathBuf>, search: &mut Vec<PathBuf>) {
        let mut open = VecDeque::from([file.to_owned()]);
        let mut seen = BTreeSet::new();
        while let Some(path) = open.pop_front()
            && seen.len() < MOST_STEPS
        {
            if !seen.insert(path.clone()) {
                continue;
            }
            if !is_of_system(&path) {
                read.insert(self.installation(&path));
                let directory = path.parent().filter(|directory| {
                    directory.ends_with("bin") && !search.iter().any(|one| one == directory)
                });
                search.extend(directory.map(Path::to_owned));
            }
            if let Ok(target) = fs::read_link(&path) {
                let target = path.parent().unwrap_or(Path::new("/")).join(target);
                open.push_back(without_dots(&target));
            } else if let Some(interpreter) = read_interpreter(&path) {
                open.extend(self.locate_beside(&interpreter, search));
            }
        }
    }

    /// Finds an interpreter: beside the script's program, or like any program.
    fn locate_beside(&self, interpreter: &str, search: &[PathBuf]) -> Option<PathBuf> {
        let beside = search.iter().map(|directory| directory.join(interpreter));
        beside
            .filter(|_| !interpreter.contains('/'))
            .find(|path| is_program(path))
            .or_else(|| self.locate_command(interpreter))
    }

    /// Returns the directory that belongs to the file alone, or the file itself.
    fn installation(&self, file: &Path) -> PathBuf {
        let above: Vec<&Path> = file.ancestors().skip(1).take(MOST_ABOVE).collect();
        let is_shared = |directory: &Path| {
            let home = self.home.as_deref();
            directory.parent().is_none()
                || home.is_some_and(|home| home.starts_with(directory))
                || home.is_some_and(|home| directory == home.join(".local"))
        };
        let own = above.iter().take_while(|directory| !is_shared(directory));
        let package = own.clone().find(|directory| {
            OF_PACKAGES.iter().any(|name| directory.join(name).exists())
                && !directory.ends_with("bin")
        });
        // A package of Node.js needs those beside it.
        let modules = own.clone().find(|directory| directory.ends_with("node_modules"));
        // The usual form of an installation: programs in `bin`, libraries beside it.
        let bin =
            own.clone().find(|directory| directory.ends_with("bin")).and_then(|bin| bin.parent());
        let prefix = bin.filter(|prefix| {
            !is_shared(prefix)
                && ["lib", "lib64", "libexec"].iter().any(|name| prefix.join(name).is_dir())
        });
        prefix.or(modules.copied()).or(package.copied()).unwrap_or(file).to_owned()
    }
}

/// Returns the directories that a place below the home directory names, the newest version first.
fn newest_directories(home: &Path, place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once("/*") else { return vec![home.join(place)] };
    let versions = fs::read_dir(home.join(before)).into_iter().flatten().flatten();
    let mut versions: Vec<String> =
        versions.filter_map(|version| version.file_name().into_string().ok()).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version_numbers(version)));
    let after = after.trim_start_matches('/');
    versions.iter().map(|version| home.join(before).join(version).join(after)).collect()
}

/// Returns the numbers of a version, for the order of versions.
fn version_numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Returns `true` if every sandbox shows the path.
pub(crate) fn is_of_system(path: &Path) -> bool {
    SYSTEM_PATHS.iter().any(|root| path.starts_with(root))
}

fn is_below_another(path: &Path, all: &BTreeSet<PathBuf>) -> bool {
    all.iter().any(|other| other != path && path.starts_with(other))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn is_shim(path: &Path) -> bool {
    path.parent()
        .is_some_and(|directory| directory.ends_with("shims") || directory.ends_with(".volta/bin"))
}

/// Returns the interpreter that the first line of a script names.
fn read_interpreter(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    fs::File::open(path).ok()?.take(LONGEST_SHEBANG).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if !first.ends_with("/env") {
        return Some(first.to_owned());
    }
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// Makes a home directory with these programs, each with its first line.
    fn home_with(files: &[(&str, &str)]) -> (TempDir, ProgramFinder) {
        let home = TempDir::new().unwrap();
        for (file, text) in files {
            let path = home.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text.replace("HOME", &home.path().display().to_string())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let finder = ProgramFinder { directories: Vec::new(), home: Some(home.path().to_owned()) };
        (home, finder)
    }

    /// Returns the program and its paths below the home directory.
    fn found(home: &TempDir, finder: &ProgramFinder, name: &str) -> (String, Vec<String>, String) {
        let found = finder.find(name).unwrap_or_else(|| panic!("{name}"));
        let below = |path: &Path| path.strip_prefix(home.path()).unwrap().display().to_string();
        let read = found.read.iter().map(|path| below(path)).collect();
        let search = found.search_path.unwrap_or_default();
        (below(&found.path), read, search.replace(&format!("{}/", home.path().display()), ""))
    }

    const ELF: &str = "\x7fELF";

    #[test]
    fn find_takes_the_newest_version_and_its_whole_installation() {
        let (home, finder) = home_with(&[
            (".nvm/versions/node/v9.1.0/bin/npx-x", ELF),
            (".nvm/versions/node/v22.3.0/bin/node-x", ELF),
            (
                ".nvm/versions/node/v22.3.0/lib/node_modules/npm/bin/npx-cli.js",
                "#!/usr/bin/env node-x\n",
            ),
        ]);
        let bin = home.path().join(".nvm/versions/node/v22.3.0/bin");
        symlink("../lib/node_modules/npm/bin/npx-cli.js", bin.join("npx-x")).unwrap();
        let (path, read, search) = found(&home, &finder, "npx-x");
        assert_eq!(path, ".nvm/versions/node/v22.3.0/bin/npx-x");
        assert_eq!(read, [".nvm/versions/node/v22.3.0"]);
        assert!(search.starts_with(".nvm/versions/node/v22.3.0/bin:"), "{search}");
        assert!(search.ends_with(SYSTEM_PATH), "{search}");
    }

    #[test]
    fn find_follows_links_and_interpreters_to_other_installations() {
        let (home, finder) = home_with(&[
            (
                ".local/share/uv/tools/mcp-x/bin/mcp-x",
                "#!HOME/.local/share/uv/tools/mcp-x/bin/python\n",
            ),
            (".local/share/uv/tools/mcp-x/pyvenv.cfg", ""),
            (".local/share/uv/python/cpython-3.13/bin/python3", ELF),
            (".local/share/uv/python/cpython-3.13/lib/x", ""),
            (".local/bin/other", ""),
        ]);
        let at = |path: &str| home.path().join(path);
        symlink(at(".local/share/uv/tools/mcp-x/bin/mcp-x"), at(".local/bin/mcp-x")).unwrap();
        let python = at(".local/share/uv/tools/mcp-x/bin/python");
        symlink(at(".local/share/uv/python/cpython-3.13/bin/python3"), python).unwrap();
        let (path, read, _) = found(&home, &finder, "mcp-x");
        assert_eq!(path, ".local/bin/mcp-x");
        assert_eq!(
            read,
            [
                ".local/bin/mcp-x",
                ".local/share/uv/python/cpython-3.13",
                ".local/share/uv/tools/mcp-x",
            ]
        );
    }

    #[test]
    fn find_reads_a_single_file_of_a_directory_with_many_programs() {
        let (home, finder) = home_with(&[
            (".cargo/bin/mcp-x", ELF),
            (".cargo/credentials.toml", "token"),
            (".local/bin/uvx", ELF),
            (".local/bin/uv", ELF),
            (".local/lib/x", ""),
            (".pyenv/shims/mcp-y", "#!/usr/bin/env bash\n"),
            (".pyenv/versions/3.12.1/bin/mcp-y", "#!HOME/.pyenv/versions/3.12.1/bin/python\n"),
            (".pyenv/versions/3.12.1/bin/python", ELF),
            (".pyenv/versions/3.12.1/lib/x", ""),
        ]);
        assert_eq!(found(&home, &finder, "mcp-x").1, [".cargo/bin/mcp-x"]);
        assert_eq!(found(&home, &finder, "uvx").1, [".local/bin/uv", ".local/bin/uvx"]);
        assert_eq!(found(&home, &finder, "mcp-y").1, [".pyenv/versions/3.12.1"]);
        let shims = vec![home.path().join(".pyenv/shims")];
        let finder = ProgramFinder { directories: shims, ..finder };
        assert_eq!(found(&home, &finder, "mcp-y").0, ".pyenv/versions/3.12.1/bin/mcp-y");
        assert_eq!(finder.find("mcp-z"), None);
    }

    #[test]
    fn paths_of_script_are_those_of_its_package() {
        let (home, finder) = home_with(&[
            ("src/mcp/build/index.js", "#!/usr/bin/env sh\n"),
            ("src/mcp/package.json", "{}"),
            ("one.py", ""),
        ]);
        for (script, root) in [("src/mcp/build/index.js", "src/mcp"), ("one.py", "one.py")] {
            let paths = finder.paths_of_script(&home.path().join(script));
            assert_eq!(paths, [home.path().join(root)]);
        }
    }

    #[test]
    fn find_needs_nothing_for_a_program_of_the_system() {
        let (_home, finder) = home_with(&[]);
        let found = finder.find("sh").unwrap();
        assert!(found.read.is_empty() && found.search_path.is_none(), "{found:?}");
    }
}
