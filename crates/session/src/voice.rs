//! Spoken answers: the recording of an answer beside its text, and `/voice`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use avocet_agent::{AgentLoop, TurnEnd, UsageMeter};
use avocet_protocol::{
    Answer, Attachment, AttachmentKind, CommandAction, Content, LoggedInbound, Planned, Purpose,
    SessionId, Speak, SpeakError, StoreError, TurnRecord, VoiceMode,
};
use avocet_supervise::fail_point::{FailMoment, pass_in_task};

use crate::commands::CommandPlan;
use crate::lane::Lanes;
use crate::run_turn::asker;
use crate::settle::followed_by;
use crate::spoken::spoken;

/// The first bytes of a recording.
const OGG: &[u8] = b"OggS";

/// Time without recordings after a failure of the speech server, whose timeout delays an answer.
const SPEECH_PAUSE: Duration = Duration::from_mins(1);

/// The end of the pause after a failure of the speech server, as a time of `Clock::elapsed`.
#[derive(Debug, Default)]
pub(crate) struct SpeechPause(Mutex<Duration>);

impl SpeechPause {
    fn begin(&self, now: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now + SPEECH_PAUSE;
    }

    fn is_over(&self, now: Duration) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) <= now
    }
}

/// The settings of spoken answers.
#[derive(Debug, Clone)]
pub struct SpokenAnswers {
    /// Makes the recordings.
    pub speak: Arc<dyn Speak>,
    /// The mode of sessions in which nobody has chosen one.
    pub when: VoiceMode,
}

impl Lanes {
    /// Returns the recording of the answer to a message, if the chat wants one. A failure is only
    /// logged, because the chat gets the text.
    pub(crate) async fn voice_of(
        &self,
        turn: &TurnRecord,
        agent: &AgentLoop,
        end: &TurnEnd,
        meter: &UsageMeter,
    ) -> Result<Option<Attachment>, StoreError> {
        let Some(SpokenAnswers { speak, when }) = &self.parts.spoken else { return Ok(None) };
        let (TurnEnd::Answered(answer), Some(_)) = (end, asker(turn)) else { return Ok(None) };
        if turn.session.schedule().is_some() || turn.session.job().is_some() {
            return Ok(None);
        }
        let status = self.with_retry(|| self.parts.query.session_status(&turn.session)).await?;
        let is_wanted = match status.voice.unwrap_or(*when) {
            VoiceMode::On => true,
            VoiceMode::Off => false,
            VoiceMode::Auto => turn.origin.messages().iter().any(has_voice),
        };
        let text = spoken(&answer.text, speak.max_characters()).filter(|_| is_wanted);
        let Some(text) = text else { return Ok(None) };
        let recording = Recorder { lanes: self, turn, agent, answer, speak: speak.as_ref(), meter };
        recording.record(&text).await
    }

    /// Adds a message with the recording of an answer below its text.
    pub(crate) fn with_voice(
        &self,
        reply: Option<Planned>,
        to: &LoggedInbound,
        voice: Attachment,
    ) -> Option<Planned> {
        let content = Content { attachments: vec![voice], ..Content::default() };
        let voice = self.plan(to, &content);
        match reply {
            Some(reply) => Some(followed_by(reply, voice)),
            None => voice,
        }
    }
}

fn has_voice(message: &LoggedInbound) -> bool {
    let attachments = &message.message.inbound.content.attachments;
    attachments.iter().any(|attachment| attachment.kind == AttachmentKind::Voice)
}

/// Records the answer of one turn.
struct Recorder<'t> {
    lanes: &'t Lanes,
    turn: &'t TurnRecord,
    agent: &'t AgentLoop,
    answer: &'t Answer,
    speak: &'t dyn Speak,
    meter: &'t UsageMeter,
}

impl Recorder<'_> {
    /// Returns the recording, a file in the workspace. A turn that resumes after a crash uses the
    /// file of its earlier run, if the answer is the same.
    async fn record(&self, text: &str) -> Result<Option<Attachment>, StoreError> {
        let path = Attachment::recording_path(self.turn.id, fingerprint(text));
        let bytes = match self.found(&path).await {
            Some(bytes) => {
                if !self.is_paid().await? {
                    // The crash of the earlier run has lost this entry.
                    self.meter.add(Purpose::Speech, &self.speak.cost(text));
                }
                bytes
            }
            None if !self.lanes.speech_pause.is_over(self.lanes.parts.clock.elapsed()) => {
                tracing::debug!("an answer is not spoken: the speech server has just failed");
                return Ok(None);
            }
            None => {
                let is_unpriced = std::future::ready(self.speak.cost(text).cost.is_none());
                if self.agent.used_up(self.meter, is_unpriced).await?.is_some() {
                    return Ok(None);
                }
                match self.make(&path, text).await {
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
        let ledger = &self.lanes.parts.ledger;
        ledger.has_usage(self.turn.id, Purpose::Speech).await
    }

    /// Returns the size of a recording that exists.
    async fn found(&self, path: &str) -> Option<u64> {
        let start = self.agent.files.start_of(path, OGG.len() as u64).await.ok()??;
        (start.bytes == OGG).then_some(start.size)
    }

    /// Makes the recording and returns its size.
    async fn make(&self, path: &str, text: &str) -> Result<u64, String> {
        let recording = self.speak.speak(text).await.map_err(|error| {
            if matches!(error, SpeakError::Failed(_)) {
                self.lanes.speech_pause.begin(self.lanes.parts.clock.elapsed());
            }
            error.to_string()
        })?;
        self.meter.add(Purpose::Speech, &self.speak.cost(text));
        let bytes = recording.len() as u64;
        let written = self.agent.files.write(path, recording, self.answer.trust).await;
        written.map_err(|error| format!("the recording cannot be saved: {error}"))?;
        pass_in_task("speak", FailMoment::After).await;
        Ok(bytes)
    }
}

/// Returns a number that differs between texts. Another build may return another number for the same
/// text, which is then spoken once more.
pub(crate) fn fingerprint(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Plans `/voice`.
pub(crate) async fn plan(
    lanes: &Lanes,
    session: &SessionId,
    argument: &str,
) -> Result<CommandPlan, StoreError> {
    let Some(SpokenAnswers { when, .. }) = &lanes.parts.spoken else {
        let refusal = "I cannot speak: my operator has to add the table [speech] to my \
                       configuration.";
        return Ok(CommandPlan::say(refusal));
    };
    if argument.is_empty() {
        let status = lanes.with_retry(|| lanes.parts.query.session_status(session)).await?;
        let mode = status.voice.unwrap_or(*when);
        let text =
            format!("Voice is {}: {}. /voice {} changes it.", mode.word(), help(mode), words());
        return Ok(CommandPlan::say(text));
    }
    Ok(match argument.parse::<VoiceMode>() {
        Ok(mode) => {
            let done = format!("Voice is {} from now on: {}.", mode.word(), help(mode));
            CommandPlan::act(CommandAction::SetVoice(mode), &done, &done)
        }
        Err(_) => {
            CommandPlan::say(format!("There is no voice mode {argument:?}; there are {}.", words()))
        }
    })
}

fn words() -> String {
    VoiceMode::ALL.map(VoiceMode::word).join(", ")
}

fn help(mode: VoiceMode) -> &'static str {
    match mode {
        VoiceMode::On => "I speak each answer and send its text too",
        VoiceMode::Off => "my answers are text only",
        VoiceMode::Auto => "I speak my answers to voice messages and send their text too",
    }
}
