//! Consolidation of memories, as the configuration wants it.

use std::sync::Arc;
use std::time::Duration;

use avocet_agent::{ABOUT_MARKS, Marks, UpkeepMeter};
use avocet_config::{AgentDefaults, ConfigError, ConsolidationSettings, Document, Settings};
use avocet_jobs::{ConsolidationTimer, ConsolidationTimes, ScheduleTimes, ZoneCalendar};
use avocet_memory::{Consolidator, ConsolidatorLimits, ConsolidatorParts, MarkUntrusted};
use avocet_protocol::{
    Calendar as _, Clock, Consolidate, Consolidations, Models as _, TimesRequest, Timestamp,
};
use avocet_store::SqliteStore;
use avocet_supervise::Group;
use jiff::tz::TimeZone;

use crate::budgets::budgets;
use crate::exit::{Exit, Failure};
use crate::models::Models;
use crate::places::Configuration;

const WHEN: &str = "memory.consolidation.when";

/// Checks the key `when`.
pub(crate) fn check(
    document: &Document,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), ConfigError> {
    let times = times(&settings.memory.consolidation, now);
    times.map(drop).map_err(|error| document.error_at(WHEN, format!("`{WHEN}`: {error}")))
}

/// Returns the times of regular runs; `None` if they are off.
fn times(
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
            let rule = ZoneCalendar::new(&TimeZone::system()).read(&request, now)?;
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
pub(crate) fn model(settings: &Settings) -> &str {
    let AgentDefaults { model, cheap_model, .. } = &settings.agents.defaults;
    let own = settings.memory.consolidation.model.as_ref();
    own.or(cheap_model.as_ref()).unwrap_or(model)
}

/// The budgets of the day for work without a conversation.
pub(crate) fn upkeep(
    settings: &Settings,
    store: &Arc<SqliteStore>,
    clock: &Arc<dyn Clock>,
) -> Arc<UpkeepMeter> {
    Arc::new(UpkeepMeter::new(budgets(&settings.budgets), store.clone(), clock.clone()))
}

/// Makes the consolidator. It asks its model only if it is called.
pub(crate) fn consolidator(
    configuration: &Configuration,
    models: &Models,
    store: &Arc<SqliteStore>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<Consolidator>, Failure> {
    let settings = &configuration.settings;
    let ConsolidationSettings { max_memories, max_tokens, max_runs_per_day, .. } =
        settings.memory.consolidation;
    let model = models.model(model(settings), &[]);
    let parts = ConsolidatorParts {
        log: store.clone(),
        model: model.map_err(|error| Failure::new(Exit::Configuration, error.to_string()))?,
        budget: upkeep(settings, store, clock),
        marks: Arc::new(RequestMarks(Marks::new(uuid::Uuid::new_v4().as_u64_pair().0))),
        clock: clock.clone(),
        zone: TimeZone::system(),
    };
    let limits = ConsolidatorLimits {
        memories: max_memories,
        tokens: max_tokens,
        runs_a_day: max_runs_per_day,
    };
    Ok(Arc::new(Consolidator::new(parts, limits)))
}

/// Starts regular runs, unless they are off.
pub(crate) fn start(
    consolidation: &ConsolidationSettings,
    log: Arc<dyn Consolidations>,
    work: Arc<dyn Consolidate>,
    clock: &Arc<dyn Clock>,
    group: &Group,
) -> Result<(), Failure> {
    let times = times(consolidation, clock.now());
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
    fn about(&self) -> &'static str {
        ABOUT_MARKS
    }

    fn mark(&self, place: &str, text: &str) -> String {
        self.0.foreign(place, "memory", text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use avocet_protocol::{
        Backlog, ChangedMemory, ConsolidateError, ConsolidateRequest, ConsolidationEnd,
        ConsolidationId, ConsolidationReport, EditRefused, Memory, MemoryChangeId, MemoryScope,
        NewConsolidation, StoreError,
    };
    use avocet_testkit::ManualClock;

    use super::*;

    /// Memories that always have enough to consolidate. Counts the runs.
    #[derive(Debug, Default)]
    struct Waiting(AtomicUsize);

    #[async_trait]
    impl Consolidations for Waiting {
        async fn backlogs(&self) -> Result<Vec<Backlog>, StoreError> {
            let scope = MemoryScope::Everyone;
            Ok(vec![Backlog { scope, memories: 99, failed_at: None }])
        }
        async fn backlog_of(
            &self,
            _: &MemoryScope,
            _: u32,
        ) -> Result<Vec<ChangedMemory>, StoreError> {
            Ok(Vec::new())
        }
        async fn related_memories(
            &self,
            _: &MemoryScope,
            _: &str,
            _: u32,
        ) -> Result<Vec<Memory>, StoreError> {
            Ok(Vec::new())
        }
        async fn begin_consolidation(
            &self,
            _: &NewConsolidation,
        ) -> Result<Option<ConsolidationId>, StoreError> {
            Ok(None)
        }
        async fn end_consolidation(
            &self,
            _: ConsolidationId,
            _: &ConsolidationEnd,
        ) -> Result<Vec<Result<Vec<MemoryChangeId>, EditRefused>>, StoreError> {
            Ok(Vec::new())
        }
        async fn consolidations(
            &self,
            _: u32,
        ) -> Result<Vec<avocet_protocol::Consolidation>, StoreError> {
            Ok(Vec::new())
        }
        async fn last_message(&self) -> Result<Option<Timestamp>, StoreError> {
            Ok(None)
        }
        async fn memories_changed(&self) {
            std::future::pending::<()>().await;
        }
    }

    #[async_trait]
    impl Consolidate for Waiting {
        async fn consolidate(
            &self,
            _: &ConsolidateRequest,
        ) -> Result<Vec<ConsolidationReport>, ConsolidateError> {
            Ok(Vec::new())
        }
        async fn consolidate_due(
            &self,
            scope: &MemoryScope,
        ) -> Result<ConsolidationReport, ConsolidateError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            let (scope, edits) = (scope.clone(), Vec::new());
            Ok(ConsolidationReport { scope, shown: 1, edits, error: None })
        }
    }

    #[tokio::test]
    async fn f19_consolidation_that_is_off_never_asks_and_never_wakes() {
        for (when, expected) in [("off", 0), ("idle", 1), ("0 4 * * *", 0)] {
            let (waiting, clock) = (Arc::<Waiting>::default(), Arc::<ManualClock>::default());
            let consolidation =
                ConsolidationSettings { when: when.to_owned(), ..ConsolidationSettings::default() };
            let group = Group::new("test");
            let (log, work) = (waiting.clone(), waiting.clone());
            let of_times: Arc<dyn Clock> = clock.clone();
            start(&consolidation, log, work, &of_times, &group).unwrap();
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let wakes = clock.advance_to_next();
            assert_eq!(wakes, when != "off", "{when}: a timer only if it is on");
            assert_eq!(waiting.0.load(Ordering::SeqCst), expected, "{when}: at the start");
            group.cancel();
        }
    }

    #[test]
    fn times_reads_off_idle_and_cron() {
        let of = |when: &str| {
            let consolidation =
                ConsolidationSettings { when: when.to_owned(), ..ConsolidationSettings::default() };
            times(&consolidation, Timestamp(0))
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
            let document = Document::parse(text.to_owned(), None, &|_| None).unwrap();
            model(&document.table::<Settings>("").unwrap()).to_owned()
        };
        let agents = "[agents.defaults]\nmodel = \"a/big\"\n";
        assert_eq!(of(agents), "a/big");
        let cheap = format!("{agents}cheap_model = \"a/cheap\"\n");
        assert_eq!(of(&cheap), "a/cheap");
        let own = format!("{cheap}[memory.consolidation]\nmodel = \"a/own\"\n");
        assert_eq!(of(&own), "a/own");
    }
}
