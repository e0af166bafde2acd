//! Spoken answers: the recording of an answer beside its text.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use avocet_agent::{AgentLoop, TurnEnd, UsageMeter};
use avocet_protocol::chat::{Attachment, AttachmentKind, Content, LoggedInbound, Planned};
use avocet_protocol::model::{AudioError, Speak, VoiceMode};
use avocet_protocol::store::{Answer, Purpose, StoreError};
use avocet_protocol::turn::TurnRecord;
use avocet_supervise::fail_point::{FailMoment, pass_in_task};
use parking_lot::Mutex;

use crate::SessionParts;
use crate::spoken::{SpokenAnswers, spoken_text};
use crate::turn_facts::asker;

/// The first bytes of a recording.
const OGG: &[u8] = b"OggS";

/// Time without recordings after a failure of the speech server, whose timeout delays an answer.
const SPEECH_PAUSE: Duration = Duration::from_mins(1);

/// The end of the pause after a failure of the speech server, as a time of `Clock::elapsed`.
#[derive(Debug, Default)]
pub(crate) struct SpeechPause(Mutex<Duration>);

impl SpeechPause {
    fn begin(&self, now: Duration) {
        *self.0.lock() = now + SPEECH_PAUSE;
    }

    fn is_over(&self, now: Duration) -> bool {
        *self.0.lock() <= now
    }
}

/// Returns the recording of the answer to a message, if the chat wants one. A failure is only
/// logged, because the chat gets the text.
pub(crate) async fn record_answer(
    parts: &SessionParts,
    pause: &SpeechPause,
    turn: &TurnRecord,
    agent: &AgentLoop,
    end: &TurnEnd,
    meter: &UsageMeter,
) -> Result<Option<Attachment>, StoreError> {
    let Some(SpokenAnswers { speak, when }) = &parts.spoken else { return Ok(None) };
    let (TurnEnd::Answered(answer), Some(_)) = (end, asker(turn)) else { return Ok(None) };
    if turn.session.schedule().is_some() || turn.session.job().is_some() {
        return Ok(None);
    }
    let status = parts.with_retry(|| parts.query.session_status(&turn.session)).await?;
    let is_wanted = match status.voice.unwrap_or(*when) {
        VoiceMode::On => true,
        VoiceMode::Off => false,
        VoiceMode::Auto => turn.origin.messages().iter().any(has_voice),
    };
    let text = spoken_text(&answer.text, speak.max_characters()).filter(|_| is_wanted);
    let Some(text) = text else { return Ok(None) };
    let recording =
        AnswerRecorder { parts, pause, turn, agent, answer, speak: speak.as_ref(), meter };
    recording.record(&text).await
}

/// Adds a message with the recording of an answer below its text.
pub(crate) fn add_recording(
    parts: &SessionParts,
    reply: Option<Planned>,
    to: &LoggedInbound,
    voice: Attachment,
) -> Option<Planned> {
    let content = Content { attachments: vec![voice], ..Content::default() };
    let voice = parts.plan_message(to, &content);
    match reply {
        Some(reply) => Some(followed_by(reply, voice)),
        None => voice,
    }
}

fn has_voice(message: &LoggedInbound) -> bool {
    let mut files = message.message.inbound.content.own_files();
    files.any(|file| file.kind == AttachmentKind::Voice)
}

/// Records the answer of one turn.
struct AnswerRecorder<'t> {
    parts: &'t SessionParts,
    pause: &'t SpeechPause,
    turn: &'t TurnRecord,
    agent: &'t AgentLoop,
    answer: &'t Answer,
    speak: &'t dyn Speak,
    meter: &'t UsageMeter,
}

impl AnswerRecorder<'_> {
    /// Returns the recording, a file in the workspace. A turn that resumes after a crash uses the
    /// file of its earlier run, if the answer is the same.
    async fn record(&self, text: &str) -> Result<Option<Attachment>, StoreError> {
        let path = Attachment::recording_path(self.turn.id, text_fingerprint(text));
        let bytes = match self.find_recording(&path).await {
            Some(bytes) => {
                if !self.is_paid().await? {
                    // The crash of the earlier run has lost this entry.
                    self.meter.add_usage(Purpose::Speech, &self.speak.cost(text));
                }
                bytes
            }
            None if !self.pause.is_over(self.parts.clock.elapsed()) => {
                tracing::debug!("an answer is not spoken: the speech server has just failed");
                return Ok(None);
            }
            None => {
                let is_unpriced = std::future::ready(self.speak.cost(text).cost.is_none());
                if self.agent.used_up(self.meter, is_unpriced).await?.is_some() {
                    return Ok(None);
                }
                match self.make_recording(&path, text).await {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        tracing::warn!(
                            error,
                            "an answer is not spoken; the chat gets its text. `avocet doctor` checks \
                             [speech]"
                        );
                        return Ok(None);
                    }
                }
            }
        };
        Ok(Some(Attachment::recording(path, bytes)))
    }

    /// Returns `true` if the ledger has the cost of a recording of this turn.
    async fn is_paid(&self) -> Result<bool, StoreError> {
        let ledger = &self.parts.ledger;
        ledger.has_usage(self.turn.id, Purpose::Speech).await
    }

    /// Returns the size of a recording that exists.
    async fn find_recording(&self, path: &str) -> Option<u64> {
        let start = self.agent.files.start_of(path, OGG.len() as u64).await.ok()??;
        (start.bytes == OGG).then_some(start.size)
    }

    /// Makes the recording and returns its size.
    async fn make_recording(&self, path: &str, text: &str) -> Result<u64, String> {
        let recording = self.speak.speak(text).await.map_err(|error| {
            if matches!(error, AudioError::Failed(_)) {
                self.pause.begin(self.parts.clock.elapsed());
            }
            error.to_string()
        })?;
        self.meter.add_usage(Purpose::Speech, &self.speak.cost(text));
        let bytes = recording.len() as u64;
        let written = self.agent.files.write(path, recording, self.answer.trust).await;
        written.map_err(|error| format!("the recording cannot be saved: {error}"))?;
        pass_in_task("speak", FailMoment::After).await;
        Ok(bytes)
    }
}

/// Adds the chunks of a recording below those of a reply.
fn followed_by(mut planned: Planned, recording: Option<Planned>) -> Planned {
    let below = recording.into_iter().flat_map(|recording| recording.chunks);
    planned.chunks.extend(below.map(|chunk| Content { reply_to: None, ..chunk }));
    planned
}

/// Returns a number that differs between texts. Another build may return another number for the same
/// text, which is then spoken once more.
pub(crate) fn text_fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
