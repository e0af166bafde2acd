use std::os::unix::process::ExitStatusExt;

use avocet_testkit::{SystemPart, skip_without};

use super::*;

const LIMITS: SandboxLimits = SandboxLimits {
    processes: 64,
    memory_bytes: 1 << 30,
    disk_bytes: 0,
    file_bytes: 0,
    open_files: 0,
    cpu_seconds: 0,
};

/// Makes a directory with these files, as the kernel does.
fn directory(place: &Path, files: &[(&str, &str)]) {
    make_group(place).unwrap();
    for (file, text) in files {
        fs::write(place.join(file), text).unwrap();
    }
}

fn text(place: &Path, file: &str) -> String {
    fs::read_to_string(place.join(file)).unwrap()
}

#[test]
fn find_locates_the_mounted_cgroup_of_a_process() {
    const MOUNTS: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const MIXED: &str = "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const CONTAINER: &str = "31 30 0:27 /docker/a\\040b /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    for (groups, mounts, expected) in [
        ("0::/system.slice/a.service\n", MOUNTS, Some("/sys/fs/cgroup/system.slice/a.service")),
        ("4:memory:/x\n0::/y\n", MIXED, Some("/sys/fs/cgroup/unified/y")),
        ("0::/docker/a b/c\n", CONTAINER, Some("/sys/fs/cgroup/c")),
        ("0::/elsewhere\n", CONTAINER, None),
        ("4:memory:/x\n", MIXED, None),
        ("0::/x\n", "22 1 0:21 / / rw - ext4 /dev/sda rw\n", None),
        ("", "", None),
    ] {
        assert_eq!(
            find_group_path(groups, mounts),
            expected.map(PathBuf::from),
            "{groups:?} in {mounts:?}"
        );
    }
}

#[test]
fn divide_needs_the_memory_and_pids_controllers() {
    for (has, expected) in [("cpu memory pids\n", true), ("cpu pids\n", false), ("\n", false)] {
        let home = tempfile::tempdir().unwrap();
        directory(home.path(), &[("cgroup.controllers", has), ("cgroup.subtree_control", "")]);
        directory(&home.path().join(DAEMON), &[("cgroup.procs", "")]);
        let divided = CgroupParent::try_from_path(home.path().to_owned())
            .and_then(CgroupParent::move_daemon_aside);
        assert_eq!(divided.is_ok(), expected, "{divided:?}");
        let daemon = if expected { std::process::id().to_string() } else { String::new() };
        assert_eq!(text(&home.path().join(DAEMON), "cgroup.procs"), daemon);
        let control = if expected { "+memory +pids" } else { "" };
        assert_eq!(text(home.path(), "cgroup.subtree_control"), control);
    }
}

#[test]
fn divide_error_names_the_file_and_the_cause() {
    let home = tempfile::tempdir().unwrap();
    directory(home.path(), &[("cgroup.controllers", "memory pids")]);
    let error = CgroupParent::try_from_path(home.path().to_owned())
        .unwrap()
        .move_daemon_aside()
        .unwrap_err();
    let said = error.to_string();
    assert!(said.contains("daemon/cgroup.procs: No such file"), "{said}");
}

#[test]
fn cgroup_limits_all_processes_of_a_sandbox_together() {
    let home = tempfile::tempdir().unwrap();
    directory(home.path(), &[("cgroup.controllers", "memory pids")]);
    let groups = CgroupParent::try_from_path(home.path().to_owned()).unwrap();
    let place = home.path().join("cell-0");
    let files = [("memory.max", ""), ("pids.max", ""), ("cgroup.procs", ""), ("cgroup.kill", "")];
    directory(&place, &files);
    let group = groups.group_at(place.clone());
    group.write_limits(LIMITS).unwrap();
    group.add_process(4711).unwrap();
    for (file, expected) in
        [("memory.max", "1073741824"), ("pids.max", "72"), ("cgroup.procs", "4711")]
    {
        assert_eq!(text(&place, file), expected, "{file}");
    }
    for (events, expected) in [("oom 0\noom_kill 0\n", false), ("oom 1\noom_kill 2\n", true)] {
        fs::write(place.join("memory.events"), events).unwrap();
        assert_eq!(group.is_out_of_memory(), expected, "{events:?}");
    }
    drop(group);
    assert_eq!(text(&place, "cgroup.kill"), "1");
    // A group with dying processes is removed later, and is not used again. Without the files of
    // the kernel, limits and so the sandbox fail.
    assert!(place.exists());
    let error = groups.create_group(LIMITS).unwrap_err().to_string();
    assert!(error.contains("cell-1/memory.max: No such file"), "{error}");
    assert!(place.exists() && !home.path().join("cell-1").exists());
    for file in fs::read_dir(&place).unwrap().flatten() {
        fs::remove_file(file.path()).unwrap();
    }
    groups.create_group(LIMITS).unwrap_err();
    assert!(!place.exists());
}

/// Uses the kernel's own groups, below that of the test.
#[test]
fn cgroup_of_the_kernel_takes_a_process_and_kills_it() {
    let place = CgroupParent::find_own_group()
        .map(|own| own.join(format!("avocet-test-{}", std::process::id())));
    let Some(place) = place.filter(|place| fs::create_dir(place).is_ok()) else {
        return skip_without(SystemPart::ControlGroups);
    };
    let group = SandboxCgroup { place: place.clone(), dying: Arc::default() };
    if !place.join("cgroup.kill").exists() {
        return skip_without(SystemPart::ControlGroups);
    }
    let mut sleeper = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    group.add_process(sleeper.id()).unwrap();
    assert_eq!(text(&place, "cgroup.procs"), format!("{}\n", sleeper.id()));
    write_kernel_file(&place, "cgroup.kill", "1").unwrap();
    assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
    drop(group);
    assert!(!place.exists());
}
