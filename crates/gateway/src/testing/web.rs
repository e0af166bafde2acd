//! A console that opens no port, and uploads in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use avocet_protocol::{
    ChatAddress, SenderId, Timestamp, Upload, UploadError, UploadedFile, Uploads, WEB_CHANNEL,
    WebConsole, WebError, WebLink,
};

use super::FakeDaemon;

/// The port that is taken.
pub const TAKEN_PORT: u16 = 22;
/// Bytes of the largest upload. One more finds the disk full.
pub const UPLOAD_LIMIT: u64 = 2 * 1024 * 1024;

/// The uploads, by their references.
#[derive(Debug, Clone, Default)]
pub struct UploadMemory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl UploadMemory {
    /// Returns the bytes of an upload.
    #[must_use]
    pub fn get(&self, reference: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(reference).cloned()
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

    async fn sign_out(&self) -> Result<(), WebError> {
        *self.signed_out.lock().unwrap() += 1;
        Ok(())
    }
}

#[async_trait]
impl Uploads for FakeDaemon {
    async fn begin(&self) -> Result<Box<dyn Upload>, UploadError> {
        Ok(Box::new(FakeUpload { all: self.uploads.clone(), bytes: Vec::new() }))
    }

    fn serves(&self, chat: &ChatAddress) -> bool {
        chat.channel.as_str() == WEB_CHANNEL
    }

    async fn has(&self, reference: &str) -> bool {
        self.uploads.get(reference).is_some()
    }
}

#[derive(Debug)]
struct FakeUpload {
    all: UploadMemory,
    bytes: Vec<u8>,
}

#[async_trait]
impl Upload for FakeUpload {
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
        let (mut all, size) = (all.0.lock().unwrap(), bytes.len() as u64);
        let reference = format!("upload-{}", all.len() + 1);
        all.insert(reference.clone(), bytes);
        Ok(UploadedFile { reference, bytes: size })
    }
}
