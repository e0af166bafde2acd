use avocet_supervise::SystemClock;

use super::*;
use crate::registry::ChildAccess;

fn background() -> Arc<BackgroundPrograms> {
    let (clock, group) = (Arc::new(SystemClock::new()), Group::new("test"));
    Arc::new(BackgroundPrograms::new(1, Duration::ZERO, clock, group))
}

#[test]
fn unsafe_place_is_a_path_that_exposes_the_daemons_files() {
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let shells = Shells {
        sandbox: None,
        layers: SandboxLayers { namespaces: Ok(()), landlock: Ok(()) },
        longest: Duration::ZERO,
        commands: Vec::new(),
        background: background(),
        own: paths(&["/home/me/.config/avocet.toml", "/data"]),
        program: Some("/opt/me/bin/avocet".into()),
        writable: paths(&["/data/workspace", "/srv/a", "/srv/a/b", "/out"]),
        wants_hosts: false,
        unconfirmed: None,
        outdated: OnceLock::new(),
    };
    let table: [(&[&str], &[&str], bool); 10] = [
        (&["/data/workspace"], &[], true),
        (&["/data/workspace", "/out"], &["/home/me/.cargo"], true),
        (&["/home/me"], &[], false),
        (&["/srv/a"], &["/home"], false),
        (&["/data"], &[], false),
        (&["/srv/a"], &[], true),
        (&["/srv/a/b"], &[], false),
        (&["/srv/a"], &["/out/x"], false),
        (&["/opt/me"], &[], false),
        (&["/srv/a"], &["/opt/me/bin"], true),
    ];
    for (writable, readable, is_safe) in table {
        let (writable, readable) = (paths(writable), paths(readable));
        let found = shells.unsafe_place(&writable, &readable);
        assert_eq!(found.is_none(), is_safe, "{writable:?} {readable:?}: {found:?}");
    }
}

#[test]
fn child_sandbox_refuses_a_directory_above_those_of_other_programs() {
    let shells = |writable: &[&str]| Shells {
        sandbox: Some(ProgramSandbox::new(
            "/bin/true",
            Isolation::Namespaces,
            Arc::new(SystemClock::new()),
        )),
        layers: SandboxLayers { namespaces: Ok(()), landlock: Ok(()) },
        longest: Duration::ZERO,
        commands: Vec::new(),
        background: background(),
        own: Vec::new(),
        program: None,
        writable: writable.iter().map(PathBuf::from).collect(),
        wants_hosts: false,
        unconfirmed: None,
        outdated: OnceLock::new(),
    };
    let shells = shells(&["/srv/agent/workspace"]);
    for (write, is_safe) in
        [("/srv/agent", false), ("/srv/agent/workspace/x", false), ("/srv/other", true)]
    {
        let access = ChildAccess { write: vec![write.into()], ..ChildAccess::default() };
        assert_eq!(shells.child_sandbox(access).is_ok(), is_safe, "{write}");
    }
}

#[test]
fn shell_without_sandbox_layers_needs_consent_and_warns() {
    let no = |why: &str| Err(why.to_owned());
    let table = [
        ((Ok(()), no("old")), false, Some(Isolation::Namespaces), None, ""),
        (
            (no("denied"), Ok(())),
            false,
            Some(Isolation::Landlock),
            Some("this system has no namespaces (denied)"),
            "[sandbox] hosts has no effect: it needs namespaces",
        ),
        (
            (no("denied"), no("old")),
            false,
            None,
            Some("exec_shell is off"),
            "[sandbox] hosts has no effect: exec_shell is off",
        ),
        (
            (no("denied"), no("old")),
            true,
            Some(Isolation::LimitsOnly),
            Some("PROGRAMS RUN WITHOUT A SANDBOX"),
            "[sandbox] hosts has no effect",
        ),
        ((Ok(()), Ok(())), true, Some(Isolation::Namespaces), None, ""),
    ];
    for ((namespaces, landlock), without, expected, warning, of_hosts) in table {
        let layers = SandboxLayers { namespaces, landlock };
        let clock = Arc::new(avocet_testkit::ManualClock::default());
        let sandbox = ProgramSandbox::new(OURSELVES, Isolation::Namespaces, clock);
        let shells = Shells {
            sandbox: permitted_sandbox(layers.best_isolation(), sandbox, without),
            layers,
            longest: Duration::ZERO,
            commands: Vec::new(),
            background: background(),
            own: Vec::new(),
            program: None,
            writable: Vec::new(),
            wants_hosts: true,
            unconfirmed: None,
            outdated: OnceLock::new(),
        };
        let shell = shells.program_settings(Path::new("/work"));
        assert_eq!(
            shell.map(|shell| shell.sandbox.isolation),
            expected,
            "{:?} {without}",
            shells.layers
        );
        let said = shells.warning();
        assert_eq!(said.is_some(), warning.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().starts_with(warning.unwrap_or_default()));
        let hosts = shells.warning_of_hosts();
        assert_eq!(hosts.is_some(), warning.is_some(), "{hosts:?}");
        assert!(hosts.unwrap_or_default().starts_with(of_hosts), "{hosts:?}");
        assert_eq!(Shells { wants_hosts: false, ..shells }.warning_of_hosts(), None);
    }
}
