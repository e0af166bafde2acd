//! Consolidation of memories, as configured.

use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{ABOUT_MARKS, Marks, UpkeepMeter};
use avocet_config::{ConfigDocument, ConfigError, ConfigSettings, ConsolidationSettings};
use avocet_jobs::{ConsolidationTimer, ConsolidationTimes, ScheduleTimes, ZoneCalendar};
use avocet_memory::{ConsolidatorLimits, ConsolidatorParts, MarkUntrusted, MemoryConsolidator};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::memory::Consolidate;
use avocet_protocol::model::Models as _;
use avocet_protocol::schedule::{Calendar as _, TimesRequest};
use avocet_protocol::store::Consolidations;
use avocet_store::SqliteStore;
use avocet_supervise::Group;

use crate::components::budgets::convert_budgets;
use crate::components::models::Models;
use crate::configuration::Configuration;
use crate::environment::system_zone;
use crate::exit::{Exit, Failure};

const WHEN: &str = "memory.consolidation.when";

/// Checks the key `when`.
pub(crate) fn check_times(
    document: &ConfigDocument,
    settings: &ConfigSettings,
    now: Timestamp,
) -> Result<(), ConfigError> {
    let times = consolidation_times(&settings.memory.consolidation, now);
    times.map(drop).map_err(|error| document.error_at(WHEN, format!("`{WHEN}`: {error}")))
}

/// Returns the times of regular runs; `None` if they are off.
fn consolidation_times(
    consolidation: &ConsolidationSettings,
    now: Timestamp,
) -> Result<Option<ConsolidationTimes>, String> {
    match consolidation.when.trim() {
        "off" => Ok(None),
        "idle" => Ok(Some(ConsolidationTimes::Idle {
            after: Duration::from_hours(consolidation.idle_hours.into()),
            least_new: consolidation.least_new.into(),
        })),
        cron if cron.split_whitespace().count() == 5 => {
            let request = TimesRequest { cron: Some(cron.to_owned()), ..TimesRequest::default() };
            let rule = ZoneCalendar::new(&system_zone()).read(&request, now)?;
            let times = ScheduleTimes::new(&rule).map_err(|error| error.to_string())?;
            Ok(Some(ConsolidationTimes::At(times)))
        }
        other => Err(format!(
            "{other:?} is not a time; write \"off\", \"idle\", or five fields of cron such as \
             \"30 4 * * *\""
        )),
    }
}

/// Returns the name of the model.
pub(crate) fn model_name(settings: &ConfigSettings) -> &str {
    let defaults = &settings.agents.defaults;
    let own = settings.memory.consolidation.model.as_ref();
    own.or(defaults.cheap()).map_or(defaults.answering_model(), String::as_str)
}

/// The budgets of the day for work without a conversation.
pub(crate) fn open_meter(
    settings: &ConfigSettings,
    store: &Arc<SqliteStore>,
    clock: &Arc<dyn Clock>,
) -> Arc<UpkeepMeter> {
    Arc::new(UpkeepMeter::new(convert_budgets(&settings.budgets), store.clone(), clock.clone()))
}

