//! A fake console, which opens no port, and fake uploads, which are kept in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::bus::{ProgramFile, ProgramFiles};
use avocet_protocol::channel::{
    AddressFile, FetchAddress, FetchError, UploadError, UploadSink, UploadedFile, Uploads,
    WEB_CHANNEL, WebBrowser, WebConsole, WebError, WebLink,
};
use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, ChatAddress};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, SenderId, TurnId};
use avocet_protocol::tool::{DirectoryNames, FileStart, Files, FilesError, Workspaces};
use parking_lot::Mutex;

use super::FakeDaemon;

/// The port that another program uses.
pub const TAKEN_PORT: u16 = 22;
/// The only browser that is signed in.
const BROWSER: &str = "0123abcd";
/// The most bytes of an upload. An upload that begins with `full` fails, as on a full disk.
pub const UPLOAD_LIMIT: u64 = 2 * 1024 * 1024;

/// The uploads, by their references, and the number of uploads that were begun.
#[derive(Debug, Clone, Default)]
pub struct UploadMemory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>, Arc<AtomicUsize>);

impl UploadMemory {
    /// Returns the bytes of an upload.
    #[must_use]
    pub fn get(&self, reference: &str) -> Option<Vec<u8>> {
        self.0.lock().get(reference).cloned()
    }

    /// Returns the number of uploads that were begun.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.1.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl WebConsole for FakeDaemon {
    async fn open(&self, sender: &SenderId, port: Option<u16>) -> Result<WebLink, WebError> {
        let port = port.unwrap_or(8470);
        if port == TAKEN_PORT {
            return Err(WebError::Refused(format!("cannot listen on port {port}")));
        }
        let url = format!("http://127.0.0.1:{port}/#code=of-{sender}");
        Ok(WebLink { url, expires_at: Timestamp(600_000) })
    }

    fn browsers(&self) -> Vec<WebBrowser> {
        let (name, signed_in_at) = ("Firefox on Linux".to_owned(), Timestamp(1000));
        let sender = SenderId::parse("uid:1000").unwrap();
        let (id, seen_at) = (BROWSER.to_owned(), Some(Timestamp(2000)));
        vec![WebBrowser { id, sender, name, signed_in_at, expires_at: Timestamp(9000), seen_at }]
    }

    async fn sign_out(&self, browser: Option<&str>) -> Result<(), WebError> {
        if browser.is_some_and(|id| id != BROWSER) {
            return Err(WebError::Refused("no such browser is signed in".to_owned()));
        }
        *self.signed_out.lock() += 1;
        Ok(())
    }
}

#[async_trait]
impl Uploads for FakeDaemon {
    async fn begin(&self) -> Result<Box<dyn UploadSink>, UploadError> {
        self.uploads.1.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(FakeUpload { all: self.uploads.clone(), bytes: Vec::new() }))
    }

    fn serves(&self, chat: &ChatAddress) -> bool {
        chat.channel.as_str() == WEB_CHANNEL
    }

    async fn has(&self, reference: &str) -> bool {
        self.uploads.get(reference).is_some()
    }
}

/// Files do not expire here.
#[async_trait]
impl ProgramFiles for FakeDaemon {
    fn max_bytes(&self) -> u64 {
        UPLOAD_LIMIT
    }

    async fn begin_file(&self) -> Result<Box<dyn UploadSink>, UploadError> {
        self.begin().await
    }

    async fn describe_file(&self, file: &ProgramFile) -> Result<(), UploadError> {
        if file.name == "unwritable" {
            return Err(UploadError::Failed("read-only file system".to_owned()));
        }
        self.program_files.lock().insert(0, file.clone());
        Ok(())
    }

    async fn list_files(&self, owner: &SenderId) -> Result<Vec<ProgramFile>, UploadError> {
        let files = self.program_files.lock();
        Ok(files.iter().filter(|file| file.owner == *owner).cloned().collect())
    }

    async fn find_file(
        &self,
        owner: &SenderId,
        reference: &str,
    ) -> Result<Option<ProgramFile>, UploadError> {
        let mut files = self.list_files(owner).await?;
        files.retain(|file| file.reference == reference);
        Ok(files.pop())
    }

    async fn read_file(&self, file: &ProgramFile) -> Result<Vec<u8>, FetchError> {
        let bytes = self.uploads.get(&file.reference);
        bytes.ok_or_else(|| FetchError::Gone("the upload does not exist any more".to_owned()))
    }

