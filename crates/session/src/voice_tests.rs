//! Tests of spoken answers.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::ChatKind;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{AudioError, Money, Speak, VoiceMode};
use avocet_protocol::store::{Ledger, Purpose, UsageBy, UsageEntry};
use avocet_protocol::tool::Files;
use avocet_testkit::FakeSpeaker;

use super::*;
use crate::SpokenAnswers;
use crate::voice::text_fingerprint;

/// A setup whose answers are spoken by `speaker` if `when` says so.
fn spoken_by(speaker: &Arc<FakeSpeaker>, when: VoiceMode) -> Setup {
    Setup { spoken: Some(SpokenAnswers { speak: speaker.clone(), when }), ..Setup::default() }
}

fn recording() -> Vec<Attachment> {
    let source = AttachmentSource::Platform("f".to_owned());
    vec![Attachment::new(AttachmentKind::Voice, source)]
}

/// Returns the texts and the kinds of files that the platform has got.
async fn shown(harness: &SessionHarness, count: usize) -> Vec<(String, Vec<AttachmentKind>)> {
    let taken = harness.channel.taken(count).await.into_iter();
    let shown = taken.map(|delivery| {
        let Content { text, attachments, .. } = delivery.content;
        (text, attachments.iter().map(|file| file.kind).collect())
    });
    shown.collect()
}

fn text(text: &str) -> (String, Vec<AttachmentKind>) {
    (text.to_owned(), Vec::new())
}

fn voice() -> (String, Vec<AttachmentKind>) {
    (String::new(), vec![AttachmentKind::Voice])
}

#[tokio::test]
async fn voice_message_is_answered_with_text_and_voice() {
    let speaker = Arc::new(FakeSpeaker::default());
    let model = ScriptedModel::answering(|_| Scripted::says("It is **late**. Go:\n\n- home"));
    let harness = SessionHarness::with(model, spoken_by(&speaker, VoiceMode::Auto)).await;
    harness.channel.keep("f", [OnFetch::Give(b"OggS".to_vec())]);
    harness.say_with("a", "listen", recording()).await;
    let answer = text("It is **late**. Go:\n\n- home");
    assert_eq!(shown(&harness, 2).await, [answer.clone(), voice()]);
    harness.say("and now?").await;
    assert_eq!(shown(&harness, 3).await[2], answer, "a text is answered with text");
    harness.idle().await;
    harness.sent().await;
    assert_eq!(harness.channel.taken(3).await.len(), 3);
    assert_eq!(speaker.spoken(), ["It is late. Go:\nhome."]);
    let delivery = harness.channel.taken(2).await.remove(1);
    assert_eq!(delivery.files[0].name, "voice.ogg");
    assert!(delivery.content.reply_to.is_none());
    let usage = harness.store.usage(UsageBy::Purpose, Timestamp(0)).await.unwrap();
    let speech: Vec<_> = usage.iter().filter(|row| row.of == "speech").collect();
    assert_eq!((speech.len(), speech[0].answers, speech[0].total.cost), (1, 1, FakeSpeaker::COST));
}

#[tokio::test]
async fn voice_command_chooses_the_spoken_answers_of_a_session() {
    let speaker = Arc::new(FakeSpeaker::default());
    let harness = SessionHarness::with(parrot(), spoken_by(&speaker, VoiceMode::Auto)).await;
    let mut all = Vec::new();
    for (said, count) in [
        ("/voice", 1),
        ("/voice ON", 1),
        ("one", 2),
        ("/voice loud", 1),
        ("/voice off", 1),
        ("two", 1),
    ] {
        harness.say(said).await;
        all = shown(&harness, all.len() + count).await;
    }
    let expected = [
        text(
            "Voice is auto: I speak my answers to voice messages and send their text too. \
              /voice on, off, auto changes it.",
        ),
        text("Voice is on from now on: I speak each answer and send its text too."),
        text("one"),
        voice(),
        text("There is no voice mode \"loud\"; there are on, off, auto."),
        text("Voice is off from now on: my answers are text only."),
        text("two"),
    ];
    assert_eq!(all, expected);
    harness.say_in("b", "three").await;
    shown(&harness, 8).await;
    assert_eq!(speaker.spoken(), ["one."]);
}

#[tokio::test]
async fn voice_command_without_a_speaker_names_the_missing_table() {
    let harness = SessionHarness::new(parrot()).await;
    harness.say("/voice on").await;
    let refusal = "I cannot speak: my operator has to add the table [speech] to my configuration.";
    assert_eq!(harness.channel.texts(1).await, [refusal]);
}

#[tokio::test]
async fn voice_is_left_out_of_reports_of_a_schedule() {
    let speaker = Arc::new(FakeSpeaker::default());
    let model = ScriptedModel::new(vec![Scripted::says("It rains.")]);
    let harness = SessionHarness::with(model, spoken_by(&speaker, VoiceMode::On)).await;
    let id = harness.scheduled(false, "me", ChatKind::Private).await;
    harness.runs(id).await;
    assert_eq!((shown(&harness, 1).await.len(), speaker.spoken().len()), (1, 0));
}

