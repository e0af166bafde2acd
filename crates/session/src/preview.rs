//! Shows the progress of a turn in its chat: typing, the text so far, and slow tools. Any of it may
//! be skipped, and it stops before the turn's end is written.
//!
//! ```text
//! turn                               shown in
//! of messages                        a message of its own, or a draft of the platform
//! a job's own turn                   the job's message, with its cost so far
//! a child that is waited for         a line in the message of the root turn (`board.rs`)
//! a task in the background           a message of its own (`progress.rs`)
//! a child of such a task             nothing
//! a schedule's turn, or its child     nothing: its report arrives as a message that notifies
//!
//! TurnEvent -> PreviewDraft | JobDraft -> text -> PreviewParts -> PartUpdate -> Screen -> chat
//!              when and what to show             which message       one at a time
//! ```
//!
//! **The end of the turn depends on the log**, because T5 turns the preview into the reply. So
//! `screen.rs` logs a row before it sends a new message, and logs the outcome at once. A preview
//! whose row says *sending* after a crash has an unknown outcome. One that is known stays, and the
//! next run of the turn goes on in the same message. Drafts have no row: the platform removes them
//! by itself.
//!
//! **A preview never delays a message.** It takes only spare turns of the rate limit
//! (`Channel::spare_turn`), and skips an update otherwise. The next one shows the newer text
//! anyway.
//!
//! **The order at the end.** The work ends, the preview waits for an update that is under way, and
//! only then the caller settles. An edit that arrives after the reply would overwrite it.
//!
//! **A panic here** is logged, and the answer goes on without the preview.

mod board;
mod draft;
mod draft_screen;
mod job;
mod parts;
mod progress;
mod screen;
mod state;
mod words;

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{ChatAddress, LoggedInbound};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::Preview as ShownPreview;
use avocet_protocol::store::{LineageTurn, task_name};
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{Origin, TurnEvent, TurnEvents, TurnRecord};
use avocet_supervise::{CaughtPanic, catch_panic};
use tokio_util::sync::CancellationToken;

use crate::SessionParts;
use crate::job_plan::ShownJob;
use crate::turn_facts::asker;
use board::BoardPreview;
use board::TaskBoards;
use draft::PreviewDraft;
use job::{JobDraft, cost_so_far};
use parts::{PartUpdate, PreviewParts};
pub(crate) use progress::{EndingProgress, LastProgress};
use progress::{ProgressMessages, ProgressPreview, end_progress, find_progress};
use screen::PreviewScreen;
use state::{PreviewState, ShowResult};
pub(crate) use words::{mark_stopped, mark_unfinished};

/// Interval of typing notifications. Telegram shows one for five seconds (Bot API, sendChatAction).
const TYPING_EVERY: Duration = Duration::from_secs(4);

/// Time after which an unchanged draft is shown again. Telegram removes a draft after 30 seconds (Bot
/// API, sendMessageDraft).
const DRAFT_REFRESH: Duration = Duration::from_secs(25);

/// Messages of a growing answer. The rest arrives at the end, because a very long answer becomes a file
/// and its other messages would be deleted.
const MOST_PREVIEW_MESSAGES: usize = 5;

/// Tries to show that a job waits, and the longest time between two of them.
const MOST_TRIES: u32 = 4;
const LONGEST_HOLD: Duration = Duration::from_secs(2);

/// A turn whose progress is shown.
#[derive(Clone, Copy)]
pub(crate) struct ShownTurn<'t> {
    pub(crate) turn: &'t TurnRecord,
    pub(crate) lineage: &'t [LineageTurn],
    /// For a child: the last message of the root turn.
    pub(crate) root: Option<&'t LoggedInbound>,
    /// The job whose own turn it is.
    pub(crate) job: Option<ShownJob>,
}

