//! `avocet rules`: shows, adds and removes the owners' rules, through a running daemon or in the log of
//! a stopped one.

use avocet_gateway::{
    AddRule, ClientMethod, ListRules, NoParams, RemoveRule, RulePorts, RunMethod, run_method,
};
use avocet_protocol::access::{RuleName, RuleScope, ShownRule};
use avocet_protocol::daemon::Live;
use avocet_text::PlainTable;
use clap::{Args, Subcommand};

use crate::cli::reach::call_daemon_or_log;
use crate::components::rule_desk::{ConfiguredRules, RuleDesk};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::input::text_or_stdin;
use crate::output::{print_result, print_text};
use crate::redaction;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    command: Option<RulesCommand>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// Add a rule, and tell what enforces it.
    Add {
        /// Text, which the model gets byte for byte. Default or -: stdin.
        text: Option<String>,
        /// Scope: everyone, 'agent NAME', 'chat SESSION' or 'person CHANNEL:ACCOUNT:SENDER'.
        #[arg(long, default_value = "everyone")]
        scope: RuleScope,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the rules, those of the configuration first. `avocet rules` alone does the same.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a rule. A rule of the configuration is removed there.
    Remove {
        /// Rule, like r3.
        rule: RuleName,
    },
}

pub(crate) async fn run(context: &CommandContext, args: RulesArgs) -> Result<Exit, Failure> {
    match args.command {
        None => list_rules(context, args.json).await,
        Some(RulesCommand::List { json }) => list_rules(context, json).await,
        Some(RulesCommand::Add { text, scope, json }) => {
            let params = AddRule { text: text_or_stdin(text)?, scope };
            let shown = call_rules::<AddRule>(context, &params).await?;
            print_result(json, &shown, || {
                let ShownRule { rule, enforces } = &shown;
                let enforced = enforcement_text(enforces.as_deref());
                format!("{} holds from now on ({}); {enforced}\n", rule.name, rule.scope)
            })
        }
        Some(RulesCommand::Remove { rule }) => {
            let () = call_rules::<RemoveRule>(context, &RemoveRule { rule }).await?;
            print_text(&format!("{rule} no longer holds\n"))?;
            Ok(Exit::Done)
        }
    }
}

async fn list_rules(context: &CommandContext, json: bool) -> Result<Exit, Failure> {
    let rules = call_rules::<ListRules>(context, &NoParams {}).await?;
    print_result(json, &rules, || list_text(&rules))
}

async fn call_rules<M>(context: &CommandContext, params: &M::Params) -> Result<M::Answer, Failure>
where
    M: ClientMethod + for<'a> RunMethod<Ports<'a> = RulePorts<'a>>,
{
    call_daemon_or_log::<M>(context, params, async |log, params| {
        let configured = ConfiguredRules::from_configuration(&log.configuration);
        let desk = RuleDesk { configured: Live::new(configured), stored: log.store.clone() };
        let ports = RulePorts { rules: &desk, redactor: &redaction::shared_redactor() };
        Ok(run_method::<M>(ports, params).await)
    })
    .await
}

fn enforcement_text(enforces: Option<&str>) -> String {
    match enforces {
        Some(enforces) => format!("the program {enforces}"),
        None => "given to the model only".to_owned(),
    }
}

fn list_text(rules: &[ShownRule]) -> String {
    if rules.is_empty() {
        return "There are no rules.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["rule", "scope", "by", "text", "enforced"]);
    for ShownRule { rule, enforces } in rules {
        let text = rule.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let enforced = enforcement_text(enforces.as_deref());
        table.row([rule.name.to_string(), rule.scope.to_string(), rule.by.clone(), text, enforced]);
    }
    table.to_string()
}
