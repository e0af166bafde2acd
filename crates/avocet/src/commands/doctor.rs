//! `avocet doctor`: whether everything is there that the daemon needs, what it does without, and how to mend that.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use avocet_sandbox::{Behind, Cgroups, Walls};
use serde::Serialize;

use crate::Context;
use crate::commands::connect;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_json};
use crate::places::Configuration;
use crate::roots;
use crate::shell::Shells;

/// What was found of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: String,
    state: State,
    says: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    /// It goes without.
    Fair,
    Bad,
}

/// What is looked at, in its order.
#[derive(Debug, Serialize)]
struct Findings {
    avocet: Vec<Check>,
    walls: Vec<Check>,
}

pub(crate) async fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    let configuration = match Configuration::load(&context.cli) {
        Ok(configuration) => configuration,
        Err(Failure { exit, error }) => {
            let check =
                bad("configuration", format!("{error:#}"), "correct it; the rest is not looked at");
            show(&Findings { avocet: vec![check], walls: Vec::new() }, json)?;
            return Ok(exit);
        }
    };
    let shells = Shells::probe(&configuration, None, &context.clock, 0, &context.root).await?;
    let daemon = connect(context, &configuration).await.is_some();
    let refused = configuration.agents.iter().find_map(|agent| shells.unsafe_for(&agent.workspace));
    let findings = Findings {
        avocet: of_avocet(&configuration, daemon),
        walls: of_walls(
            &shells.walls,
            &System {
                is_root: fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0),
                has_filter: Path::new("/proc/sys/kernel/seccomp").exists(),
                cgroup: Cgroups::delegated().map(drop).map_err(|why| why.to_string()),
                without: configuration.settings.sandbox.allow_unsandboxed_shell,
                refused,
                hosts: shells.hosts(),
                closed: shells.warning_of_hosts(),
            },
        ),
    };
    show(&findings, json)?;
    Ok(exit(&findings, &shells.walls))
}

fn exit(findings: &Findings, walls: &Walls) -> Exit {
    if findings.avocet.iter().any(|check| check.state == State::Bad) {
        Exit::Configuration
    } else if walls.hold() {
        Exit::Done
    } else {
        Exit::NoWalls
    }
}

fn of_avocet(configuration: &Configuration, daemon: bool) -> Vec<Check> {
    let Configuration { document, data_dir, settings, socket, roots, .. } = configuration;
    let path = document
        .path()
        .map_or("none; the defaults hold".to_owned(), |path| path.display().to_string());
    let data = data_dir.display();
    let mut checks = vec![good("configuration", path)];
    checks.push(match writable(data_dir) {
        Ok(true) => good("data", format!("{data} can be written to")),
        Ok(false) => good("data", format!("{data} is made at the first start")),
        Err(error) => {
            bad("data", format!("{data}: {error}"), "give it to the daemon's user, or set data_dir")
        }
    });
    if !roots.is_empty() {
        let found = roots::check(document, roots, &configuration.others());
        checks.push(match found {
            Ok(places) => good("directories", format!("{} beside the workspaces", places.len())),
            Err(Failure { error, .. }) => {
                bad("directories", format!("{error:#}"), "correct [tools] read and write")
            }
        });
    }
    let at = socket.display();
    checks.push(match daemon {
        true => good("daemon", format!("answers at {at}")),
        false => fair("daemon", format!("none answers at {at}"), "start it: avocet run"),
    });
    let names: Vec<_> = settings.providers.keys().cloned().collect();
    checks.push(match names.is_empty() {
        true => fair(
            "models",
            "no provider".to_owned(),
            "name one: [providers.NAME] in the configuration",
        ),
        false => good("models", names.join(", ")),
    });
    checks
}

/// Whether a directory can be written to; false if it is not there.
fn writable(directory: &Path) -> std::io::Result<bool> {
    if !directory.try_exists()? {
        return Ok(false);
    }
    let path = directory.join(format!(".doctor-{}", std::process::id()));
    File::create_new(&path)?;
    fs::remove_file(path)?;
    Ok(true)
}

/// What the walls depend on beside themselves.
#[derive(Debug)]
struct System {
    is_root: bool,
    has_filter: bool,
    /// Whether it leaves control groups to us; else why not.
    cgroup: Result<(), String>,
    /// Whether the operator does without walls.
    without: bool,
    /// Why a workspace has no shell whatever the walls.
    refused: Option<String>,
    /// The hosts that are open to programs.
    hosts: Option<String>,
    /// Why those are not open that the operator has opened.
    closed: Option<&'static str>,
}