impl ShownTurn<'_> {
    /// Returns the turn whose message shows this turn: the root turn if it waits for this child, a
    /// task in the background itself. The children of such a task are not shown.
    fn shown_by(&self) -> Option<TurnId> {
        let (own, above) = self.lineage.split_first()?;
        let root = above.last().unwrap_or(own);
        if !own.mode.is_awaited() {
            return Some(own.turn);
        }
        above.iter().all(|turn| turn.mode.is_awaited()).then_some(root.turn)
    }
}

/// Shows the progress of turns in their chats.
#[derive(Debug)]
pub(crate) struct TurnDisplay {
    parts: SessionParts,
    /// The progress of children for which turns wait.
    boards: TaskBoards,
    progress: ProgressMessages,
}

impl TurnDisplay {
    pub(crate) fn new(parts: SessionParts) -> Self {
        Self { parts, boards: TaskBoards::default(), progress: ProgressMessages::default() }
    }

    /// Does the work of a turn while its chat sees the progress. The display has ended when this
    /// returns.
    pub(crate) async fn show_turn<T>(
        &self,
        shown: ShownTurn<'_>,
        work: impl Future<Output = T>,
    ) -> Result<T, CaughtPanic> {
        let over = CancellationToken::new();
        let work = async {
            let done = catch_panic(work).await;
            over.cancel();
            done
        };
        let ShownTurn { turn, root, job, .. } = shown;
        let to = asker(turn).or(root).zip(shown.shown_by());
        let in_chat = to.and_then(|(to, of)| {
            let chat = &to.message.inbound.address;
            Some((to, of, chat, self.parts.channels.channel_of(chat)?))
        });
        let Some((to, of, chat, channel)) = in_chat else { return work.await };
        let channel = &channel;
        let is_task = of == turn.id && matches!(turn.origin, Origin::Child { .. });
        let typing = catch_panic(async {
            // The chat can go on while a task works in the background.
            if !is_task {
                type_along(channel, chat, self.parts.clock.as_ref(), &over).await;
            }
        });
        // Subscribes before the work begins, so that no event is missed.
        let is_watched = is_task || to.message.session.schedule().is_none();
        let interval = channel.capabilities().preview_interval.filter(|_| is_watched);
        let preview = interval.and_then(|interval| {
            // A job changes its message later, and several turns share the message of a board.
            let may_draft = job.is_none() && matches!(turn.origin, Origin::Messages(_));
            let screen =
                PreviewScreen { parts: &self.parts, channel, turn: of, to, chat, may_draft };
            let events = self.parts.events.subscribe(&turn.session);
            Some(match &turn.origin {
                Origin::Messages(_) => {
                    TurnPreview::Own(PreviewWriter::new(screen, interval, events, job).into())
                }
                Origin::Child { .. } if is_task => {
                    let progress =
                        ProgressPreview::new(&self.progress, screen, turn, interval, events)?;
                    TurnPreview::Progress(progress.into())
                }
                Origin::Child { label, prompt, .. } => {
                    let name = task_name(label.as_deref(), prompt);
                    TurnPreview::OnBoard(
                        self.boards.add_child(screen, turn.id, name, interval, events),
                    )
                }
            })
        });
        let preview = catch_panic(async {
            match preview {
                Some(TurnPreview::Own(preview)) => preview.run(&over).await,
                Some(TurnPreview::Progress(preview)) => preview.run(&over).await,
                Some(TurnPreview::OnBoard(preview)) => preview.run(&over).await,
                None => {}
            }
        });
        let (done, typed, previewed) = tokio::join!(work, typing, preview);
        for error in [typed.err(), previewed.err()].into_iter().flatten() {
            tracing::error!(%error, "the preview or the typing sign panicked; the answer goes on without it");
        }
        done
    }

    /// Returns the progress message of a task in the background; `None` for other turns.
    pub(crate) async fn find_progress(
        &self,
        turn: &TurnRecord,
        chat: &ChatAddress,
    ) -> Option<EndingProgress> {
        find_progress(&self.parts, &self.progress, turn, chat).await
    }

