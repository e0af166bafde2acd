use std::fmt::Write as _;

use avocet_protocol::daemon::Checkup;

use super::*;
use crate::cli::doctor;

fn system(is_root: bool, without: bool) -> System {
    let cgroup = no("/user.slice is not delegated to Avocet");
    let (refused, hosts, closed) = (None, None, None);
    let (user, limits) =
        (if is_root { "root" } else { "ann (uid 7)" }.to_owned(), "few".to_owned());
    System { user, is_root, limits, has_filter: true, cgroup, without, refused, hosts, closed }
}

fn no(why: &str) -> Result<(), String> {
    Err(why.to_owned())
}

#[test]
fn sandbox_layers_have_one_line_each_with_effect_or_remedy() {
    let denied = || no("the user namespace: EPERM: Operation not permitted");
    let old = || no("Landlock: incompatible");
    let table = [
        (
            "all of them",
            SandboxLayers { namespaces: Ok(()), landlock: Ok(()) },
            system(false, false),
        ),
        (
            "Landlock alone, as root",
            SandboxLayers { namespaces: denied(), landlock: Ok(()) },
            system(true, false),
        ),
        (
            "none",
            SandboxLayers { namespaces: denied(), landlock: old() },
            System { has_filter: false, cgroup: Ok(()), ..system(false, false) },
        ),
        (
            "none, and that is accepted",
            SandboxLayers { namespaces: denied(), landlock: old() },
            system(true, true),
        ),
        (
            "a workspace above the configuration",
            SandboxLayers { namespaces: Ok(()), landlock: old() },
            System {
                refused: Some("/home/me/.config/avocet.toml: programs could read it".to_owned()),
                ..system(false, false)
            },
        ),
        (
            "hosts are open",
            SandboxLayers { namespaces: Ok(()), landlock: Ok(()) },
            System { hosts: Some("crates.io, 127.0.0.1:3000".to_owned()), ..system(false, false) },
        ),
        (
            "hosts are listed, but Landlock is the only layer",
            SandboxLayers { namespaces: denied(), landlock: Ok(()) },
            System { closed: Some("[sandbox] hosts has no effect"), ..system(false, false) },
        ),
    ];
    let mut all = String::new();
    for (title, layers, system) in table {
        let checkup = Checkup { walls: of_layers(&layers, &system), ..Checkup::default() };
        let code = doctor::checkup_exit(&checkup) as u8;
        writeln!(all, "# {title}: {code}\n{}", doctor::checkup_text(&checkup)).unwrap();
    }
    insta::assert_snapshot!(all);
}
