//! The client against the strict fake, and against faulty servers.

use avocet_testkit::ManualClock;
use avocet_testkit::http::{Piece, whole};
use avocet_testkit::openai::KEY;
use avocet_testkit::transcription::TranscriptionFake;

use super::*;

fn client(fake: &TranscriptionFake, clock: &Arc<ManualClock>) -> TranscriptionEndpoint {
    let api_key = Some(Secret::new(KEY.to_owned()));
    let config = TranscriptionConfig { base_url: fake.base_url(), api_key, ..Default::default() };
    TranscriptionEndpoint::new(config, clock.clone()).unwrap()
}

fn recording(name: &str) -> Recording {
    Recording { name: name.to_owned(), bytes: b"OggS".to_vec() }
}

async fn ask(client: &TranscriptionEndpoint) -> Result<String, TranscribeError> {
    client.transcribe(recording("m5-0.ogg")).await
}

#[tokio::test]
async fn transcription_sends_nothing_to_an_untrusted_endpoint_on_this_host() {
    let fake = TranscriptionFake::saying("Buy bread.").await;
    let base_url = fake.base_url();
    let config = TranscriptionConfig { base_url, untrusted: true, ..Default::default() };
    let (key, error) = config.check_values().unwrap_err();
    assert_eq!(key, "base_url");
    assert!(error.contains("127.0.0.1 is not public"), "{error}");
    let clock: Arc<ManualClock> = Arc::default();
    assert!(ask(&TranscriptionEndpoint::new(config, clock).unwrap()).await.is_err());
    assert_eq!((fake.heard().len(), fake.refusals().len()), (0, 0));
}

#[tokio::test]
async fn transcription_sends_a_recording_in_the_format_of_the_api() {
    let fake = TranscriptionFake::saying("Buy bread.").await;
    let mut client = client(&fake, &Arc::default());
    assert_eq!(ask(&client).await.as_deref(), Ok("Buy bread."));
    client.config.language = Some("de".to_owned());
    ask(&client).await.unwrap();
    let heard = fake.heard();
    let languages: Vec<_> = heard.iter().map(|call| call.language.as_deref()).collect();
    assert_eq!(languages, [None, Some("de")]);
    let call = &heard[0];
    assert_eq!(
        (call.model.as_str(), call.name.as_str(), call.bytes.as_slice()),
        ("whisper-1", "m5-0.ogg", &b"OggS"[..])
    );
    assert_eq!(fake.refusals(), [""; 0]);
}

#[tokio::test]
async fn transcription_refusal_names_the_remedy() {
    let fake = TranscriptionFake::saying("x").await;
    let mut client = client(&fake, &Arc::default());
    let refused = client.transcribe(recording("m5-0.exe")).await;
    let Err(TranscribeError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("Invalid file format. Supported formats: ['flac'"), "{why}");

    let large = Recording { bytes: vec![0; MAX_BYTES + 1], ..recording("m5-0.ogg") };
    let refused = client.transcribe(large).await;
    let Err(TranscribeError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("larger than 25 MB"), "{why}");
    assert_eq!(fake.refusals().len(), 1, "nothing is sent");

    client.config.api_key = Some(Secret::new("sk-wrong-key".to_owned()));
    let refused = ask(&client).await;
    let Err(TranscribeError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("check api_key in [transcription]") && !why.contains("sk-wrong"), "{why}");
}

#[tokio::test]
async fn transcription_reports_transient_failures_as_failed() {
    let json = [("content-type", "application/json")];
    let answers = [
        (whole(429, &json, r#"{"error":{"message":"slow down"}}"#), "429: slow down"),
        (whole(503, &[], "overloaded"), "503: overloaded"),
        (whole(200, &json, r#"{"words":[]}"#), "without a text"),
        (vec![Piece::Reset], "the connection broke"),
    ];
    for (pieces, says) in answers {
        let fake = TranscriptionFake::answering(pieces).await;
        let failed = ask(&client(&fake, &Arc::default())).await;
        let Err(TranscribeError::Failed(why)) = failed else { panic!("{failed:?}") };
        assert!(why.contains(says), "{why}");
    }
}

#[tokio::test]
async fn transcription_times_out_at_a_silent_endpoint() {
    let fake = TranscriptionFake::answering(vec![Piece::Hang]).await;
    let clock = Arc::<ManualClock>::default();
    let client = client(&fake, &clock);
    let limit = Duration::from_secs(120);
    let (failed, ()) = tokio::join!(ask(&client), async {
        clock.sleeper(limit).await;
        clock.advance(limit);
    });
    let Err(TranscribeError::Failed(why)) = failed else { panic!("{failed:?}") };
    assert!(why.contains("did not answer within 120 s"), "{why}");
}