    /// Lets the progress message of a task show why the task works no longer, which must be in the
    /// log already.
    pub(crate) async fn end_progress(&self, ending: EndingProgress, last: LastProgress) {
        end_progress(&self.parts, &self.progress, ending, last).await;
    }

    /// Shows in the preview message of a job that the job waits. Without such a message, the prompt
    /// of the wait tells it.
    pub(crate) async fn show_job_wait(
        &self,
        turn: &TurnRecord,
        to: &LoggedInbound,
        kind: WaitKind,
    ) {
        let chat = &to.message.inbound.address;
        let shown = turn.session.job().zip(self.parts.channels.channel_of(chat));
        let Some((id, channel)) = shown else { return };
        let (channel, turn_id) = (&channel, turn.id);
        let screen = PreviewScreen {
            parts: &self.parts,
            channel,
            turn: turn_id,
            to,
            chat,
            may_draft: false,
        };
        let text = job::waiting_line(id, kind);
        let Some(content) = words::first_message(|text| screen.plan_chunks(text), &text) else {
            return;
        };
        let outbox = &self.parts.outbox;
        let Ok(Some(_)) = outbox.preview(turn.id).await else { return };
        let Ok(ShownPreview::Shown(row, message)) =
            outbox.begin_preview(turn.id, 0, chat, &content).await
        else {
            return;
        };
        for _ in 0..MOST_TRIES {
            let state = PreviewState::In(row, message.clone());
            match screen.show_content(state, content.clone()).await.hold {
                Some(hold) => self.parts.clock.sleep(hold.min(LONGEST_HOLD)).await,
                None => return,
            }
        }
    }
}

/// Sends typing notifications, at once and at intervals.
async fn type_along(
    channel: &Arc<dyn Channel>,
    chat: &ChatAddress,
    clock: &dyn Clock,
    over: &CancellationToken,
) {
    loop {
        let typing = async { tokio::join!(channel.typing(chat), clock.sleep(TYPING_EVERY)) };
        tokio::select! {
            biased;
            () = over.cancelled() => return,
            _ = typing => {}
        }
    }
}

