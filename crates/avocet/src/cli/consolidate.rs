//! `avocet memory consolidate`: lets a model tidy memories now, and shows the difference.

use std::sync::Arc;

use avocet_gateway::run_method;
use avocet_protocol::memory::{
    ConsolidateRequest, ConsolidationReport, ReportedEdit, ReportedMemory,
};
use avocet_protocol::store::MemoryScope;
use avocet_text::append_line;
use clap::Args;

use crate::cli::reach::call_daemon_or_log;
use crate::components::consolidation::make_consolidator;
use crate::components::models::Models;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::print_result;

#[derive(Debug, Args)]
pub(crate) struct ConsolidateArgs {
    /// Scope: everyone, 'person CHANNEL:ACCOUNT:SENDER' or 'chat SESSION'. Default: all with new
    /// memories.
    #[arg(long)]
    scope: Option<MemoryScope>,
    /// Ask the model, and show the changes without making them.
    #[arg(long)]
    dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(context: &CommandContext, args: ConsolidateArgs) -> Result<Exit, Failure> {
    let ConsolidateArgs { scope, dry_run, json } = args;
    let request = ConsolidateRequest { scope, dry_run };
    let reports: Vec<ConsolidationReport> =
        call_daemon_or_log::<ConsolidateRequest>(context, &request, async |log, params| {
            // Unlike most commands on a log, this one sends a request.
            let configuration = Configuration::load(context, ConfigurationUse::Everything)?;
            let clock = &context.clock;
            let models = Arc::new(Models::from_configuration(&configuration, clock.clone())?);
            let consolidator = make_consolidator(&configuration, &models, &log.store, clock)?;
            Ok(run_method::<ConsolidateRequest>(consolidator.as_ref(), params).await)
        })
        .await?;
    let has_failed = reports.iter().any(|report| report.error.is_some());
    print_result(json, &reports, || reports_text(&reports, dry_run))?;
    Ok(if has_failed { Exit::Failed } else { Exit::Done })
}

fn reports_text(reports: &[ConsolidationReport], dry_run: bool) -> String {
    if reports.iter().all(|report| report.shown == 0) {
        return "There are no new memories to consolidate.\n".to_owned();
    }
    let mut text = String::new();
    for ConsolidationReport { scope, shown, edits, error } in reports {
        append_line(&mut text, format_args!("{scope}: the model read {shown} memories"));
        if let Some(error) = error {
            append_line(&mut text, format_args!("  failed, nothing was changed: {error}"));
        } else if edits.is_empty() {
            append_line(&mut text, format_args!("  no changes"));
        }
        edits.iter().for_each(|edit| add_edit(&mut text, edit, dry_run || error.is_some()));
    }
    text
}

fn add_edit(text: &mut String, edit: &ReportedEdit, is_proposal: bool) {
    let ReportedEdit { kind, before, after, refused, changes } = edit;
    let end = match refused {
        Some(why) => format!("left out: {why}"),
        None if is_proposal => "proposed".to_owned(),
        None => {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            changes.join(", ")
        }
    };
    append_line(text, format_args!("  {kind} ({end})"));
    let lines = before.iter().map(|one| ("-", one)).chain(after.iter().map(|one| ("+", one)));
    for (sign, ReportedMemory { id, text: said }) in lines {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        append_line(text, format_args!("    {sign} {id} {said}"));
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::ids::{MemoryChangeId, MemoryId};

    use super::*;

    #[test]
    fn text_shows_each_edit_as_a_difference_with_its_changes() {
        let memory = |id, text: &str| ReportedMemory { id: MemoryId(id), text: text.to_owned() };
        let edit = |kind: &str, refused: Option<&str>, changes: &[i64]| ReportedEdit {
            kind: kind.to_owned(),
            before: vec![memory(1, "Anna lives\nin Lisbon")],
            after: Some(memory(2, "Anna moved to Porto")),
            refused: refused.map(str::to_owned),
            changes: changes.iter().copied().map(MemoryChangeId).collect(),
        };
        let report = |edits, error: Option<&str>| ConsolidationReport {
            scope: MemoryScope::Everyone,
            shown: 9,
            edits,
            error: error.map(str::to_owned),
        };
        let edits = vec![edit("replace", None, &[7, 8]), edit("merge", Some("too long"), &[])];
        let expected = "everyone: the model read 9 memories\n  replace (c7, c8)\n    \
            - m1 Anna lives in Lisbon\n    + m2 Anna moved to Porto\n  merge (left out: too long)\n    \
            - m1 Anna lives in Lisbon\n    + m2 Anna moved to Porto\n";
        assert_eq!(reports_text(&[report(edits, None)], false), expected);
        let failed = [report(vec![edit("date", None, &[])], Some("no plan"))];
        let failed = reports_text(&failed, false);
        assert!(
            failed.contains("failed, nothing was changed: no plan\n  date (proposed)"),
            "{failed}"
        );
        assert!(reports_text(&[report(Vec::new(), None)], true).ends_with("no changes\n"));
        assert_eq!(reports_text(&[], false), "There are no new memories to consolidate.\n");
    }
}
