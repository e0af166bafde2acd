use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    ChatAddress, Content, Inbound, InboundKind, NewInbound, Sender, SessionId,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::CallId;
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::store::{CompactedPast, Family, NewStep, Past};
use avocet_protocol::tool::{Evidence, LogWrite, ToolClass};
use avocet_protocol::turn::CallResult;
use avocet_testkit::{FakeChannel, FakeFiles, FakeTranscriber, ManualClock, OnFetch};
use parking_lot::Mutex;

use super::*;

const JPEG: &[u8] = b"\xff\xd8\xff\xe0";
const LIMIT: u64 = 20 * 1024 * 1024;

#[derive(Debug, Default)]
struct AttachmentLog(Mutex<Vec<(MessageId, Vec<Attachment>)>>);

struct FetchHarness {
    channel: Arc<FakeChannel>,
    files: Arc<FakeFiles>,
    clock: Arc<ManualClock>,
    log: Arc<AttachmentLog>,
    fetcher: AttachmentFetcher,
}

impl FetchHarness {
    fn new(transcribe: Option<Arc<FakeTranscriber>>) -> Self {
        let (channel, files) = (Arc::<FakeChannel>::default(), Arc::<FakeFiles>::default());
        let clock = Arc::<ManualClock>::default();
        let transcribe = transcribe.map(|transcribe| transcribe as Arc<dyn Transcribe>);
        let log = Arc::<AttachmentLog>::default();
        let fetcher = AttachmentFetcher {
            settings: Attachments { transcribe, convert: None, max_bytes: LIMIT },
            files: files.clone(),
            channels: Arc::new(ChannelRegistry::new(vec![channel.clone()])),
            log: log.clone(),
            clock: clock.clone(),
        };
        Self { channel, files, clock, log, fetcher }
    }