/// The preview of a root turn, the line of a child in it, or the message of a task in the
/// background.
enum TurnPreview<'l> {
    Own(Box<PreviewWriter<'l>>),
    Progress(Box<ProgressPreview<'l>>),
    OnBoard(BoardPreview<'l>),
}

/// The text of a preview: that of the model, or the progress of a job.
enum TurnDraft {
    Answer(PreviewDraft),
    Job(JobDraft),
}

impl TurnDraft {
    fn apply_event(&mut self, event: &TurnEvent, now: Duration) {
        match self {
            Self::Answer(draft) => draft.apply_event(event, now),
            Self::Job(draft) => draft.apply_event(event, now),
        }
    }

    fn next_update_at(&self) -> Option<Duration> {
        match self {
            Self::Answer(draft) => draft.next_update_at(),
            Self::Job(draft) => draft.next_update_at(),
        }
    }

    fn mark_missed(&mut self, now: Duration) {
        match self {
            Self::Answer(draft) => draft.mark_missed(),
            Self::Job(draft) => draft.mark_missed(now),
        }
    }

    fn delay_until(&mut self, until: Duration) {
        match self {
            Self::Answer(draft) => draft.delay_until(until),
            Self::Job(draft) => draft.delay_until(until),
        }
    }
}

struct PreviewWriter<'l> {
    screen: PreviewScreen<'l>,
    events: flume::Receiver<TurnEvent>,
    draft: TurnDraft,
    parts: PreviewParts,
    /// The time of the last update, shown or not.
    updated_at: Duration,
}

impl<'l> PreviewWriter<'l> {
    fn new(
        screen: PreviewScreen<'l>,
        interval: Duration,
        events: flume::Receiver<TurnEvent>,
        job: Option<ShownJob>,
    ) -> Self {
        let draft = match job {
            Some(job) => TurnDraft::Job(JobDraft::new(job, interval)),
            None => TurnDraft::Answer(PreviewDraft::new(interval)),
        };
        let parts = PreviewParts::new(screen.plan_chunks(words::GOES_ON).into_iter().next());
        Self { screen, events, draft, parts, updated_at: Duration::ZERO }
    }

    /// Follows the events and updates the preview until the turn is over. Waits for an update in
    /// progress.
    async fn run(mut self, over: &CancellationToken) {
        let screen = self.screen;
        let clock = screen.parts.clock.as_ref();
        let mut showing = None;
        loop {
            let due = self.next_change_at().filter(|_| showing.is_none());
            let next = async {
                match (&mut showing, due) {
                    (Some(showing), _) => Some(showing.await),
                    (None, Some(due)) => {
                        clock.sleep(due.saturating_sub(clock.elapsed())).await;
                        None
                    }
                    (None, None) => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = over.cancelled() => break,
                event = self.events.recv_async() => match event {
                    Ok(event) => self.take_event(&event, clock.elapsed()),
                    Err(flume::RecvError::Disconnected) => break,
                },
                showed = next => showing = match showed {
                    Some((part, showed)) => {
                        self.note_shown(part, &showed);
                        None
                    }
                    None => self.next_change(clock.elapsed()).await.map(|update| {
                        let part = update.part;
                        Box::pin(async move { (part, screen.update_part(update).await) })
                    }),
                },
            }
        }
        if let Some(showing) = showing {
            showing.await;
        }
    }

    fn take_event(&mut self, event: &TurnEvent, now: Duration) {
        self.draft.apply_event(event, now);
        if matches!(event, TurnEvent::Restarted | TurnEvent::Thinking { .. }) {
            // The rest of an earlier text is not shown.
            self.parts.set_wanted(Vec::new());
        }
    }

    /// Returns the time of the next update; `None` if the chat is up to date.
    fn next_change_at(&self) -> Option<Duration> {
        if self.parts.is_over() {
            return None;
        }
        let more = match &self.draft {
            TurnDraft::Answer(draft) => self.parts.next().map(|_| draft.not_before()),
            TurnDraft::Job(_) => None,
        };
        let fades = self.parts.in_draft().map(|_| self.updated_at + DRAFT_REFRESH);
        [self.draft.next_update_at(), more, fades].into_iter().flatten().min()
    }

    /// Returns the change to show now, if any.
    async fn next_change(&mut self, now: Duration) -> Option<PartUpdate> {
        let text = match &mut self.draft {
            TurnDraft::Answer(draft) => draft.next_text(now),
            TurnDraft::Job(draft) => {
                let cost = cost_so_far(self.screen.parts, self.screen.turn, self.screen.to).await;
                draft.next_line(now, &cost)
            }
        };
        match (text, &mut self.draft) {
            (Some(text), _) => {
                let mut wanted = self.screen.plan_chunks(&self.screen.in_short(text));
                wanted.truncate(MOST_PREVIEW_MESSAGES);
                wanted.retain(|content| !content.text.trim().is_empty());
                self.parts.set_wanted(wanted);
            }
            (None, TurnDraft::Answer(draft)) if draft.not_before() <= now => draft.goes_on(now),
            (None, _) => return None,
        }
        self.parts.next().or_else(|| self.draft_to_renew(now))
    }

    /// Returns the content of a draft that the platform is about to remove.
    fn draft_to_renew(&self, now: Duration) -> Option<PartUpdate> {
        let is_due = now >= self.updated_at + DRAFT_REFRESH;
        self.parts.in_draft().filter(|_| is_due).map(PartUpdate::of_draft)
    }

    fn note_shown(&mut self, part: usize, showed: &ShowResult) {
        self.parts.note_shown(part, showed);
        let now = self.screen.parts.clock.elapsed();
        self.updated_at = now;
        if showed.content.is_none() {
            self.draft.mark_missed(now);
        }
        if let Some(hold) = showed.hold {
            self.draft.delay_until(now + hold);
        }
    }
}
