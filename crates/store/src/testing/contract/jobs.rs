//! Rules of jobs.

use avocet_protocol::chat::{ChatAddress, InboundKind, NewInbound, Outcome};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DedupeKey, JobId};
use avocet_protocol::store::{
    JobChat, JobLimits, JobRules, JobState, JobStatus, NewJob, SubmittedJob,
};
use avocet_protocol::tool::WaitKind;

use super::Backend;
use super::world::{World, failure, message, new_wait, session};

fn rules(agent: &str) -> JobRules {
    JobRules { agent: agent.to_owned(), workspace: None, limits: JobLimits::default() }
}

/// A job that the chat `a` has asked for.
fn new_job(task: &str, chat: JobChat) -> NewJob {
    let message = message(&session("a"), task, InboundKind::Text);
    NewJob { message, chat, rules: rules("builder") }
}

async fn submit(world: &World<'_>, task: &str) -> SubmittedJob {
    world.ports.jobs.submit(&new_job(task, JobChat::Asking)).await.unwrap()
}

async fn status(world: &World<'_>, id: JobId) -> JobStatus {
    world.ports.jobs.job(id).await.unwrap().unwrap()
}

/// The row and the message of a job are committed together. Its key is used once among all jobs.
pub async fn submit_starts_a_session_and_absorbs_a_repeated_key(backend: &impl Backend) {
    let world = World::new(backend).await;
    let job = submit(&world, "add tests").await;
    assert_eq!((job.session.as_str(), job.is_duplicate), ("job:local:1", false));
    let world = world.restart().await;
    let again = submit(&world, "add tests").await;
    assert_eq!(again, SubmittedJob { is_duplicate: true, ..job.clone() });
    let open = world.ports.turns.open_sessions().await.unwrap();
    assert_eq!(open, std::slice::from_ref(&job.session));
    let turn = world.take(&job.session).await;
    let [asked] = turn.origin.messages() else { panic!("{turn:?}") };
    assert_eq!(asked.message.inbound.address, session("a").address(), "the reply goes to the chat");
    assert_eq!(world.ports.jobs.job_rules(&job.session).await.unwrap(), Some(rules("builder")));
    assert_eq!(world.ports.jobs.job_rules(&session("a")).await.unwrap(), None);
}

/// A job that no chat has asked for has a chat of the terminal.
pub async fn submit_without_a_chat_gives_the_job_a_chat_of_its_own(backend: &impl Backend) {
    let world = World::new(backend).await;
    let job = world.ports.jobs.submit(&new_job("add tests", JobChat::Own)).await.unwrap();
    assert_eq!(job.session.as_str(), "terminal:local:job-1");
    let chat: ChatAddress = "terminal:local:job-1".parse().unwrap();
    assert_eq!(status(&world, job.id).await.chat, chat);
    assert_eq!(world.ports.jobs.job_rules(&job.session).await.unwrap(), Some(rules("builder")));
}

/// The state follows from the message and its turn, and ends once.
pub async fn job_state_follows_its_turn_and_ends_once(backend: &impl Backend) {
    let world = World::new(backend).await;
    let [done, failed, dropped] =
        [submit(&world, "1").await, submit(&world, "2").await, submit(&world, "3").await];
    assert_eq!(status(&world, done.id).await.state, JobState::Queued);
    let turn = world.take(&done.session).await.id;
    assert_eq!(status(&world, done.id).await.state, JobState::Running);
    let call = world.step(turn, 0, &["exec_shell"]).await[0];
    world.wait(&new_wait(call, WaitKind::Approval, Timestamp(9))).await;
    let waiting = status(&world, done.id).await;
    assert_eq!((waiting.state, waiting.inference_runs), (JobState::Waiting, 1));

    let world = world.restart().await;
    assert_eq!(status(&world, done.id).await.state, JobState::Waiting);
    let turn = world.take(&failed.session).await.id;
    world.settle(turn, &failure("no budget")).await.unwrap();
    let ended = status(&world, failed.id).await;
    assert_eq!((ended.state, ended.result.as_deref()), (JobState::Failed, Some("no budget")));
    assert!(ended.ended_at.is_some());
    assert_eq!(world.ports.jobs.cancel_job(failed.id).await, Ok(None), "it ended before");

    let turn = world.take(&dropped.session).await.id;
    world.reply(turn, "all green").await;
    let ended = status(&world, dropped.id).await;
    assert_eq!((ended.state, ended.result.as_deref()), (JobState::Completed, Some("all green")));
}

/// A job can be cancelled in each state that is not its end.
pub async fn cancel_job_ends_a_queued_running_or_waiting_job(backend: &impl Backend) {
    let world = World::new(backend).await;
    let queued = submit(&world, "1").await;
    assert_eq!(world.ports.jobs.cancel_job(queued.id).await, Ok(Some(Vec::new())));
    assert_eq!(status(&world, queued.id).await.state, JobState::Cancelled);
    assert_eq!(world.outcome(queued.message).await, Some(Outcome::Stopped));

    let running = submit(&world, "2").await;
    let turn = world.take(&running.session).await.id;
    assert_eq!(world.ports.jobs.cancel_job(running.id).await, Ok(Some(vec![turn])));
    let world = world.restart().await;
    assert_eq!(status(&world, running.id).await.state, JobState::Cancelled);
    assert_eq!(world.ports.jobs.cancel_job(running.id).await, Ok(None));
    assert_eq!(world.ports.jobs.cancel_job(JobId(99)).await, Ok(None));
    assert!(world.ports.turns.open_sessions().await.unwrap().is_empty());
}

/// The list begins with the newest job and continues behind a given one.
pub async fn jobs_lists_the_newest_first_by_page(backend: &impl Backend) {
    let world = World::new(backend).await;
    let mut ids = Vec::new();
    for task in ["1", "2", "3"] {
        let key = DedupeKey::parse(task).unwrap();
        let job = new_job(task, JobChat::Asking);
        let inbound = avocet_protocol::chat::Inbound { key, ..job.message.inbound.clone() };
        let message = NewInbound { inbound, ..job.message };
        ids.push(world.ports.jobs.submit(&NewJob { message, ..job }).await.unwrap().id);
    }
    let page = async |limit, before| {
        let jobs = world.ports.jobs.jobs(limit, before).await.unwrap();
        jobs.iter().map(|job| job.id).collect::<Vec<_>>()
    };
    assert_eq!(page(2, None).await, [ids[2], ids[1]]);
    assert_eq!(page(2, Some(ids[1])).await, [ids[0]]);
}
