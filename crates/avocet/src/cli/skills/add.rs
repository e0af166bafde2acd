//! `avocet skills add`: copies a folder into the workspace.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use avocet_protocol::access::Trust;
use avocet_sandbox::{RemoveMode, Workspace};
use avocet_skills::{
    FoundSkill, SKILL_FILES, SkillSource, SkillState, WORKSPACE_SKILLS, check_name,
};
use rustix::fs::OFlags;
use serde::Serialize;

use super::{AgentSkills, check, command_failure, file_failure};
use crate::components::workspaces::guarded_workspace;
use crate::exit::Failure;

/// The most files of a folder.
const MAX_FILES: usize = 200;
/// The most bytes of all files of a folder.
const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// The most directories inside each other.
const MAX_DEPTH: usize = 8;

/// A skill that was added.
#[derive(Debug, Serialize)]
pub(super) struct Added {
    name: String,
    folder: PathBuf,
    files: usize,
    /// The source of a skill of the same name that the new one replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    hides: Option<SkillSource>,
}

/// A file of the folder.
struct SourceFile {
    /// Relative to the folder.
    path: String,
    bytes: Vec<u8>,
}

impl Added {
    pub(super) fn text(&self) -> String {
        let Self { name, folder, files, hides } = self;
        let hides = match hides {
            Some(source) => format!("; it is used instead of the {} skill", source.as_word()),
            None => String::new(),
        };
        format!("added the skill {name} to {}: {files} files{hides}\n", folder.display())
    }
}

/// Copies a folder into the workspace. The caller is an operator, so the copied files are trusted.
pub(super) async fn add_skill(skills: &AgentSkills, path: &Path) -> Result<Added, Failure> {
    let skill = check::of_folder(path)?;
    if let SkillState::Broken(problems) = &skill.state {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let text = format!("{}: {}", skill.file_path(), problems.join("; "));
        return Err(command_failure(text));
    }
    check_name(&skill.name).map_err(command_failure)?;
    let files = Folder::read(Path::new(&skill.folder))?;
    let found = skills.found().await.skills;
    let same = |one: &&FoundSkill| one.name == skill.name && one.document().is_some();
    let hides = found.iter().find(same).map(|one| one.source);
    if skills.folder(&skill.name)?.is_some() {
        let text = format!(
            "{WORKSPACE_SKILLS}/{0} exists already; to replace it, run: avocet skills remove {0}",
            skill.name
        );
        return Err(command_failure(text));
    }
    let opened;
    let workspace = match &skills.workspace {
        Some(workspace) => workspace,
        None => {
            opened = guarded_workspace(&skills.configuration, &skills.path)?;
            &opened
        }
    };
    write(workspace, &skill.name, &files)?;
    let folder = skills.path.join(WORKSPACE_SKILLS).join(&skill.name);
    Ok(Added { name: skill.name, folder, files: files.len(), hides })
}

/// Writes the files, `SKILL.md` last: if this is interrupted, the folder is no skill yet.
fn write(workspace: &Workspace, name: &str, files: &[SourceFile]) -> Result<(), Failure> {
    let folder = format!("{WORKSPACE_SKILLS}/{name}");
    let is_last = |file: &&SourceFile| SKILL_FILES.contains(&file.path.as_str());
    let first = files.iter().filter(|file| !is_last(file));
    for SourceFile { path, bytes } in first.chain(files.iter().filter(is_last)) {
        let path = workspace.resolve_path(&format!("{folder}/{path}")).map_err(file_failure)?;
        let Err(error) = workspace.write_as(&path, bytes, Trust::Full) else { continue };
        let left = workspace.resolve_path(&folder);
        let removed = left.and_then(|left| workspace.remove_entry(&left, RemoveMode::Recursive));
        let rest = match removed {
            Ok(_) => "nothing was added".to_owned(),
            Err(_) => format!("a part was added; to remove it, run: avocet skills remove {name}"),
        };
        return Err(command_failure(format!("{error}; {rest}")));
    }
    Ok(())
}

/// The files of a folder, within the limits.
struct Folder {
    root: PathBuf,
    /// `root` without links.
    real: PathBuf,
    files: Vec<SourceFile>,
    bytes: u64,
}

impl Folder {
    fn read(root: &Path) -> Result<Vec<SourceFile>, Failure> {
        let real = root.canonicalize();
        let real = real.map_err(|error| command_failure(format!("{}: {error}", root.display())))?;
        let mut folder = Self { root: root.to_owned(), real, files: Vec::new(), bytes: 0 };
        folder.collect(root, 0)?;
        Ok(folder.files)
    }

