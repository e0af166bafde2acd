//! Programs that are channels and run as children of the daemon. Each runs in its own sandbox,
//! and is started again after it has ended.

mod output;
mod supervisor;

use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::{GatewayParts, Programs};
use avocet_protocol::clock::Clock;
use avocet_sandbox::{Isolation, ProgramSandbox};
use avocet_supervise::Group;

use crate::components::shell::Shells;
use crate::registry::ChannelProgram;
use supervisor::{ChildSupervisor, STOPPING, SandboxedProgram};

/// The variable that tells a program its account, and to use its standard input and output.
const ACCOUNT: &str = "AVOCET_CHANNEL";
/// The time for the end of all supervisors, beyond that of the programs.
const ENDING: Duration = Duration::from_secs(2);

/// The running programs.
#[derive(Debug)]
pub(crate) struct Children {
    group: Group,
    clock: Arc<dyn Clock>,
}

impl Children {
    /// Starts the programs. A program that cannot run is reported by the log and the health of its
    /// channel.
    pub(crate) fn start(
        programs: Vec<ChannelProgram>,
        shells: &Shells,
        parts: &GatewayParts,
        group: &Group,
    ) -> Self {
        let (group, clock) = (group.child_group("children"), parts.clock.clone());
        let gateway = Programs::new(parts.clone());
        for program in programs {
            let name = format!("{}:{}", program.channel, program.account);
            let platform = parts.attach.get(&(program.channel.clone(), program.account.clone()));
            let Some(platform) = platform.cloned() else { continue };
            let supervisor = ChildSupervisor {
                name: name.clone(),
                channel: program.channel.clone(),
                account: program.account.clone(),
                platform,
                gateway: gateway.clone(),
                group: group.clone(),
                clock: clock.clone(),
            };
            match sandboxed_program(program, &name, shells) {
                Ok(program) => {
                    group.spawn(&name, async move { supervisor.run(&program).await });
                }
                Err(why) => supervisor.is_down(&format!("its program cannot run: {why}")),
            }
        }
        Self { group, clock }
    }

    /// Closes the input of each program, and waits for its end. A program that stays is killed
    /// after 5 s.
    pub(crate) async fn stop(&self) {
        self.group.cancel_tasks();
        let limit = STOPPING + ENDING;
        if let Err(unfinished) = self.group.clone().wait_for_tasks(self.clock.as_ref(), limit).await
        {
            tracing::warn!(%unfinished, "programs of channels did not end in time");
            self.kill();
        }
    }

    /// Kills all programs.
    pub(crate) fn kill(&self) {
        self.group.cancel_tasks();
        // Each sandbox dies with its task.
        self.group.abort_tasks();
    }
}

fn sandboxed_program(
    program: ChannelProgram,
    name: &str,
    shells: &Shells,
) -> Result<SandboxedProgram, String> {
    let ChannelProgram { command, mut access, .. } = program;
    access.environment.push((ACCOUNT.to_owned(), name.to_owned()));
    let wants_hosts = !access.hosts.is_empty();
    let directory = access.directory();
    let sandbox = shells.child_sandbox(access)?;
    if wants_hosts && sandbox.isolation != Isolation::Namespaces {
        let now = network_word(&sandbox);
        tracing::warn!(
            account = name,
            "`hosts` of this channel has no effect, because this system has no namespaces: {now}"
        );
    }
    Ok(SandboxedProgram { sandbox, command, directory })
}

fn network_word(sandbox: &ProgramSandbox) -> &'static str {
    match sandbox.isolation {
        Isolation::LimitsOnly => "its program reaches every host",
        Isolation::Landlock | Isolation::Namespaces => "its program has no network",
    }
}
