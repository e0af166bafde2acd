//! Signed tokens of browsers. A token contains its browser, its person and its end. Its form is
//! `web.END.BROWSER.PERSON.SIGNATURE`, with the end in milliseconds since 1970.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::SenderId;
use avocet_text::{in_hexadecimal, plain_io};
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;

use super::codes::random_bytes;
use super::private_file::write_private_file;
use crate::secret_bytes::decode_hexadecimal;

/// The beginning of a token.
const KIND: &str = "web";
/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// What a token with the right signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SignedToken {
    /// The id of the browser.
    pub(super) browser: String,
    pub(super) sender: SenderId,
    pub(super) expires_at: Timestamp,
}

/// The key that signs tokens, and its file.
pub(super) struct TokenKey {
    file: PathBuf,
    /// `None` until the first link; every token is invalid until then.
    mac: Mutex<Option<Hmac<Sha256>>>,
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("file", &self.file).finish_non_exhaustive()
    }
}

impl TokenKey {
    /// Reads the key of an earlier start. An unreadable one is reported again by [`Self::make`].
    pub(super) fn load(file: PathBuf) -> Self {
        let mac = read(&file).unwrap_or_else(|error| {
            tracing::warn!(error, "all browsers are signed out of the web console");
            None
        });
        Self { file, mac: Mutex::new(mac) }
    }

    /// Makes the key and its file if they are missing.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(super) fn make(&self) -> Result<(), String> {
        let mut mac = self.mac.lock();
        if mac.is_none() {
            *mac = read(&self.file)?;
        }
        if mac.is_none() {
            let key = random_bytes();
            write_private_file(&self.file, &key)
                .map_err(|error| failed("write", &self.file, &error))?;
            *mac = Some(mac_of(&key)?);
        }
        Ok(())
    }

    /// Returns `true` if a token can be valid.
    pub(super) fn is_made(&self) -> bool {
        self.mac.lock().is_some()
    }

    /// Removes the key, so that no token is valid any more.
    ///
    /// # Errors
    /// The file cannot be removed; all tokens are still valid.
    pub(super) fn remove(&self) -> Result<(), String> {
        let mut mac = self.mac.lock();
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(failed("remove", &self.file, &error));
            }
            _ => {}
        }
        *mac = None;
        Ok(())
    }

    /// Makes a token; `None` without a key.
    pub(super) fn sign(&self, token: &SignedToken) -> Option<String> {
        let SignedToken { browser, sender, expires_at } = token;
        let signed = format!("{KIND}.{}.{browser}.{sender}", expires_at.0);
        let mac = self.mac.lock().clone()?.chain_update(signed.as_bytes());
        Some(format!("{signed}.{}", in_hexadecimal(&mac.finalize().into_bytes())))
    }

    /// Returns what a token says; `None` if its signature is wrong, or it has ended.
    pub(super) fn verify_token(&self, token: &str, now: Timestamp) -> Option<SignedToken> {
        let (signed, signature) = token.rsplit_once('.')?;
        let mac = self.mac.lock().clone()?.chain_update(signed.as_bytes());
        // The comparison takes the same time for every wrong signature.
        mac.verify_slice(&decode_hexadecimal(signature)?).ok()?;
        let (expires_at, rest) = signed.strip_prefix(KIND)?.strip_prefix('.')?.split_once('.')?;
        let (browser, sender) = rest.split_once('.')?;
        let expires_at = Timestamp(expires_at.parse().ok()?);
        let sender = SenderId::parse(sender).ok().filter(|_| now < expires_at)?;
        Some(SignedToken { browser: browser.to_owned(), sender, expires_at })
    }
}

/// Reads a key; `None` if the file is missing.
fn read(file: &Path) -> Result<Option<Hmac<Sha256>>, String> {
    let key = match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| failed("read", file, &error))?,
    };
    if key.len() != KEY_BYTES {
        return Err(format!(
            "{} has {} bytes, and a key has {KEY_BYTES}; run `avocet web --sign-out` to replace it",
            file.display(),
            key.len()
        ));
    }
    mac_of(&key).map(Some)
}

fn mac_of(key: &[u8]) -> Result<Hmac<Sha256>, String> {
    Hmac::new_from_slice(key).map_err(|error| error.to_string())
}

fn failed(what: &str, file: &Path, error: &io::Error) -> String {
    format!("cannot {what} {}: {}", file.display(), plain_io(error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use tempfile::TempDir;

    use super::*;

    const END: Timestamp = Timestamp(5_000);

    fn key(directory: &TempDir) -> TokenKey {
        TokenKey::load(directory.path().join("web.key"))
    }

    fn signed() -> SignedToken {
        let sender = SenderId::parse("uid:1000").unwrap();
        SignedToken { browser: "1a2b".to_owned(), sender, expires_at: END }
    }

    #[test]
    fn key_is_made_once_for_the_owner_alone_and_survives_a_restart() {
        let directory = TempDir::new().unwrap();
        let first = key(&directory);
        assert_eq!(first.sign(&signed()), None, "a token needs a key");
        first.make().unwrap();
        first.make().unwrap();
        let file = fs::metadata(&first.file).unwrap();
        assert_eq!((file.mode() & 0o777, file.len()), (0o600, 32));
        let token = first.sign(&signed()).unwrap();
        assert_eq!(key(&directory).verify_token(&token, Timestamp(0)), Some(signed()));
        first.remove().unwrap();
        first.remove().unwrap();
        for key in [first, key(&directory)] {
            assert_eq!(key.verify_token(&token, Timestamp(0)), None, "signed out");
            key.make().unwrap();
            assert_eq!(key.verify_token(&token, Timestamp(0)), None, "another key");
        }
    }

    #[test]
    fn verify_token_refuses_changed_and_expired_tokens() {
        let directory = TempDir::new().unwrap();
        let key = key(&directory);
        key.make().unwrap();
        let token = key.sign(&signed()).unwrap();
        assert_eq!(key.verify_token(&token, Timestamp(END.0 - 1)), Some(signed()));
        assert_eq!(key.verify_token(&token, END), None, "expired");
        let (signed, signature) = token.rsplit_once('.').unwrap();
        for changed in [
            token.replace("uid:1000", "uid:0"),
            token.replace("1a2b", "1a2c"),
            token.replace("1a2b.", ""),
            token.replace("5000", "9000"),
            token.replace("web.", "wob."),
            format!("{signed}."),
            signed.to_owned(),
            format!("{signed}.{}", &signature[2..]),
            format!("{signed}.{signature}00"),
            format!("{signed}.zz{}", &signature[2..]),
            String::new(),
            ".".to_owned(),
        ] {
            assert_eq!(key.verify_token(&changed, Timestamp(0)), None, "{changed}");
        }
    }

    #[test]
    fn damaged_key_is_reported_and_replaced_by_a_sign_out() {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("web.key"), "short").unwrap();
        let key = key(&directory);
        let error = key.make().unwrap_err();
        assert!(error.contains("has 5 bytes") && error.contains("--sign-out"), "{error}");
        key.remove().unwrap();
        key.make().unwrap();
        assert!(key.sign(&signed()).is_some());
    }
}