    async fn remove_file(&self, file: &ProgramFile) -> Result<(), UploadError> {
        self.program_files.lock().retain(|one| one != file);
        self.uploads.0.lock().remove(&file.reference);
        Ok(())
    }
}

/// Serves `https://files.example/NAME`, whose bytes are the address. Any other address is refused.
#[async_trait]
impl FetchAddress for FakeDaemon {
    async fn fetch_address(&self, url: &str, limit: u64) -> Result<AddressFile, FetchError> {
        let Some(name) = url.strip_prefix("https://files.example/") else {
            return Err(FetchError::Gone(format!("{url} is an address of this host")));
        };
        let bytes = url.as_bytes().to_vec();
        if bytes.len() as u64 > limit {
            return Err(FetchError::TooLarge { limit });
        }
        let media_type = name.ends_with(".png").then(|| "image/png".to_owned());
        Ok(AddressFile { name: name.to_owned(), media_type, bytes })
    }
}

#[derive(Debug)]
struct FakeUpload {
    all: UploadMemory,
    bytes: Vec<u8>,
}

#[async_trait]
impl UploadSink for FakeUpload {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), UploadError> {
        if bytes.starts_with(b"full") {
            return Err(UploadError::Full("no space left on device".to_owned()));
        }
        self.bytes.extend(bytes);
        match self.bytes.len() as u64 {
            0..=UPLOAD_LIMIT => Ok(()),
            _ => Err(UploadError::TooLarge { limit: UPLOAD_LIMIT }),
        }
    }

    async fn finish(self: Box<Self>) -> Result<UploadedFile, UploadError> {
        let Self { all, bytes } = *self;
        let (mut all, size) = (all.0.lock(), bytes.len() as u64);
        let reference = format!("upload-{}", all.len() + 1);
        all.insert(reference.clone(), bytes);
        Ok(UploadedFile { reference, bytes: size })
    }
}

/// Returns the files that the turn `t1` has sent. The last one has been deleted.
pub(super) fn sent_files() -> Vec<Attachment> {
    let file = |path: &str, media_type: &str| Attachment {
        media_type: Some(media_type.to_owned()),
        ..Attachment::new(AttachmentKind::Document, AttachmentSource::Workspace(path.to_owned()))
    };
    vec![
        file("out/a b.png", "image/png"),
        file("page.html", "text/html"),
        file("deleted.txt", "text/plain"),
    ]
}

/// Returns the files of a message: `m1` has a picture, and a file that could not be fetched.
pub(super) fn received_files(message: MessageId) -> (Option<TurnId>, Vec<Attachment>) {
    if message != MessageId(1) {
        return (None, Vec::new());
    }
    let picture = Attachment {
        media_type: Some("image/png".to_owned()),
        ..Attachment::new(
            AttachmentKind::Image,
            AttachmentSource::Workspace("inbox/m1-0.png".to_owned()),
        )
    };
    let lost =
        Attachment::new(AttachmentKind::Image, AttachmentSource::Lost("too large".to_owned()));
    (Some(TurnId(1)), vec![picture, lost])
}

/// A workspace in which every file has the same bytes, except one that was deleted.
#[derive(Debug)]
struct FakeWorkspace;

#[async_trait]
impl Workspaces for FakeDaemon {
    async fn find_workspace(&self, _: Option<TurnId>) -> Result<Arc<dyn Files>, FilesError> {
        Ok(Arc::new(FakeWorkspace))
    }
}

#[async_trait]
impl Files for FakeWorkspace {
    async fn read(&self, path: &str, _: u64) -> Result<Vec<u8>, FilesError> {
        if path == "deleted.txt" {
            return Err(FilesError(format!("{path} does not exist")));
        }
        Ok(b"bytes".to_vec())
    }

    async fn start_of(&self, _: &str, _: u64) -> Result<Option<FileStart>, FilesError> {
        Ok(None)
    }

    async fn directories(&self, _: &str, _: usize) -> Result<DirectoryNames, FilesError> {
        Ok(DirectoryNames::default())
    }

    async fn write(&self, path: &str, _: Vec<u8>, _: Trust) -> Result<(), FilesError> {
        Err(FilesError(format!("{path} is read-only")))
    }

    async fn delete(&self, path: &str) -> Result<(), FilesError> {
        Err(FilesError(format!("{path} is read-only")))
    }
}
