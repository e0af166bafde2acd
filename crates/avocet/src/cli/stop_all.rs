//! `avocet stop --all` and `avocet resume --all`. Without a daemon, they change the log for its next
//! start.

use avocet_gateway::{
    ClientMethod, NoParams, ResumeEverything, RunMethod, StopEverything, run_method,
};
use avocet_protocol::store::StopControl;
use avocet_session::StopDesk;
use clap::Args;

use crate::cli::reach::call_daemon_or_log;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::print_text;

#[derive(Debug, Args)]
pub(crate) struct EverythingArgs {
    /// Everything: all conversations, tasks, jobs, schedules and programs.
    #[arg(long)]
    all: bool,
}

const STOP_USE: &str = "stop what? `avocet stop --all` stops all work, and the daemon still accepts \
    messages. To stop the daemon itself, press Ctrl-C in the terminal of `avocet run`; a service stops \
    with `systemctl --user stop avocet`, or of the system with `sudo systemctl stop avocet`";

const RESUME_USE: &str = "resume what? `avocet resume --all` ends `avocet stop --all`; \
    `avocet schedule resume` is for one schedule";

pub(crate) async fn stop_everything(
    context: &CommandContext,
    args: EverythingArgs,
) -> Result<Exit, Failure> {
    if !args.all {
        return Err(Failure::new(Exit::Usage, STOP_USE));
    }
    let text = if call_method::<StopEverything>(context).await? {
        "Everything is stopped, also after a restart. Messages wait. To let it go on: avocet resume --all\n"
    } else {
        "Everything was stopped already. To let it go on: avocet resume --all\n"
    };
    print_text(text)?;
    Ok(Exit::Done)
}

pub(crate) async fn resume_everything(
    context: &CommandContext,
    args: EverythingArgs,
) -> Result<Exit, Failure> {
    if !args.all {
        return Err(Failure::new(Exit::Usage, RESUME_USE));
    }
    let text = if call_method::<ResumeEverything>(context).await? {
        "Everything goes on. The messages that waited are answered in their order.\n"
    } else {
        "Nothing was stopped.\n"
    };
    print_text(text)?;
    Ok(Exit::Done)
}

async fn call_method<M>(context: &CommandContext) -> Result<bool, Failure>
where
    M: ClientMethod<Params = NoParams, Answer = bool>
        + for<'a> RunMethod<Ports<'a> = &'a dyn StopControl>,
{
    call_daemon_or_log::<M>(context, &NoParams {}, async |log, params| {
        let desk = StopDesk::in_log(log.store.clone());
        Ok(run_method::<M>(&desk, params).await)
    })
    .await
}