fn of_walls(walls: &Walls, system: &System) -> Vec<Check> {
    const NAMESPACES: &str = "let ordinary users make user namespaces (user.max_user_namespaces, \
        kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns); in a service or a \
        container, allow unshare and mount";
    const LANDLOCK: &str = "Linux 6.12 or newer, with landlock in /sys/kernel/security/lsm; in a container, \
        allow its system calls";
    const FILTER: &str = "a kernel with CONFIG_SECCOMP_FILTER";
    let best = walls.best();
    let wall = |name: &str, wall: &Result<(), String>, gives: &str, fix| match wall {
        Ok(()) => good(name, gives.to_owned()),
        // One of them does.
        Err(why) if best != Behind::Nothing => fair(name, why.clone(), fix),
        Err(why) => bad(name, why.clone(), fix),
    };
    let mut checks = vec![
        wall(
            "namespaces",
            &walls.namespaces,
            "files, processes and network of its own",
            NAMESPACES,
        ),
        wall("Landlock", &walls.landlock, "version 6 or newer", LANDLOCK),
    ];
    checks.push(match system.has_filter {
        true => good("system calls", "filtered (seccomp)".to_owned()),
        false => bad("system calls", "the kernel filters none".to_owned(), FILTER),
    });
    checks.push(secrets(best));
    checks.push(match &system.cgroup {
        Ok(()) => good("cgroup", "one for each program".to_owned()),
        Err(why) => fair(
            "cgroup",
            format!("none for programs of a daemon started here: memory is limited by process, not in all ({why})"),
            "run it as a service with Delegate=memory pids, as systemd/avocet.service has it",
        ),
    });
    checks.push(match (system.is_root, best) {
        (false, _) => good("user", "an ordinary one".to_owned()),
        (true, Behind::Namespaces) => fair(
            "user",
            "root: the number of processes is limited from Linux 6.14".to_owned(),
            "run it as an ordinary user",
        ),
        (true, Behind::Landlock | Behind::Nothing) => fair(
            "user",
            "root: nothing limits the number of processes".to_owned(),
            "run it as an ordinary user",
        ),
    });
    checks.push(shell(best, system));
    checks.extend(network(best, system));
    checks
}

fn secrets(best: Behind) -> Check {
    const WHY: &str = "programs see those of the workspace (.env, keys)";
    match best {
        Behind::Namespaces => {
            good("secret files", "programs do not see those of the workspace".to_owned())
        }
        Behind::Landlock | Behind::Nothing => fair(
            "secret files",
            WHY.to_owned(),
            "namespaces, or keep them outside of the workspace",
        ),
    }
}

fn shell(best: Behind, system: &System) -> Check {
    const FIX: &str = "see above, or accept that with [sandbox] allow_unsandboxed_shell = true";
    if let Some(why) = &system.refused {
        return fair(
            "exec_shell",
            format!("off for a workspace: {why}"),
            "see the log of the daemon",
        );
    }
    match (best, system.without) {
        (Behind::Namespaces, _) => good("exec_shell", "on, behind namespaces".to_owned()),
        (Behind::Landlock, _) => good("exec_shell", "on, behind Landlock alone".to_owned()),
        (Behind::Nothing, false) => bad("exec_shell", "off: there are no walls".to_owned(), FIX),
        (Behind::Nothing, true) => bad(
            "exec_shell",
            "ON WITHOUT WALLS: programs may do all that the daemon's user may".to_owned(),
            "set [sandbox] allow_unsandboxed_shell to false",
        ),
    }
}

/// The network of programs; nothing where there are none.
fn network(best: Behind, System { without, hosts, closed, .. }: &System) -> Option<Check> {
    const FIX: &str = "namespaces (see above), or take the hosts out of [sandbox]";
    Some(match (best, hosts, closed) {
        (_, _, Some(why)) => fair("network", (*why).to_owned(), FIX),
        (Behind::Nothing, ..) if !without => return None,
        (Behind::Nothing, ..) => {
            fair("network", "that of the host: there are no walls".to_owned(), "see above")
        }
        (_, Some(hosts), None) => {
            good("network", format!("programs reach {hosts} alone, by a proxy"))
        }
        (_, None, None) => good("network", "programs have none".to_owned()),
    })
}

fn good(name: &str, says: String) -> Check {
    Check { name: name.to_owned(), state: State::Good, says, fix: None }
}

fn fair(name: &str, says: String, fix: &'static str) -> Check {
    Check { name: name.to_owned(), state: State::Fair, says, fix: Some(fix) }
}

fn bad(name: &str, says: String, fix: &'static str) -> Check {
    Check { name: name.to_owned(), state: State::Bad, says, fix: Some(fix) }
}

fn show(findings: &Findings, json: bool) -> Result<(), Failure> {
    if json { print_json(findings) } else { print(&text(findings)) }
}

/// A line for each, with a sign.
fn text(findings: &Findings) -> String {
    let mut text = String::new();
    for (title, checks) in [("avocet", &findings.avocet), ("walls", &findings.walls)] {
        if checks.is_empty() {
            continue;
        }
        text.push_str(&format!("{title}\n"));
        for Check { name, state, says, fix } in checks {
            let sign = match state {
                State::Good => "✓",
                State::Fair => "!",
                State::Bad => "✗",
            };
            let fix = fix.map(|fix| format!(" -> {fix}")).unwrap_or_default();
            text.push_str(&format!("  {sign} {name:13}  {says}{fix}\n"));
        }
    }
    text
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
