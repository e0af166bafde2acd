//! The requests that speech and transcription have in common, against the strict fakes and against
//! faulty servers.

use avocet_protocol::model::{Recording, Speak, Transcribe};
use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, Piece, whole};
use avocet_testkit::openai::KEY;
use avocet_testkit::speech::{SpeechFake, opus};
use avocet_testkit::transcription::TranscriptionFake;

use super::*;
use crate::{SpeechConfig, SpeechEndpoint, TranscriptionConfig, TranscriptionEndpoint};

/// The two APIs, by the name of their tables.
const TABLES: [&str; 2] = ["speech", "transcription"];

/// A server of one of the APIs.
enum AudioFake {
    Speech(SpeechFake),
    Transcription(TranscriptionFake),
}

impl AudioFake {
    async fn start(table: &str) -> Self {
        match table {
            "speech" => Self::Speech(SpeechFake::start().await),
            _ => Self::Transcription(TranscriptionFake::saying("Buy bread.").await),
        }
    }

    async fn answering(table: &str, pieces: Vec<Piece>) -> Self {
        match table {
            "speech" => Self::Speech(SpeechFake::answering(pieces).await),
            _ => Self::Transcription(TranscriptionFake::answering(pieces).await),
        }
    }

    fn base_url(&self) -> String {
        match self {
            Self::Speech(fake) => fake.base_url(),
            Self::Transcription(fake) => fake.base_url(),
        }
    }

    /// Returns the numbers of accepted and of refused requests.
    fn requests(&self) -> (usize, usize) {
        match self {
            Self::Speech(fake) => (fake.spoken().len(), fake.refusals().len()),
            Self::Transcription(fake) => (fake.heard().len(), fake.refusals().len()),
        }
    }
}

/// The keys that both tables have.
#[derive(Debug, Clone)]
struct SharedKeys {
    base_url: String,
    api_key: Option<Secret>,
    total_seconds: u64,
    untrusted: bool,
}

impl SharedKeys {
    fn of(fake: &AudioFake) -> Self {
        let (base_url, api_key) = (fake.base_url(), Some(Secret::new(KEY.to_owned())));
        Self { base_url, api_key, total_seconds: 30, untrusted: false }
    }

    fn speech(self) -> SpeechConfig {
        let Self { base_url, api_key, total_seconds, untrusted } = self;
        SpeechConfig { base_url, api_key, total_seconds, untrusted, ..Default::default() }
    }

    fn transcription(self) -> TranscriptionConfig {
        let Self { base_url, api_key, total_seconds, untrusted } = self;
        TranscriptionConfig { base_url, api_key, total_seconds, untrusted, ..Default::default() }
    }

    fn check_values(self, table: &str) -> Result<(), (&'static str, String)> {
        match table {
            "speech" => self.speech().check_values(),
            _ => self.transcription().check_values(),
        }
    }

    /// Sends one request.
    async fn request(self, table: &str, clock: Arc<ManualClock>) -> Result<(), AudioError> {
        if table == "speech" {
            let spoken = SpeechEndpoint::new(self.speech(), clock).unwrap().speak("Hello.").await;
            return spoken.map(|recording| assert_eq!(recording, opus()));
        }
        let recording = Recording { name: "m5-0.ogg".to_owned(), bytes: b"OggS".to_vec() };
        let endpoint = TranscriptionEndpoint::new(self.transcription(), clock).unwrap();
        endpoint.transcribe(recording).await.map(|text| assert_eq!(text, "Buy bread."))
    }

    async fn probe(self, table: &str) -> Result<AudioProbe, String> {
        let clock: Arc<ManualClock> = Arc::default();
        let endpoint: AudioEndpoint = match table {
            "speech" => SpeechEndpoint::new(self.speech(), clock).unwrap().into(),
            _ => TranscriptionEndpoint::new(self.transcription(), clock).unwrap().into(),
        };
        endpoint.probe_endpoint().await
    }
}

