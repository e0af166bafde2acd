use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::exit::Exit;

const DIRECTORIES: [&str; 11] = [
    "linked/config",
    "linked/notes",
    "home/me/notes/deep",
    "home/me/state/workspace",
    "home/me/config",
    "home/me/bin",
    "work/space/sub",
    "out/notes",
    "docs/deep",
    "notes",
    "with a space",
];

/// Returns the error about these directories. `$` stands for the test's directory; a leading `!`
/// grants write access.
fn said(names: &[&str]) -> Option<String> {
    let directory = TempDir::new().unwrap();
    let here = directory.path().canonicalize().unwrap();
    let place = |name: &str| match name.strip_prefix('$') {
        Some(below) => here.join(below.trim_start_matches('/')),
        None => PathBuf::from(name),
    };
    DIRECTORIES.iter().for_each(|name| fs::create_dir_all(here.join(name)).unwrap());
    for file in ["home/me/bin/avocet", "home/me/config/config.toml", "file"] {
        fs::write(here.join(file), "").unwrap();
    }
    for (name, target) in [("to-work", "work"), ("to-docs", "docs"), ("gone", "none")] {
        symlink(here.join(target), here.join(name)).unwrap();
    }
    symlink(here.join("file"), here.join("linked/config/avocet.toml")).unwrap();
    for (name, target) in [("work/space/way", "docs/deep"), ("out/way", "docs/deep")] {
        symlink(here.join(target), here.join(name)).unwrap();
    }
    symlink("out/way", here.join("to-way")).unwrap();
    symlink("out", here.join("to-out")).unwrap();
    symlink("linked/config", here.join("to-linked")).unwrap();
    let root = |name: &&str| {
        let access = if name.starts_with('!') { RootAccess::Change } else { RootAccess::Read };
        let key = if access == RootAccess::Change { "tools.write[0]" } else { "tools.read[0]" };
        Root { key: key.to_owned(), path: place(name.trim_start_matches('!')), access }
    };
    let roots: Vec<Root> = names.iter().map(root).collect();
    let workspaces = ["$/work/space", "$/home/me/state/workspace"].map(place);
    // The last of them does not exist yet.
    let own = [
        "$/home/me/config/config.toml",
        "$/home/me/state",
        "$/docs/log/avocet-head",
        "$/linked/config/avocet.toml",
    ];
    let own = own.map(place);
    let others = Others {
        home: Some(place("$/home/me")),
        workspaces: workspaces.iter().map(PathBuf::as_path).collect(),
        own: own.iter().map(PathBuf::as_path).collect(),
        program: Some(place("$/home/me/bin/avocet")),
        writable: &[place("$/out")],
    };
    let failure = check_roots(&ConfigDocument::empty(), &roots, &others).err()?;
    assert_eq!(failure.exit, Exit::Configuration);
    Some(failure.error.to_string().replace(&here.display().to_string(), "$"))
}

