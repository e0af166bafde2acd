//! The client against the strict fake, and against faulty servers.

use avocet_testkit::ManualClock;
use avocet_testkit::http::{Piece, whole, whole_bytes};
use avocet_testkit::openai::KEY;
use avocet_testkit::speech::{SpeechFake, opus};

use super::*;

fn client(fake: &SpeechFake, clock: &Arc<ManualClock>) -> SpeechEndpoint {
    let api_key = Some(Secret::new(KEY.to_owned()));
    let config = SpeechConfig { base_url: fake.base_url(), api_key, ..Default::default() };
    SpeechEndpoint::new(config, clock.clone()).unwrap()
}

#[test]
fn speech_config_check_names_the_unusable_key() {
    let cases = [
        (SpeechConfig { model: String::new(), ..Default::default() }, "model"),
        (SpeechConfig { voice: String::new(), ..Default::default() }, "voice"),
        (SpeechConfig { max_characters: 0, ..Default::default() }, "max_characters"),
        (SpeechConfig { max_characters: 4097, ..Default::default() }, "max_characters"),
        (
            SpeechConfig { dollars_per_million_characters: Some(-1.0), ..Default::default() },
            "dollars_per_million_characters",
        ),
        (SpeechConfig { total_seconds: 301, ..Default::default() }, "total_seconds"),
    ];
    for (config, key) in cases {
        assert_eq!(config.check_values().unwrap_err().0, key);
    }
    assert_eq!(SpeechConfig::default().check_values(), Ok(()));
}

#[tokio::test]
async fn speech_sends_a_text_in_the_format_of_the_api() {
    let fake = SpeechFake::start().await;
    let client = client(&fake, &Arc::default());
    assert_eq!(client.speak("Käse, bitte.").await, Ok(opus()));
    let call = fake.spoken().remove(0);
    assert_eq!(
        (&*call.model, &*call.voice, &*call.input, call.format.as_deref()),
        ("gpt-4o-mini-tts", "alloy", "Käse, bitte.", Some("opus"))
    );
    assert_eq!(fake.refusals(), [""; 0]);
}

#[tokio::test]
async fn speech_cost_counts_characters() {
    let fake = SpeechFake::start().await;
    let mut client = client(&fake, &Arc::default());
    let text = "ä".repeat(1001);
    let Spent { model, usage, cost } = client.cost(&text);
    assert_eq!((&*model, usage.input, cost), ("speech/gpt-4o-mini-tts", 251, None));
    client.config.dollars_per_million_characters = Some(15.0);
    assert_eq!(client.cost(&text).cost, Some(Money::dollars(0.015_015)));
}

#[tokio::test]
async fn speech_refuses_a_text_that_is_too_long_for_the_server() {
    let fake = SpeechFake::start().await;
    let client = client(&fake, &Arc::default());
    let refused = client.speak(&"x".repeat(5000)).await;
    let Err(AudioError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("maximum length 4096"), "{why}");
}

#[tokio::test]
async fn speech_refuses_an_answer_of_another_format_or_size() {
    let large = [opus(), vec![0; MAX_BYTES]].concat();
    let cases = [
        (whole_bytes(200, &[("content-type", "audio/mpeg")], b"ID3"), "did not send Ogg Opus"),
        (whole(200, &[], ""), "did not send Ogg Opus"),
        (whole_bytes(200, &[], &large), "sent more than 10 MB"),
    ];
    for (pieces, says) in cases {
        let fake = SpeechFake::answering(pieces).await;
        let refused = client(&fake, &Arc::default()).speak("Hello.").await;
        let Err(AudioError::Refused(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains(says), "{why}");
    }
}

#[tokio::test]
async fn speech_reports_a_recording_that_breaks_off_as_failed() {
    let broken = vec![Piece::head(200, &[]), Piece::chunk(b"OggS"), Piece::Reset];
    let fake = SpeechFake::answering(broken).await;
    let failed = client(&fake, &Arc::default()).speak("Hello.").await;
    let Err(AudioError::Failed(why)) = failed else { panic!("{failed:?}") };
    assert!(why.contains("the connection broke"), "{why}");
}