    /// Fetches attachments of message m5 while time passes, and returns the text for the model.
    async fn fetch(&self, attachments: Vec<Attachment>) -> String {
        let mut messages = [message(attachments)];
        let fetch = self.fetcher.fetch(TurnId(1), &mut messages);
        let time = async {
            loop {
                self.clock.sleeper(Duration::ZERO).await;
                self.clock.advance(Duration::from_secs(5));
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            done = fetch => done.unwrap(),
            () = time => {}
        }
        messages[0].model_text()
    }

    fn logged(&self) -> usize {
        self.log.0.lock().len()
    }
}

fn at(kind: AttachmentKind, reference: &str) -> Attachment {
    Attachment::new(kind, AttachmentSource::Platform(reference.to_owned()))
}

fn message(attachments: Vec<Attachment>) -> LoggedInbound {
    let session = SessionId::parse("terminal:local:a").unwrap();
    let (sender, key) = (Sender::new("me".parse().unwrap()), "k".parse().unwrap());
    let content = Content { attachments, ..Content::text("look") };
    let inbound = Inbound::new(session.address(), sender, key, content);
    let message =
        NewInbound { session, kind: InboundKind::Text, inbound, removed: 0, trust: Trust::Full };
    LoggedInbound { id: MessageId(5), received_at: Timestamp(0), message }
}

#[tokio::test]
async fn fetch_saves_attachments_by_message_number_and_logs_each_once() {
    let harness = FetchHarness::new(None);
    harness.channel.keep("a", [OnFetch::Give(JPEG.to_vec())]);
    harness.channel.keep("b", [OnFetch::Give(b"two".to_vec())]);
    let named =
        Attachment { name: Some("../../x.TXT".to_owned()), ..at(AttachmentKind::Document, "b") };
    let text = harness.fetch(vec![at(AttachmentKind::Image, "a"), named]).await;
    assert_eq!(
        text,
        "look\n[image: 4 bytes, saved as inbox/m5-0.jpg]\n\
         [document: ../../x.TXT, 3 bytes, saved as inbox/m5-1.txt]"
    );
    assert_eq!(harness.files.get("inbox/m5-0.jpg").as_deref(), Some(JPEG));
    assert_eq!(harness.files.get("inbox/m5-1.txt").as_deref(), Some(&b"two"[..]));
    assert_eq!(harness.logged(), 2, "each as soon as it is known");
}

#[tokio::test]
async fn fetch_decides_by_the_first_bytes_what_is_a_picture() {
    use AttachmentKind::{Audio, Document, Image, Sticker, Video};
    const HEIC: &[u8] = include_bytes!("../../protocol/src/testdata/heic.bin");
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
    let unseen = "a picture in the format HEIC, which you cannot see]";
    /// The declared kind, name and type, the bytes, the real kind, and the end of the line.
    type PictureCase =
        (AttachmentKind, &'static str, &'static str, &'static [u8], AttachmentKind, &'static str);
    let table: [PictureCase; 11] = [
        (Document, "photo", "application/octet-stream", PNG, Image, "saved as inbox/m5-0.png]"),
        (Document, "notes.txt", "text/plain", PNG, Image, "saved as inbox/m5-0.png]"),
        (Audio, "a.mp3", "audio/mpeg", PNG, Image, "saved as inbox/m5-0.png]"),
        (Video, "a.gif", "image/gif", b"GIF89a", Image, "saved as inbox/m5-0.gif]"),
        (Image, "a.jpeg", "image/png", JPEG, Image, "saved as inbox/m5-0.jpeg]"),
        (Image, "x.png", "image/png", b"just text", Document, "saved as inbox/m5-0.png]"),
        (Image, "a.heic", "image/heic", HEIC, Document, unseen),
        (Document, "a.jpg", "application/octet-stream", HEIC, Document, unseen),
        (Image, "a.heic", "image/heic", JPEG, Image, "saved as inbox/m5-0.jpg]"),
        (Sticker, "a.webp", "image/webp", PNG, Sticker, "saved as inbox/m5-0.webp]"),
        (Document, "a.pdf", "application/pdf", b"%PDF-1.7", Document, "inbox/m5-0.pdf]"),
    ];
    for (declared, name, media_type, bytes, kind, line) in table {
        let harness = FetchHarness::new(None);
        harness.channel.keep("a", [OnFetch::Give(bytes.to_vec())]);
        let (name, media_type) = (Some(name.to_owned()), Some(media_type.to_owned()));
        let attachment = Attachment { name, media_type, ..at(declared, "a") };
        let text = harness.fetch(vec![attachment.clone()]).await;
        assert!(text.ends_with(line), "{attachment:?}: {text}");
        let logged = harness.log.0.lock().remove(0).1.remove(0);
        assert_eq!(logged.kind, kind, "{attachment:?}");
    }
}

/// Converts HEIC only.
#[derive(Debug, Default)]
struct FakeConverter(Mutex<Vec<&'static str>>);

#[async_trait::async_trait]
impl ConvertPicture for FakeConverter {
    async fn convert_picture(&self, format: &PictureFormat, _: &[u8]) -> Result<Vec<u8>, String> {
        self.0.lock().push(format.name);
        if format.name == "HEIC" { Ok(JPEG.to_vec()) } else { Err("unreadable".to_owned()) }
    }
}

#[tokio::test]
async fn fetch_converts_a_picture_that_models_do_not_accept() {
    use AttachmentKind::{Document, Image, Sticker};
    const HEIC: &[u8] = include_bytes!("../../protocol/src/testdata/heic.bin");
    const TIFF: &[u8] = b"II*\0\x08\0\0\0";
    let table: [(_, &[u8], _, _, &[&str]); 5] = [
        (Image, HEIC, Image, "[image: 4 bytes, saved as inbox/m5-0.jpg]", &["HEIC"]),
        (Document, HEIC, Image, "[image: 4 bytes, saved as inbox/m5-0.jpg]", &["HEIC"]),
        (Image, TIFF, Document, "a picture in the format TIFF, which you cannot see]", &["TIFF"]),
        (Image, JPEG, Image, "[image: 4 bytes, saved as inbox/m5-0.jpg]", &[]),
        (Sticker, HEIC, Sticker, "]", &[]),
    ];
    for (declared, bytes, kind, line, asked) in table {
        let mut harness = FetchHarness::new(None);
        let converter = Arc::<FakeConverter>::default();
        harness.fetcher.settings.convert = Some(converter.clone());
        harness.channel.keep("a", [OnFetch::Give(bytes.to_vec())]);
        let text = harness.fetch(vec![at(declared, "a")]).await;
        assert!(text.ends_with(line), "{declared:?}: {text}");
        let logged = harness.log.0.lock().remove(0).1.remove(0);
        assert_eq!((logged.kind, &converter.0.lock()[..]), (kind, asked));
    }
}

#[tokio::test]
async fn fetch_ignores_attachments_that_are_saved_or_lost() {
    let harness = FetchHarness::new(None);
    let here = AttachmentSource::Workspace("inbox/m5-0.jpg".to_owned());
    let lost = AttachmentSource::Lost("gone".to_owned());
    let both = [here, lost].map(|source| Attachment::new(AttachmentKind::Image, source));
    harness.fetch(both.to_vec()).await;
    assert_eq!((harness.logged(), harness.channel.fetches(0).await), (0, 0));
}

#[tokio::test]
async fn fetch_marks_an_unavailable_attachment_as_lost_with_the_reason() {
    let failed = || OnFetch::Say(FetchError::Failed("no connection".to_owned()));
    let gone = OnFetch::Say(FetchError::Gone("wrong file_id".to_owned()));
    let large = OnFetch::Give(vec![0; LIMIT as usize + 1]);
    let cases = [
        (vec![gone], 1, "could not be fetched: wrong file_id]"),
        (vec![large], 1, "could not be fetched: it is larger than 20 MB]"),
        (vec![failed()], 3, "could not be fetched: no connection]"),
        (vec![OnFetch::Hang], 3, "could not be fetched: it took longer than 120 s]"),
        (vec![failed(), failed(), OnFetch::Give(b"x".to_vec())], 3, "saved as inbox/m5-0.ogg]"),
    ];
    for (answers, tries, line) in cases {
        let harness = FetchHarness::new(None);
        harness.channel.keep("a", answers);
        let text = harness.fetch(vec![at(AttachmentKind::Voice, "a")]).await;
        assert!(text.ends_with(line), "{text}");
        assert_eq!((harness.channel.fetches(0).await, harness.logged()), (tries, 1), "{line}");
    }
}

#[tokio::test]
async fn fetch_retries_a_failed_workspace_write_and_then_reports_it() {
    for (refused, line) in [(2, "saved as inbox/m5-0.jpg]"), (3, "No space left on device]")] {
        let harness = FetchHarness::new(None);
        harness.channel.keep("a", [OnFetch::Give(b"x".to_vec())]);
        harness.files.refuse_writes(refused);
        let text = harness.fetch(vec![at(AttachmentKind::Image, "a")]).await;
        assert!(text.ends_with(line), "{text}");
    }
}

#[tokio::test]
async fn fetch_from_a_removed_channel_does_not_end_the_turn() {
    let mut harness = FetchHarness::new(None);
    harness.fetcher.channels = Arc::default();
    let text = harness.fetch(vec![at(AttachmentKind::Image, "a")]).await;
    assert!(text.contains("its channel is not configured any more"), "{text}");
}

#[tokio::test]
async fn fetch_transcribes_voice_attachments_only() {
    let listener = Arc::new(FakeTranscriber::new([Ok(" Buy\u{202e} bread. ".to_owned())]));
    let harness = FetchHarness::new(Some(listener.clone()));
    harness.channel.keep("a", [OnFetch::Give(b"OggS".to_vec())]);
    let voice = Attachment { seconds: Some(12), ..at(AttachmentKind::Voice, "a") };
    let text = harness.fetch(vec![voice, at(AttachmentKind::Video, "a")]).await;
    assert!(text.contains("[voice, 12 s: “Buy bread.”, saved as inbox/m5-0.ogg]"), "{text}");
    let heard = listener.heard();
    let names: Vec<&str> = heard.iter().map(|recording| recording.name.as_str()).collect();
    assert_eq!((names, heard[0].bytes.as_slice()), (vec!["m5-0.ogg"], &b"OggS"[..]));
}

#[tokio::test]
async fn fetch_notes_a_failed_transcription_in_the_line_of_the_attachment() {
    let failed = || Err(AudioError::Failed("no connection".to_owned()));
    let refused = Err(AudioError::Refused("Invalid file format.".to_owned()));
    let cases = [
        (vec![refused], 1, "it could not be transcribed: Invalid file format., saved as"),
        (vec![failed()], 3, "it could not be transcribed: no connection, saved as"),
        (vec![failed(), Ok("hi".to_owned())], 2, "“hi”, saved as"),
    ];
    for (answers, tries, line) in cases {
        let listener = Arc::new(FakeTranscriber::new(answers));
        let harness = FetchHarness::new(Some(listener.clone()));
        harness.channel.keep("a", [OnFetch::Give(b"OggS".to_vec())]);
        let text = harness.fetch(vec![at(AttachmentKind::Voice, "a")]).await;
        assert!(text.contains(line), "{text}");
        assert_eq!(listener.heard().len(), tries, "{line}");
    }
}

/// A log that accepts only attachment results.
#[async_trait::async_trait]
impl TurnLog for AttachmentLog {
    async fn set_attachments(
        &self,
        _: TurnId,
        message: MessageId,
        attachments: &[Attachment],
    ) -> Result<(), StoreError> {
        self.0.lock().push((message, attachments.to_vec()));
        Ok(())
    }

    async fn history(&self, _: &SessionId, _: TurnId, _: usize) -> Result<Past, StoreError> {
        unreachable!("not used by fetch")
    }

    async fn record_compaction(&self, _: &SessionId, _: &CompactedPast) -> Result<(), StoreError> {
        unreachable!("not used by fetch")
    }

    async fn record_recalled(&self, _: TurnId, _: &[RecalledMemory]) -> Result<(), StoreError> {
        unreachable!("not used by fetch")
    }

    async fn record_step(&self, _: TurnId, _: &NewStep) -> Result<(), StoreError> {
        unreachable!("not used by fetch")
    }

    async fn start_call(
        &self,
        _: CallId,
        _: ToolClass,
        _: Option<&Evidence>,
    ) -> Result<(), StoreError> {
        unreachable!("not used by fetch")
    }

    async fn finish_call(
        &self,
        _: CallId,
        _: &CallResult,
        _: Option<&str>,
        _: &[LogWrite],
    ) -> Result<Option<Vec<LoggedInbound>>, StoreError> {
        unreachable!("not used by fetch")
    }

    async fn close_step(&self, _: TurnId, _: u32) -> Result<Vec<LoggedInbound>, StoreError> {
        unreachable!("not used by fetch")
    }

    async fn family(&self, _: TurnId) -> Result<Family, StoreError> {
        unreachable!("not used by fetch")
    }

    async fn sent_texts(&self, _: TurnId, _: &ChatAddress) -> Result<Vec<String>, StoreError> {
        unreachable!("not used by fetch")
    }
}
