//! Completes the table of a server with the access that its program needs: its full path, the paths that
//! it reads, and the hosts of its package registry.

use std::path::{Path, PathBuf};

use crate::components::mcp::programs::{FoundProgram, ProgramFinder, is_of_system};
use crate::components::mcp::runners::PackageRunner;

use super::edit::ServerTable;

/// Endings of files that are programs for an interpreter.
const SCRIPTS: [&str; 7] = ["cjs", "jar", "js", "mjs", "py", "rb", "ts"];

/// Completes the table of a server that is a program. Returns remarks about what was added, and about
/// what is missing, without the name of the server.
pub(crate) fn complete_sandbox_settings(
    server: &mut ServerTable,
    finder: &ProgramFinder,
) -> Vec<String> {
    let Some(command) = server.command.clone().filter(|command| !command.contains("${")) else {
        return Vec::new();
    };
    let mut remarks = Vec::new();
    match finder.find(&command) {
        Some(found) => {
            let runner = PackageRunner::from_command(&command, &server.args);
            remarks.extend(add_program(server, &found));
            remarks.extend(runner.and_then(|runner| add_hosts(server, runner, &found.path)));
        }
        None => remarks.push(format!(
            "there is no program {command} on this machine: install it, or give its full path"
        )),
    }
    remarks.extend(add_scripts(server, finder));
    remarks
}

/// Adds the full path of a program outside of the system, and the paths that it needs.
fn add_program(server: &mut ServerTable, found: &FoundProgram) -> Option<String> {
    if is_of_system(&found.path) && found.read.is_empty() {
        return None;
    }
    let path = found.path.display().to_string();
    server.command = Some(path.clone());
    if let Some(search) = &found.search_path
        && !server.env.contains_key("PATH")
    {
        server.env.insert("PATH".to_owned(), search.clone());
    }
    let added = add_read(server, &found.read);
    Some(format!("its program is {path}; added to `read`, so that the sandbox shows it: {added}"))
}

/// Adds paths to `read`, and returns them as a text.
fn add_read(server: &mut ServerTable, paths: &[PathBuf]) -> String {
    let new: Vec<String> = paths
        .iter()
        .filter(|path| !is_covered(server, path))
        .map(|path| path.display().to_string())
        .collect();
    let text = if new.is_empty() { "nothing".to_owned() } else { new.join(", ") };
    server.read.extend(new);
    text
}

/// Returns `true` if the table opens the path already.
fn is_covered(server: &ServerTable, path: &Path) -> bool {
    server.read.iter().chain(&server.write).any(|root| path.starts_with(root))
}

fn add_hosts(server: &mut ServerTable, runner: &PackageRunner, program: &Path) -> Option<String> {
    if !server.hosts.is_empty() {
        return None;
    }
    server.hosts = runner.hosts(program);
    if server.hosts.is_empty() {
        return Some(format!("{}; --host HOST does so", runner.describe_need()));
    }
    let hosts = server.hosts.join(", ");
    Some(format!("added the host of its package registry to `hosts`: {hosts}"))
}

/// Adds the scripts among the arguments to `read`, and names directories that stay hidden.
fn add_scripts(server: &mut ServerTable, finder: &ProgramFinder) -> Vec<String> {
    let mut remarks = Vec::new();
    for path in server.args.clone().iter().map(Path::new).filter(|path| path.is_absolute()) {
        if is_of_system(path) || is_covered(server, path) {
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if path.is_file() && SCRIPTS.contains(&ending) {
            let added = add_read(server, &finder.paths_of_script(path));
            remarks.push(format!("added its script to `read`: {added}"));
        } else if path.exists() && path.parent().is_some() {
            remarks.push(format!(
                "its arguments name {}, which the sandbox hides: add it to `read` or `write` with \
                 --read or --write",
                path.display()
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn complete_adds_scripts_and_names_hidden_directories() {
        let home = tempfile::TempDir::new().unwrap();
        let at = |name: &str| home.path().join(name).display().to_string();
        fs::write(at("server.py"), "").unwrap();
        fs::create_dir(at("data")).unwrap();
        let mut server = ServerTable {
            command: Some("sh".to_owned()),
            args: vec![at("server.py"), at("data"), at("missing"), "/usr/bin".to_owned()],
            ..ServerTable::default()
        };
        let remarks = complete_sandbox_settings(&mut server, &ProgramFinder::from_environment());
        assert_eq!(server.command.as_deref(), Some("sh"));
        assert_eq!(server.read, [at("server.py")]);
        assert_eq!(remarks.len(), 2, "{remarks:?}");
        assert!(remarks[1].contains(&at("data")), "{remarks:?}");
        server.write = vec![at("data")];
        assert!(
            complete_sandbox_settings(&mut server, &ProgramFinder::from_environment()).is_empty()
        );
    }

    #[test]
    fn complete_says_that_a_program_is_missing() {
        let command = Some("no-such-program".to_owned());
        let mut server = ServerTable { command, ..ServerTable::default() };
        let remarks = complete_sandbox_settings(&mut server, &ProgramFinder::from_environment());
        assert!(remarks[0].contains("no program no-such-program on this machine"), "{remarks:?}");
    }
}
