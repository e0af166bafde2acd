//! `avocet approvals`: the calls that wait for a person's approval. Uses the socket of a running
//! daemon, else the log itself.

use avocet_gateway::{ApprovalPorts, ClientMethod, Decide, ListApprovals, RunMethod, run_method};
use avocet_protocol::access::{ApprovalChoice, ApprovalDecision, OpenApproval};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::WaitId;
use avocet_session::Decisions;
use avocet_text::append_line;
use clap::{Args, Subcommand};

use crate::cli::reach::{all_rows, call_daemon_or_log};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{format_span, print_result, print_text};
use crate::redaction;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Approve a call and let it run.
    Approve {
        /// Id of the call, as in the list.
        id: WaitId,
        /// Also approve similar calls in the same session.
        #[arg(long)]
        session: bool,
    },
    /// Deny a call; its turn continues without it.
    Deny {
        /// Id of the call, as in the list.
        id: WaitId,
        /// Reason, for the model.
        why: Option<String>,
    },
}

pub(crate) async fn run(
    context: &CommandContext,
    approvals: ApprovalsArgs,
) -> Result<Exit, Failure> {
    match approvals.command {
        None => {
            let page = async |last: Option<&OpenApproval>| {
                let after = last.map(|last| last.id);
                let list = ListApprovals { after, ..ListApprovals::default() };
                call_method::<ListApprovals>(context, &list).await
            };
            let open = all_rows(ListApprovals::default().limit, page).await?;
            print_result(approvals.json, &open, || approvals_text(&open, context.clock.now()))?;
        }
        Some(ApprovalsCommand::Approve { id, session }) => {
            let decision =
                if session { ApprovalDecision::ForSession } else { ApprovalDecision::Once };
            let () = call_method::<Decide>(context, &Decide { id, decision }).await?;
            print_text(&format!("{id} is allowed\n"))?;
        }
        Some(ApprovalsCommand::Deny { id, why }) => {
            let decision = ApprovalDecision::Denied { why };
            let () = call_method::<Decide>(context, &Decide { id, decision }).await?;
            print_text(&format!("{id} is denied\n"))?;
        }
    }
    Ok(Exit::Done)
}

async fn call_method<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = ApprovalPorts<'a>>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let decisions = Decisions::in_log(log.store.clone(), log.store.clone());
        let ports =
            ApprovalPorts { approvals: &decisions, redactor: &redaction::shared_redactor() };
        Ok(run_method::<M>(ports, params).await)
    })
    .await
}

fn approvals_text(open: &[OpenApproval], now: Timestamp) -> String {
    if open.is_empty() {
        return "No calls wait for approval.\n".to_owned();
    }
    let mut text = String::new();
    for approval in open {
        let OpenApproval { id, session, tool, expires_at, card, .. } = approval;
        let left = format_span(now.until(*expires_at).as_secs());
        append_line(&mut text, format_args!("{id}  {tool}  in {session}  (denied in {left})"));
        append_indented(&mut text, &card.text);
        for (key, value) in &approval.arguments {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // The question cuts a long value, and shows the change of a file in place of its content.
            if !card.text.contains(&value) {
                append_indented(&mut text, &format!("{key}: {value}"));
            }
        }
        append_line(&mut text, format_args!(""));
        for ApprovalChoice { label, decision } in &card.choices {
            let command = decision_command(*id, decision);
            append_line(&mut text, format_args!("    {label}: {command}"));
        }
        append_line(&mut text, format_args!(""));
    }
    text
}

fn append_indented(text: &mut String, block: &str) {
    for line in block.lines() {
        append_line(text, format_args!("    {line}"));
    }
}

/// Returns the command that makes a decision.
fn decision_command(id: WaitId, decision: &ApprovalDecision) -> String {
    match decision {
        ApprovalDecision::Once => format!("avocet approvals approve {id}"),
        ApprovalDecision::ForSession => format!("avocet approvals approve {id} --session"),
        ApprovalDecision::Denied { .. } => format!("avocet approvals deny {id} [REASON]"),
    }
}