#[test]
fn roots_are_refused_if_they_overlap_or_contain_the_daemons_files() {
    let table: [(&[&str], Option<&str>); 38] = [
        (&[], None),
        (&["$/home/me/notes", "!$/out", "$/with a space"], None),
        (&["$/home/me/bin", "!$/home/me/notes/deep"], None),
        (&["!$/notes", "$/home/me/notes"], None),
        (&["$/none"], Some("`tools.read[0]`: $/none cannot be used (No such file")),
        (&["$/gone"], Some("create the directory, or remove the entry")),
        (&["!$/none"], Some("`tools.write[0]`: $/none cannot be used")),
        (&["$/file"], Some("$/file is not a directory")),
        (&["/"], Some("/ is the root of the file system; name directories in it")),
        (&["$/home/me"], Some("contains your whole home")),
        (&["$/home"], Some("contains your whole home")),
        (&["/proc"], Some("/proc belongs to the kernel")),
        (&["/proc/self"], Some("belongs to the kernel")),
        (&["/sys/kernel"], Some("belongs to the kernel")),
        (&["/dev"], Some("belongs to the kernel")),
        (&["$/work/space"], Some("and the workspace $/work/space overlap")),
        (&["$/work/space/sub"], Some("and the workspace $/work/space overlap")),
        (&["$/work"], Some("and the workspace $/work/space overlap")),
        (&["$/to-work"], Some("$/to-work and the workspace $/work/space overlap")),
        (
            &["$/home/me/config"],
            Some("and $/home/me/config/config.toml, which belongs to the daemon,"),
        ),
        (&["$/docs"], Some("and $/docs/log/avocet-head, which belongs to the daemon,")),
        (&["$/to-docs"], Some("and $/docs/log/avocet-head, which belongs to the daemon,")),
        (&["!$/linked"], Some("and $/linked/config/avocet.toml, which belongs to the daemon,")),
        (&["$/linked/config"], Some("and $/linked/config/avocet.toml, which belongs")),
        (&["$/to-linked"], Some("$/to-linked and $/linked/config/avocet.toml, which belongs")),
        (&["$/linked/notes"], None),
        (&["!$/home/me/bin"], Some("contains the daemon's program $/home/me/bin/avocet")),
        (
            &["$/notes", "!$/notes"],
            Some("`tools.write[0]`: $/notes and $/notes (`tools.read[0]`) overlap"),
        ),
        (&["$/home/me/notes", "$/home/me/notes/deep"], Some("name the upper one only")),
        (&["$/home/me/notes/deep", "$/home/me/notes"], Some("name the upper one only")),
        (&["$/out/notes"], Some("is in $/out, where programs may change and replace it")),
        (&["$/docs/deep"], None),
        (&["$/work/space/way"], Some("is reached through the workspace $/work/space, where")),
        (&["$/work/space/sub/../../../notes"], Some("can be redirected; write it as $/notes")),
        (&["!$/out/way"], Some("is reached through $/out, where programs can redirect the path")),
        (&["$/to-way"], Some("([sandbox] write); write it as $/docs/deep")),
        (&["$/out/notes/../../docs/deep"], Some("is reached through $/out")),
        (&["$/to-out"], None),
    ];
    for (names, expected) in table {
        let said = said(names);
        match expected {
            None => assert_eq!(said, None, "{names:?}"),
            Some(expected) => {
                let said = said.unwrap_or_default();
                assert!(said.contains(expected), "{names:?}: {said:?}");
            }
        }
    }
}

#[test]
fn channel_directory_is_refused_if_the_agent_can_reach_it() {
    let directory = TempDir::new().unwrap();
    let here = directory.path().canonicalize().unwrap();
    for name in ["work/deep", "files", "to/way"] {
        fs::create_dir_all(here.join(name)).unwrap();
    }
    symlink(here.join("files"), here.join("work/way")).unwrap();
    symlink(here.join("work"), here.join("to-work")).unwrap();
    let work = here.join("work");
    let table = [
        ("files", false),
        ("new", false),
        ("to/way", false),
        ("working", false),
        ("work", true),
        ("work/deep", true),
        ("work/new", true),
        ("to-work/deep", true),
        ("work/way", true),
        ("work/../files", true),
        ("", true),
    ];
    for (name, is_refused) in table {
        let path = here.join(name);
        let config = format!("[channels.directory.a]\npath = {path:?}\n");
        let document = ConfigDocument::parse(config, None, &|_| None).unwrap();
        let checked = check_channels(&document, &[&work]);
        let error = checked.err().map(|failure| failure.error.to_string()).unwrap_or_default();
        assert_eq!(
            error.contains("which the agent can reach, overlap"),
            is_refused,
            "{name}: {error}"
        );
        assert_eq!(
            error.contains("2:1: `channels.directory.a.path`: "),
            is_refused,
            "{name}: {error}"
        );
    }
}

#[test]
fn unmarked_warns_of_a_writable_directory_without_marks() {
    for (access, marks, is_said) in [
        (RootAccess::Change, false, true),
        (RootAccess::Change, true, false),
        // File tools only read there.
        (RootAccess::Read, false, false),
    ] {
        assert_eq!(unmarked_warning(access, marks).is_some(), is_said, "{access:?} {marks}");
    }
}