#[tokio::test]
async fn voice_failure_leaves_the_text() {
    let failed = Err(AudioError::Failed("503: overloaded".to_owned()));
    let speaker = Arc::new(FakeSpeaker::new([failed, Ok(avocet_testkit::speech::opus())]));
    let harness = SessionHarness::with(parrot(), spoken_by(&speaker, VoiceMode::On)).await;
    harness.say("one").await;
    assert_eq!(shown(&harness, 1).await, [text("one")]);
    harness.idle().await;
    harness.clock.advance(Duration::from_secs(59));
    harness.say("in the pause").await;
    assert_eq!(shown(&harness, 2).await[1..], [text("in the pause")]);
    harness.idle().await;
    assert_eq!(speaker.spoken(), ["one."], "the server gets a minute to recover");
    harness.clock.advance(SECOND);
    harness.setup.files.refuse_writes(1);
    harness.say("two").await;
    assert_eq!(shown(&harness, 3).await[2..], [text("two")]);
    harness.idle().await;
    harness.say("three").await;
    assert_eq!(shown(&harness, 5).await[3..], [text("three"), voice()]);
    harness.idle().await;
    let usage = harness.store.usage(UsageBy::Purpose, Timestamp(0)).await.unwrap();
    let paid: Vec<u64> =
        usage.iter().filter(|row| row.of == "speech").map(|row| row.answers).collect();
    assert_eq!(paid, [2], "a recording that cannot be saved has a price too");
}

#[tokio::test]
async fn voice_is_left_out_if_a_budget_is_used_up_or_there_are_no_words() {
    let speaker = Arc::new(FakeSpeaker::default());
    let day_cost = Some(Money::dollars(1.0));
    let budgets = Budgets { day_cost, ..Budgets::default() };
    let setup = Setup { budgets, ..spoken_by(&speaker, VoiceMode::On) };
    let code = "```\nls\n```";
    let model = vec![Scripted::says(code), Scripted::says("dear").costing(2.0)];
    let harness = SessionHarness::with(ScriptedModel::new(model), setup).await;
    harness.say("one").await;
    harness.channel.taken(1).await;
    harness.say("two").await;
    assert_eq!(shown(&harness, 2).await, [text(code), text("dear")]);
    harness.idle().await;
    harness.sent().await;
    assert_eq!((harness.channel.taken(2).await.len(), speaker.spoken().len()), (2, 0));
}

#[tokio::test]
async fn voice_answers_messages_of_which_one_is_a_voice_message() {
    let speaker = Arc::new(FakeSpeaker::default());
    let limits = LaneLimits::default();
    let burst = limits.burst;
    let setup = Setup { limits, ..spoken_by(&speaker, VoiceMode::Auto) };
    let model = ScriptedModel::answering(|_| Scripted::says("Done."));
    let harness = SessionHarness::with(model, setup).await;
    harness.channel.keep("f", [OnFetch::Give(b"OggS".to_vec())]);
    harness.say("/queue collect").await;
    harness.channel.taken(1).await;
    harness.say_with("a", "listen", recording()).await;
    harness.say("and read").await;
    harness.pass(burst).await;
    assert_eq!(shown(&harness, 3).await[2], voice());
    assert_eq!(harness.model.requests().len(), 1, "both messages are one turn");
}

#[tokio::test]
async fn voice_found_after_a_graceful_stop_is_not_charged_again() {
    let speaker = Arc::new(FakeSpeaker::default());
    let model = ScriptedModel::new(vec![Scripted::Hang]);
    let harness = SessionHarness::with(model, spoken_by(&speaker, VoiceMode::On)).await;
    harness.say("one").await;
    harness.asked(1).await;
    // The earlier run has made the recording, and the stop has recorded its cost.
    let path = format!("answers/{}-{:016x}.ogg", TurnId(1), text_fingerprint("one."));
    let opus = avocet_testkit::speech::opus();
    harness.setup.files.write(&path, opus, Trust::User).await.unwrap();
    let spent = speaker.cost("one.");
    let entries = [UsageEntry::of_spent(Purpose::Speech, spent)];
    harness.store.record_usage(Some(TurnId(1)), &session("a"), &entries).await.unwrap();
    let harness = harness.restart(parrot()).await;
    assert_eq!(shown(&harness, 2).await, [text("one"), voice()]);
    harness.idle().await;
    let usage = harness.store.usage(UsageBy::Purpose, Timestamp(0)).await.unwrap();
    let paid: Vec<u64> =
        usage.iter().filter(|row| row.of == "speech").map(|row| row.answers).collect();
    assert_eq!((paid, speaker.spoken().len()), (vec![1], 0));
}