/// Makes the consolidator. It asks its model only if it is called.
pub(crate) fn make_consolidator(
    configuration: &Configuration,
    models: &Models,
    store: &Arc<SqliteStore>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<MemoryConsolidator>, Failure> {
    let settings = &configuration.settings;
    let ConsolidationSettings { max_memories, max_tokens, max_runs_per_day, .. } =
        settings.memory.consolidation;
    let model = models.model(model_name(settings), &[]);
    let parts = ConsolidatorParts {
        log: store.clone(),
        model: model.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?,
        budget: open_meter(settings, store, clock),
        marks: Arc::new(RequestMarks(Marks::new(uuid::Uuid::new_v4().as_u64_pair().0))),
        clock: clock.clone(),
        stop: store.clone(),
        zone: system_zone(),
    };
    let limits = ConsolidatorLimits {
        memories: max_memories,
        tokens: max_tokens,
        runs_a_day: max_runs_per_day,
    };
    Ok(Arc::new(MemoryConsolidator::new(parts, limits)))
}

/// Starts regular runs, unless they are off.
pub(crate) fn start(
    consolidation: &ConsolidationSettings,
    log: Arc<dyn Consolidations>,
    work: Arc<dyn Consolidate>,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<(), Failure> {
    let times = consolidation_times(consolidation, clock.now());
    let times = times.map_err(|error| Failure::new(Exit::Configuration, error))?;
    if let Some(times) = times {
        ConsolidationTimer::start(times, log, work, clock.clone(), group);
    }
    Ok(())
}

/// The agent's marks around untrusted content.
#[derive(Debug)]
struct RequestMarks(Marks);

impl MarkUntrusted for RequestMarks {
    fn explain_marks(&self) -> &'static str {
        ABOUT_MARKS
    }

    fn mark_text(&self, place: &str, text: &str) -> String {
        self.0.mark_foreign(place, "memory", text)
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use avocet_protocol::memory::{ConsolidateError, ConsolidateRequest, ConsolidationReport};
    use avocet_protocol::store::MemoryScope;
    use avocet_store::testing::TempStore;
    use avocet_testkit::ManualClock;

    use super::*;

    /// Refuses every run.
    #[derive(Debug)]
    struct NoRuns;

    #[async_trait]
    impl Consolidate for NoRuns {
        async fn consolidate(
            &self,
            _: &ConsolidateRequest,
        ) -> Result<Vec<ConsolidationReport>, ConsolidateError> {
            Err(ConsolidateError::Runs(0))
        }
        async fn consolidate_due(
            &self,
            _: &MemoryScope,
        ) -> Result<ConsolidationReport, ConsolidateError> {
            Err(ConsolidateError::Runs(0))
        }
    }

    #[tokio::test]
    async fn f19_consolidation_that_is_off_has_no_task() {
        const TASK: &[&str] = &["test/consolidations"];
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::default();
        let log = TempStore::new();
        let store = log.open(clock.clone()).await;
        for (when, tasks) in [("off", &[][..]), ("idle", TASK), ("0 4 * * *", TASK)] {
            let consolidation =
                ConsolidationSettings { when: when.to_owned(), ..ConsolidationSettings::default() };
            let group = Group::new("test");
            start(&consolidation, store.clone(), Arc::new(NoRuns), &clock, &group).unwrap();
            assert_eq!(group.live_tasks(), tasks, "{when}");
            group.abort_tasks();
        }
    }

    #[test]
    fn times_reads_off_idle_and_cron() {
        let of = |when: &str| {
            let consolidation =
                ConsolidationSettings { when: when.to_owned(), ..ConsolidationSettings::default() };
            consolidation_times(&consolidation, Timestamp(0))
        };
        assert!(matches!(of("off"), Ok(None)));
        assert!(matches!(of("idle"), Ok(Some(ConsolidationTimes::Idle { least_new: 5, .. }))));
        assert!(matches!(of("30 4 * * *"), Ok(Some(ConsolidationTimes::At(_)))));
        for wrong in ["", "on", "nightly", "61 4 * * *", "30 4 * * * *"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn model_is_the_named_one_else_the_cheap_one_of_the_default_agent() {
        let of = |text: &str| {
            let document = ConfigDocument::parse(text.to_owned(), None, &|_| None).unwrap();
            model_name(&document.table::<ConfigSettings>("").unwrap()).to_owned()
        };
        let agents = "[agents.defaults]\nmodel = \"a/big\"\n";
        assert_eq!(of(agents), "a/big");
        let cheap = format!("{agents}cheap_model = \"a/cheap\"\n");
        assert_eq!(of(&cheap), "a/cheap");
        let own = format!("{cheap}[memory.consolidation]\nmodel = \"a/own\"\n");
        assert_eq!(of(&own), "a/own");
    }
}
