//! Runs of scheduled tasks: silence without news, reports, and lost access.

use avocet_protocol::access::Trust;
use avocet_protocol::bus::WakeLanes;
use avocet_protocol::chat::{ChatKind, Inbound, InboundKind, NewInbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{ScheduleId, SenderId};
use avocet_protocol::schedule::{
    CatchUp, NewSchedule, Recurrence, ScheduleOwner, SchedulePlan, ScheduleRule, ScheduleState,
    ScheduledWork,
};
use avocet_protocol::store::{DueClaim, DueRun, DueWork, Schedules};
use avocet_testkit::{Scripted, ScriptedModel};

use super::*;

fn plan(quiet: bool) -> SchedulePlan {
    let recurrence = Recurrence::Every { seconds: 60, from: Timestamp(0) };
    SchedulePlan {
        rule: ScheduleRule { recurrence, zone: "UTC".to_owned() },
        work: ScheduledWork::Task("look".to_owned()),
        agent: None,
        catch_up: CatchUp::Once,
        quiet,
        next_at: Timestamp(0),
    }
}

impl SessionHarness {
    /// Adds a schedule of `sender` for a chat of this kind.
    pub(super) async fn scheduled(&self, quiet: bool, sender: &str, chat: ChatKind) -> ScheduleId {
        let sender = Sender::new(sender.parse().unwrap());
        let owner =
            ScheduleOwner { address: session("a").address(), chat, sender, roles: Vec::new() };
        let new = NewSchedule { name: None, owner, plan: plan(quiet), trust: Trust::Full };
        self.store.add_schedule(&new, None).await.unwrap()
    }

    /// Claims the next time of a schedule as the runner does, and waits for the end of its turn.
    pub(super) async fn runs(&self, id: ScheduleId) {
        self.begins(id).await;
        let session = SessionId::of_schedule(id);
        let is_done = async || {
            let status = self.store.session_status(&session).await.unwrap();
            status.queued == 0 && status.open.is_none()
        };
        while !is_done().await {
            tokio::task::yield_now().await;
        }
        self.sent().await;
    }

    /// Claims the next time of a schedule as the runner does.
    async fn begins(&self, id: ScheduleId) {
        let schedule = self.store.schedule(id).await.unwrap().unwrap();
        let due = schedule.next_at.unwrap();
        let owner = schedule.owner;
        let key = format!("schedule:{}:{}", id.0, due.0).parse().unwrap();
        let content = Content::text("look");
        let inbound = Inbound::new(owner.address, owner.sender, key, content);
        let message = NewInbound {
            session: SessionId::of_schedule(id),
            kind: InboundKind::Text,
            inbound: Inbound { chat: owner.chat, ..inbound },
            removed: 0,
            trust: schedule.trust,
        };
        let work = DueWork::Task(Box::new(message));
        let runs = vec![DueRun { due, work, skipped: 0 }];
        let next_at = Some(Timestamp(due.0 + 60_000));
        let claim = DueClaim { id, expected: Some(due), runs, next_at };
        assert!(self.store.claim_due(&claim).await.unwrap());
        self.bus.wake_lane(SessionId::of_schedule(id));
    }
}

#[tokio::test]
async fn scheduled_task_without_news_is_silent() {
    let answers = ["rain", "rain", "**NOTHING_NEW**.", "HEARTBEAT_OK", "rain", "sun", "rain"];
    for (quiet, expected) in [(true, vec!["rain", "sun", "rain"]), (false, answers.to_vec())] {
        let model = ScriptedModel::new(answers.map(Scripted::says).to_vec());
        let harness = SessionHarness::new(model).await;
        let id = harness.scheduled(quiet, "me", ChatKind::Private).await;
        for _ in answers {
            harness.runs(id).await;
        }
        assert_eq!(harness.channel.texts(expected.len()).await, expected, "quiet: {quiet}");
        let turns = harness.store.transcript(&SessionId::of_schedule(id), 10).await.unwrap();
        assert!(turns.iter().all(|turn| turn.notice.is_none()));
        assert_eq!(turns.len(), answers.len());
        assert_eq!(harness.model.requests().len(), answers.len());
    }
}

/// The person can talk about the report of a task in the chat.
#[tokio::test]
async fn scheduled_report_is_known_to_the_session_of_its_chat() {
    let model = ScriptedModel::new(vec![Scripted::says("It rains."), Scripted::says("Yes.")]);
    let harness = SessionHarness::new(model).await;
    let id = harness.scheduled(true, "me", ChatKind::Group).await;
    harness.runs(id).await;
    harness.say("really?").await;
    let requests = harness.asked(2).await;
    let note = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(note.contains("from schedule:local:1 to this chat") && note.contains("It rains."));
    let sent = harness.channel.taken(1).await;
    assert!(sent[0].content.reply_to.is_none(), "the platform does not know the message");
    assert_eq!(sent[0].content.notifies.as_ref().map(SenderId::as_str), Some("me"));
}

#[tokio::test]
async fn scheduled_task_of_a_person_without_access_is_dropped_and_paused() {
    let setup = Setup { allow: users(&["me"]), ..Setup::default() };
    let harness = SessionHarness::with(ScriptedModel::new(Vec::new()), setup).await;
    let id = harness.scheduled(true, "gone", ChatKind::Private).await;
    harness.runs(id).await;
    let schedule = harness.store.schedule(id).await.unwrap().unwrap();
    assert_eq!(schedule.state, ScheduleState::Paused);
    assert!(schedule.reason.unwrap().contains("gone may not speak"));
    assert_eq!(harness.model.requests().len(), 0);
    assert!(harness.channel.texts(1).await[0].starts_with("You may no longer speak"));
}

/// A question of a run is answered in the chat of its schedule, even after a restart, and what was
/// said before it stays a message of the chat.
#[tokio::test]
async fn scheduled_question_takes_the_next_text_of_its_chat_as_answer() {
    let asks = Scripted::calls(&[("ask", json!({}))]);
    let harness = SessionHarness::new(ScriptedModel::new(vec![asks])).await;
    let id = harness.scheduled(true, "me", ChatKind::Private).await;
    harness.begins(id).await;
    let asked = harness.channel.texts(1).await;
    assert_eq!(asked, ["The scheduled task s1 asks:\n\nWhat colour?"]);
    harness.sent().await;
    let model = ScriptedModel::new(vec![Scripted::says("blue it is"), Scripted::says("Hello.")]);
    let harness = harness.restart(model).await;
    let answer = harness.say("blue").await;
    assert_eq!(harness.channel.texts(2).await[1], "blue it is");
    let result = serde_json::to_string(&harness.asked(1).await[0].messages).unwrap();
    assert!(result.contains("blue"), "{result}");
    harness.idle().await;
    assert_eq!(harness.outcome(answer).await, Some(Outcome::Merged));
    // The next text belongs to the chat again.
    harness.say("hello").await;
    assert_eq!(harness.channel.texts(3).await[2], "Hello.");
}

/// A call of a run that needs an approval is decided in the chat of its schedule.
#[tokio::test]
async fn scheduled_approval_is_decided_in_its_chat() {
    for (says, runs) in [("/approve", 1), ("/deny", 0)] {
        let calls = Scripted::calls(&[("dangerous", json!({}))]);
        let model = ScriptedModel::new(vec![calls, Scripted::says("done")]);
        let harness = SessionHarness::new(model).await;
        let id = harness.scheduled(true, "me", ChatKind::Private).await;
        harness.begins(id).await;
        let asked = harness.channel.texts(1).await;
        assert!(asked[0].starts_with("The scheduled task s1 asks:\n\n"), "{asked:?}");
        harness.sent().await;
        harness.say(says).await;
        harness.channel.shows(|texts| texts.last().is_some_and(|last| last == "done")).await;
        assert_eq!(harness.tools.runs("dangerous"), runs, "{says}");
    }
}
