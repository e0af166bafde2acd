//! A fake calendar.

use avocet_protocol::clock::Timestamp;
use avocet_protocol::schedule::{Calendar, Recurrence, ScheduleRule, TimesRequest};

/// A calendar that knows minutes from now (`in` is a number), and cron expressions that stand for
/// every hour.
#[derive(Debug, Default)]
pub struct FakeCalendar;

impl Calendar for FakeCalendar {
    fn read(&self, times: &TimesRequest, now: Timestamp) -> Result<ScheduleRule, String> {
        let zone = times.zone.clone().unwrap_or_else(|| "UTC".to_owned());
        let recurrence = match (&times.after, &times.cron) {
            (Some(after), None) => {
                let minutes: i64 = after.parse().map_err(|_| format!("no minutes: {after}"))?;
                Recurrence::Once(Timestamp(now.0 + minutes * 60_000))
            }
            (None, Some(cron)) => Recurrence::Cron(cron.clone()),
            _ => return Err("give exactly one".to_owned()),
        };
        Ok(ScheduleRule { recurrence, zone })
    }

    fn next(
        &self,
        rule: &ScheduleRule,
        after: Timestamp,
        count: usize,
    ) -> Result<Vec<Timestamp>, String> {
        const HOUR: i64 = 3_600_000;
        Ok(match &rule.recurrence {
            Recurrence::Once(at) => Some(*at).filter(|at| *at > after).into_iter().collect(),
            _ => {
                let next = (after.0 / HOUR + 1..).map(|hour| Timestamp(hour * HOUR));
                next.take(count).collect()
            }
        })
    }

    fn words(&self, rule: &ScheduleRule, at: Timestamp) -> String {
        format!("{} ms ({})", at.0, rule.zone)
    }

    fn describe(&self, rule: &ScheduleRule) -> String {
        match &rule.recurrence {
            Recurrence::Once(_) => "once".to_owned(),
            Recurrence::Every { seconds, .. } => format!("every {seconds} s"),
            Recurrence::Cron(cron) => format!("cron {cron}"),
        }
    }
}
