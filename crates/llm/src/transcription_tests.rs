//! The client against the strict fake, and against faulty servers.

use avocet_testkit::ManualClock;
use avocet_testkit::http::whole;
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

async fn ask(client: &TranscriptionEndpoint) -> Result<String, AudioError> {
    client.transcribe(recording("m5-0.ogg")).await
}

#[tokio::test]
async fn transcription_sends_a_recording_in_the_format_of_the_api() {
    let fake = TranscriptionFake::saying("Buy bread.").await;
    let mut client = client(&fake, &Arc::default());
    assert_eq!(ask(&client).await.as_deref(), Ok("Buy bread."));
    client.language = Some("de".to_owned());
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
async fn transcription_refuses_a_recording_of_another_format_or_size() {
    let fake = TranscriptionFake::saying("x").await;
    let client = client(&fake, &Arc::default());
    let refused = client.transcribe(recording("m5-0.exe")).await;
    let Err(AudioError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("Invalid file format. Supported formats: ['flac'"), "{why}");

    let large = Recording { bytes: vec![0; MAX_BYTES + 1], ..recording("m5-0.ogg") };
    let refused = client.transcribe(large).await;
    let Err(AudioError::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("larger than 25 MB"), "{why}");
    assert_eq!(fake.refusals().len(), 1, "nothing is sent");
}

#[tokio::test]
async fn transcription_reports_an_answer_without_a_text_as_failed() {
    let json = [("content-type", "application/json")];
    let fake = TranscriptionFake::answering(whole(200, &json, r#"{"words":[]}"#)).await;
    let failed = ask(&client(&fake, &Arc::default())).await;
    let Err(AudioError::Failed(why)) = failed else { panic!("{failed:?}") };
    assert!(why.contains("without a text"), "{why}");
}