fn refused(result: Result<(), AudioError>) -> String {
    match result {
        Err(AudioError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn failed(result: Result<(), AudioError>) -> String {
    match result {
        Err(AudioError::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn audio_config_check_names_the_unusable_key() {
    let good = SharedKeys {
        base_url: OPENAI_BASE_URL.to_owned(),
        api_key: None,
        total_seconds: 1,
        untrusted: true,
    };
    let url = |base_url: &str| SharedKeys { base_url: base_url.to_owned(), ..good.clone() };
    for table in TABLES {
        let cases = [
            (url("tts"), "base_url", ""),
            (url("http://127.0.0.1:8880/v1"), "base_url", "127.0.0.1 is not public"),
            (
                url(&format!("{OPENAI_BASE_URL}/audio/speech")),
                "base_url",
                "leave out /audio/speech",
            ),
            (SharedKeys { total_seconds: 0, ..good.clone() }, "total_seconds", "at least 1 second"),
        ];
        for (keys, key, says) in cases {
            let (found, error) = keys.check_values(table).unwrap_err();
            assert_eq!(found, key, "{table}");
            assert!(error.contains(says), "{table}: {error}");
        }
        assert_eq!(good.clone().check_values(table), Ok(()), "{table}");
    }
}

#[tokio::test]
async fn audio_requests_do_not_reach_an_untrusted_server_on_this_host() {
    for table in TABLES {
        let fake = AudioFake::start(table).await;
        let keys = SharedKeys { untrusted: true, ..SharedKeys::of(&fake) };
        assert!(keys.request(table, Arc::default()).await.is_err(), "{table}");
        assert_eq!(fake.requests(), (0, 0), "{table}");
    }
}

#[tokio::test]
async fn audio_requests_work_with_a_slash_behind_the_base_url() {
    for table in TABLES {
        let fake = AudioFake::start(table).await;
        let base_url = format!("{}/", fake.base_url());
        let keys = SharedKeys { base_url, ..SharedKeys::of(&fake) };
        assert_eq!(keys.request(table, Arc::default()).await, Ok(()), "{table}");
        assert_eq!(fake.requests(), (1, 0), "{table}");
    }
}

#[tokio::test]
async fn audio_refusal_names_the_keys_to_check() {
    let json = [("content-type", "application/json")];
    let body = r#"{"error":{"message":"no such thing"}}"#;
    let on_request = |table| match table {
        "speech" => "; the operator has to check model and voice in [speech]",
        _ => "",
    };
    for table in TABLES {
        for (status, advice) in [
            (401, format!("; the operator has to check api_key in [{table}]")),
            (403, format!("; the operator has to check api_key in [{table}]")),
            (404, format!("; the operator has to check base_url and model in [{table}]")),
            (400, on_request(table).to_owned()),
            (418, on_request(table).to_owned()),
        ] {
            let fake = AudioFake::answering(table, whole(status, &json, body)).await;
            let why = refused(SharedKeys::of(&fake).request(table, Arc::default()).await);
            let expected = format!("the {table} endpoint answered {status}: no such thing{advice}");
            assert_eq!(why, expected);
        }
        let fake = AudioFake::start(table).await;
        let api_key = Some(Secret::new("sk-wrong-key".to_owned()));
        let keys = SharedKeys { api_key, ..SharedKeys::of(&fake) };
        let why = refused(keys.request(table, Arc::default()).await);
        let advice = format!("check api_key in [{table}]");
        assert!(why.contains(&advice) && !why.contains("sk-wrong"), "{why}");
    }
}

#[tokio::test]
async fn audio_reports_transient_failures_as_failed() {
    let json = [("content-type", "application/json")];
    for table in TABLES {
        let answers = [
            (whole(429, &json, r#"{"error":{"message":"slow down"}}"#), "429: slow down"),
            (whole(503, &[], "overloaded"), "503: overloaded"),
            (whole(502, &[], "<html><title>Bad Gateway</title>"), "a web page: Bad Gateway"),
            (vec![Piece::Reset], "the connection broke"),
        ];
        for (pieces, says) in answers {
            let fake = AudioFake::answering(table, pieces).await;
            let why = failed(SharedKeys::of(&fake).request(table, Arc::default()).await);
            assert!(why.contains(says), "{table}: {why}");
        }
    }
}

#[tokio::test]
async fn audio_request_times_out_at_a_silent_server() {
    for table in TABLES {
        let fake = AudioFake::answering(table, vec![Piece::Hang]).await;
        let clock = Arc::<ManualClock>::default();
        let limit = Duration::from_secs(30);
        let (result, ()) =
            tokio::join!(SharedKeys::of(&fake).request(table, clock.clone()), async {
                clock.sleeper(limit).await;
                clock.advance(limit);
            });
        let expected = format!("the {table} endpoint did not answer within 30 s");
        assert_eq!(failed(result), expected);
    }
}

#[tokio::test]
async fn audio_probe_accepts_a_server_without_a_list_of_models() {
    for table in TABLES {
        let fake = AudioFake::start(table).await;
        // The fake has the path of its API only.
        assert_eq!(SharedKeys::of(&fake).probe(table).await, Ok(AudioProbe::NoList), "{table}");
        let unreachable =
            SharedKeys { base_url: "http://127.0.0.1:1/v1".to_owned(), ..SharedKeys::of(&fake) };
        assert!(unreachable.probe(table).await.is_err(), "{table}");
    }
}

#[tokio::test]
async fn audio_probe_looks_for_the_names_in_the_lists_of_the_server() {
    let json = [("content-type", "application/json")];
    let listed = |names: &[&'static str]| Ok(AudioProbe::Listed(names.to_vec()));
    let missing = |key, nearest: Option<&str>| {
        Ok(AudioProbe::Missing { key, nearest: nearest.map(str::to_owned) })
    };
    let good = r#"{"data": [{"id": "gpt-4o-mini-tts"}, {"id": "whisper-1"}]}"#;
    let voices = |list: &'static str| Some((200, list));
    let cases = [
        ("transcription", (200, good), None, listed(&["model"])),
        (
            "transcription",
            (200, r#"{"models": ["whisper-2"]}"#),
            None,
            missing("model", Some("whisper-2")),
        ),
        ("transcription", (200, "{}"), None, listed(&[])),
        ("transcription", (404, "{}"), voices(r#"["alloy"]"#), Ok(AudioProbe::NoList)),
        ("speech", (200, good), None, listed(&["model"])),
        ("speech", (200, good), voices(r#"{"voices": ["alloy"]}"#), listed(&["model", "voice"])),
        ("speech", (404, ""), voices(r#"[{"voice_id": "alloy"}]"#), listed(&["voice"])),
        ("speech", (200, good), voices(r#"[{"name": "af_sky"}]"#), missing("voice", None)),
    ];
    for (table, models, voices, expected) in cases {
        let server = HttpFake::start(move |request| {
            let answer = match request.path.as_str() {
                "/v1/models" => Some(models),
                "/v1/audio/voices" => voices,
                _ => None,
            };
            let (status, body) = answer.unwrap_or((404, ""));
            whole(status, &json, body)
        })
        .await;
        let keys = SharedKeys {
            base_url: format!("http://{}/v1", server.address()),
            api_key: None,
            total_seconds: 30,
            untrusted: false,
        };
        assert_eq!(keys.probe(table).await, expected, "{table} {models:?} {voices:?}");
    }
}

#[tokio::test]
async fn audio_health_keeps_the_last_outcomes_of_a_table() {
    let clock: Arc<ManualClock> = Arc::default();
    let health = Arc::new(AudioHealth::new(clock.clone()));
    let fake = SpeechFake::start().await;
    let fails = SpeechFake::answering(whole(503, &[], "overloaded")).await;
    for (url, failures) in [(fails.base_url(), 1), (fake.base_url(), 0), (fails.base_url(), 1)] {
        let api_key = Some(Secret::new(KEY.to_owned()));
        let config = SpeechConfig { base_url: url, api_key, ..SpeechConfig::default() };
        let mut speech = SpeechEndpoint::new(config, clock.clone()).unwrap();
        speech.record_in(health.clone());
        drop(speech.speak("Hello.").await);
        assert_eq!(health.last_exchanges("speech").failures_in_a_row(), failures);
    }
    assert!(health.last_exchanges("speech").success.is_some());
    assert_eq!(health.last_exchanges("transcription").success, None);
}