    /// Reads a directory. `directory` is its path with the names of links, under which its files are
    /// copied.
    fn collect(&mut self, directory: &Path, depth: usize) -> Result<(), Failure> {
        if depth > MAX_DEPTH {
            let directory = directory.display();
            let text = format!("{directory}: more than {MAX_DEPTH} directories inside each other");
            return Err(command_failure(text));
        }
        let shown =
            |error: std::io::Error| command_failure(format!("{}: {error}", directory.display()));
        let entries = fs::read_dir(directory).map_err(shown)?;
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(shown)?;
        paths.sort();
        for path in paths {
            let kind = fs::symlink_metadata(&path).map_err(shown)?.file_type();
            match () {
                // The history of a repository is no part of the skill.
                () if path.file_name().is_some_and(|name| name == ".git") => {}
                () if kind.is_dir() => self.collect(&path, depth + 1)?,
                () if kind.is_file() => self.file(&path, &path)?,
                () if kind.is_symlink() => self.link(&path, depth)?,
                () => {
                    let text = format!(
                        "{} is a special file; a skill has regular files only",
                        path.display()
                    );
                    return Err(command_failure(text));
                }
            }
        }
        Ok(())
    }

    /// Copies the target of a link, which must be in the folder.
    fn link(&mut self, path: &Path, depth: usize) -> Result<(), Failure> {
        let shown = path.display();
        let stated = fs::read_link(path).unwrap_or_default();
        let stated = stated.display();
        let target = path.canonicalize().map_err(|error| {
            command_failure(format!(
                "{shown} is a link to {stated}, which cannot be read ({error})"
            ))
        })?;
        if !target.starts_with(&self.real) {
            return Err(command_failure(format!(
                "{shown} is a link to {stated}, outside of the folder; replace it by a copy of the file"
            )));
        }
        let is_above = path.parent().and_then(|parent| parent.canonicalize().ok());
        if is_above.is_some_and(|parent| parent.starts_with(&target)) {
            return Err(command_failure(format!(
                "{shown} is a link to {stated}, a folder above it; remove it"
            )));
        }
        if target.is_dir() { self.collect(path, depth + 1) } else { self.file(path, &target) }
    }

    /// Reads the file `real` for the place `path` of the copy.
    fn file(&mut self, path: &Path, real: &Path) -> Result<(), Failure> {
        let shown = |error: std::io::Error| command_failure(format!("{}: {error}", path.display()));
        let below = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        let Some(below) = below else {
            return Err(command_failure(format!(
                "the name {} is not UTF-8; rename it",
                path.display()
            )));
        };
        // The file may have been replaced by a link or a pipe since.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(real).map_err(shown)?;
        let bytes = up_to(file, MAX_BYTES + 1 - self.bytes).map_err(shown)?;
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_BYTES || self.files.len() == MAX_FILES {
            return Err(command_failure(format!(
                "{} is too large: a skill has at most {MAX_FILES} files with {MAX_BYTES} bytes",
                self.root.display()
            )));
        }
        self.files.push(SourceFile { path: below.to_owned(), bytes });
        Ok(())
    }
}

fn up_to(file: File, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn folder_follows_links_that_stay_inside_and_names_the_others() {
        let home = TempDir::new().unwrap();
        let skill = home.path().join("skill");
        fs::create_dir_all(skill.join("docs")).unwrap();
        for (path, text) in [("skill/SKILL.md", "s"), ("skill/docs/a.md", "a"), ("secret", "x")] {
            fs::write(home.path().join(path), text).unwrap();
        }
        symlink("SKILL.md", skill.join("AGENTS.md")).unwrap();
        symlink("docs", skill.join("references")).unwrap();
        // The folder itself may be a link.
        let linked = home.path().join("linked");
        symlink("skill", &linked).unwrap();
        for root in [&skill, &linked] {
            let files = Folder::read(root).unwrap();
            let files: Vec<_> = files.iter().map(|one| (&*one.path, &*one.bytes)).collect();
            let expected = [
                ("AGENTS.md", &b"s"[..]),
                ("SKILL.md", b"s"),
                ("docs/a.md", b"a"),
                ("references/a.md", b"a"),
            ];
            assert_eq!(files, expected);
        }
        for (target, says) in [
            ("../secret", "link is a link to ../secret, outside of the folder"),
            ("nowhere", "link is a link to nowhere, which cannot be read"),
            (".", "link is a link to ., a folder above it"),
            ("link", "link is a link to link, which cannot be read"),
        ] {
            symlink(target, skill.join("link")).unwrap();
            let Err(failure) = Folder::read(&skill) else { panic!("{target} is copied") };
            let error = failure.error.to_string();
            assert!(error.contains(says), "{target}: {error}");
            fs::remove_file(skill.join("link")).unwrap();
        }
    }
}
