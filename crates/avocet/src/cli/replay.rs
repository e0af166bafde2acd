//! `avocet replay`: runs an ended turn again from the log, without effects, and shows the
//! difference.

mod editor;
mod report;

use std::sync::Arc;

use avocet_agent::{AgentLoop, AgentModels, ModelsByTask, ReplayAnswers};
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::Models as ModelsPort;
use avocet_protocol::store::Query;
use avocet_protocol::turn::TurnState;
use avocet_store::{RecordedTurn, SqliteStore};
use clap::Args;

use crate::cli::offline_agent::OfflineAgent;
use crate::cli::reach::open_log_read_only;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{print_difference, print_json};
use crate::redaction;
use report::ReplayReport;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Turn, such as t12, as `avocet sessions show` lists it.
    turn: TurnId,
    /// Ask this model instead of playing back the recorded answers. Its cost is shown, and recorded
    /// nowhere.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// Edit the messages of the turn first, in $VISUAL or $EDITOR. Then the model of the conversation
    /// is asked, or --model.
    #[arg(long)]
    edit: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl ReplayArgs {
    fn answers(&self) -> ReplayAnswers {
        if self.edit || self.model.is_some() {
            ReplayAnswers::Asked
        } else {
            ReplayAnswers::Recorded
        }
    }
}

pub(crate) async fn run(context: &CommandContext, args: ReplayArgs) -> Result<Exit, Failure> {
    let uses = match args.answers() {
        // The keys of the providers are needed.
        ReplayAnswers::Asked => ConfigurationUse::Everything,
        ReplayAnswers::Recorded => ConfigurationUse::Log,
    };
    let configuration = Configuration::load(context, uses)?;
    let (store, recorded) = read_recorded(context, &configuration, args.turn).await?;
    let record = &recorded.turn;
    let mut status = store.session_status(&record.session).await?;
    if args.model.is_some() {
        // The chosen model may be gone, and is not asked.
        status.model = None;
    }
    let agent = OfflineAgent::of_turn(context, &configuration, &store, record, status).await?;
    let OfflineAgent { run, turn_context, models } = agent;
    let run = match &args.model {
        Some(name) => with_model(run, models.as_ref(), name)?,
        None => run,
    };
    let turn = if args.edit {
        editor::edit_record(record, &configuration.data_dir).await?
    } else {
        record.clone()
    };
    let replayed = run.replay(&turn, &turn_context, args.answers()).await?;
    let report = ReplayReport::new(&recorded, &replayed, args.answers());
    let redactor = redaction::shared_redactor();
    if args.json {
        let mut json = report.as_json();
        redactor.redact_json(&mut json);
        print_json(&json)?;
    } else {
        let mut lines = report.lines();
        lines.iter_mut().for_each(|line| line.text = redactor.redact(&line.text).into_owned());
        print_difference(&lines)?;
    }
    Ok(if report.is_same() { Exit::Done } else { Exit::Different })
}

/// Returns the log, opened for reading, and the turn in it.
async fn read_recorded(
    context: &CommandContext,
    configuration: &Configuration,
    id: TurnId,
) -> Result<(Arc<SqliteStore>, RecordedTurn), Failure> {
    let refused = |why: String| Failure::new(Exit::Failed, why);
    let missing = || {
        refused(format!(
            "{id} is not in the log; `avocet sessions show` lists the turns of a conversation"
        ))
    };
    let store = Arc::new(open_log_read_only(context, configuration)?.ok_or_else(missing)?);
    let recorded = store.recorded_turn(id).await?.ok_or_else(missing)?;
    let state = recorded.turn.state;
    if matches!(state, TurnState::Queued | TurnState::Running | TurnState::Waiting) {
        let state = state.as_str();
        return Err(refused(format!(
            "{id} is {state}; only a turn that has ended can be replayed"
        )));
    }
    if recorded.has_removed_results {
        return Err(refused(format!(
            "cannot replay {id}: results of its tools were removed because they were old \
             ([retention] in the configuration)"
        )));
    }
    Ok((store, recorded))
}

/// Returns the agent with this model for everything, without fallbacks.
fn with_model(run: AgentLoop, models: &dyn ModelsPort, name: &str) -> Result<AgentLoop, Failure> {
    let model = models.model(name, &[]);
    let model =
        model.map_err(|error| Failure::new(Exit::Usage, format!("--model {name}: {error}")))?;
    let (main, cheap, tasks) = (model.clone(), model, ModelsByTask::default());
    Ok(AgentLoop { models: AgentModels { main, cheap, tasks }, ..run })
}
