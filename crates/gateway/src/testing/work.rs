//! One job, one task and one dead letter.

use async_trait::async_trait;
use avocet_protocol::bus::{Publish, PublishError};
use avocet_protocol::chat::{Content, Inbound, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{DeliveryId, JobId, MessageId, TurnId};
use avocet_protocol::job::{JobControl, JobRequest};
use avocet_protocol::store::{
    AcceptedAs, CancelledTask, DeadId, DeadLetter, DeadLetters, DeadPage, DeadReason, JobLimits,
    JobRules, JobState, JobStatus, RetriedLetter, StopControl, StoreError, SubmittedJob, TaskPage,
    TaskView, Tasks, Total,
};
use avocet_protocol::tool::ChildMode;
use avocet_protocol::turn::TurnState;

use super::{FakeDaemon, KEY, session};

/// The only dead letter.
pub const DEAD: DeadId = DeadId::Delivery(DeliveryId(7));

/// The number of the fake's only job.
pub const JOB: JobId = JobId(3);

fn job() -> JobStatus {
    JobStatus {
        id: JOB,
        state: JobState::Running,
        task: format!("use {KEY}"),
        rules: JobRules {
            agent: "builder".to_owned(),
            workspace: None,
            limits: JobLimits::default(),
        },
        chat: session().address(),
        submitted_by: "uid:0".to_owned(),
        submitted_at: Timestamp(1),
        session: session(),
        turn: Some(TurnId(1)),
        started_at: Some(Timestamp(2)),
        ended_at: None,
        inference_runs: 1,
        usage: Total::default(),
        result: None,
    }
}

#[async_trait]
impl JobControl for FakeDaemon {
    async fn submit_job(&self, request: JobRequest) -> Result<SubmittedJob, PublishError> {
        if let Some(refusal) = self.refusal.lock().clone() {
            return Err(refusal);
        }
        let inbound = Inbound::new(
            session().address(),
            request.sender,
            request.key,
            Content::text(request.task),
        );
        let is_duplicate = self.publish(inbound, None).await?.what == AcceptedAs::Duplicate;
        Ok(SubmittedJob { id: JOB, message: MessageId(1), session: session(), is_duplicate })
    }

    async fn list_jobs(&self, _: u32, before: Option<JobId>) -> Result<Vec<JobStatus>, StoreError> {
        Ok(if before.is_none() { vec![job()] } else { Vec::new() })
    }

    async fn find_job(&self, id: JobId) -> Result<Option<JobStatus>, StoreError> {
        Ok((id == JOB).then(job))
    }

    async fn end_job(&self, _: JobId) -> Result<bool, StoreError> {
        Ok(false)
    }
}

#[async_trait]
impl StopControl for FakeDaemon {
    async fn stop_everything(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    async fn resume_everything(&self) -> Result<bool, StoreError> {
        Ok(false)
    }
}

#[async_trait]
impl DeadLetters for FakeDaemon {
    async fn dead_letters(&self, page: DeadPage) -> Result<Vec<DeadLetter>, StoreError> {
        let first = self.dead_letter(DEAD).await?.filter(|_| page.after.is_none());
        Ok(first.into_iter().collect())
    }

    async fn dead_letter(&self, id: DeadId) -> Result<Option<DeadLetter>, StoreError> {
        let letter = DeadLetter {
            id,
            reason: DeadReason::Refused,
            chat: session().address(),
            at: Timestamp(5),
            turn: Some(TurnId(11)),
            attempts: 1,
            error: Some("refused".to_owned()),
            summary: format!("“use the key {KEY}”"),
            text: format!("use the key {KEY}"),
        };
        Ok((id == DEAD).then_some(letter))
    }

    async fn retry_dead_letter(&self, id: DeadId) -> Result<Option<RetriedLetter>, StoreError> {
        Ok((id == DEAD).then(|| RetriedLetter::Delivery(session().address())))
    }

    async fn drop_dead_letter(&self, id: DeadId) -> Result<bool, StoreError> {
        Ok(id == DEAD)
    }
}

#[async_trait]
impl Tasks for FakeDaemon {
    async fn reserve_task(&self) -> Result<TurnId, StoreError> {
        Ok(TurnId(1))
    }
    async fn tasks(
        &self,
        of: Option<&SessionId>,
        page: TaskPage,
    ) -> Result<Vec<TaskView>, StoreError> {
        let is_of_it = of.is_none_or(|of| *of == session()) && page.before.is_none();
        Ok(self.task(TurnId(12)).await?.into_iter().filter(|_| is_of_it).collect())
    }
    async fn task(&self, id: TurnId) -> Result<Option<TaskView>, StoreError> {
        let view = TaskView {
            id,
            parent: TurnId(11),
            session: session(),
            own_session: "spawn:t11:s0c0".parse().unwrap(),
            label: Some("survey".to_owned()),
            task: format!("use the key {KEY}"),
            agent: None,
            mode: ChildMode::Background,
            state: TurnState::Running,
            waits_for: None,
            started_at: Timestamp(5),
            ended_at: None,
            steps: 2,
            total: Total::default(),
            result: None,
        };
        Ok((id == TurnId(12)).then_some(view))
    }
    async fn cancel_task(&self, id: TurnId) -> Result<Option<CancelledTask>, StoreError> {
        Ok((id == TurnId(12)).then(|| CancelledTask { turns: vec![id], parent: None }))
    }
}
