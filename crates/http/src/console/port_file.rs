//! The port of the console's links, kept for the next start of the daemon. Open pages then connect
//! again by themselves. The file names the end of the last token, too: after it no browser is signed
//! in, and the port stays closed.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use avocet_protocol::clock::Timestamp;
use avocet_text::plain_io;

use super::private_file::write_private_file;

/// The file of the port. Its text is `PORT END`, with the end in milliseconds since 1970.
#[derive(Debug)]
pub(super) struct PortFile {
    file: PathBuf,
}

impl PortFile {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns the port if a token for it may still be valid. An unreadable file only costs a new
    /// link.
    pub(super) fn read_port(&self, now: Timestamp) -> Option<u16> {
        let text = match fs::read_to_string(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            read => read.inspect_err(|error| {
                let file = self.file.display();
                let error = plain_io(error);
                tracing::warn!(%file, %error, "the port of the web console stays closed");
            }),
        };
        let text = text.ok()?;
        let (port, end) = text.trim_end().split_once(' ')?;
        let port = port.parse().ok().filter(|port| *port > 0)?;
        (now < Timestamp(end.parse().ok()?)).then_some(port)
    }

    /// Keeps a port until the end of the last token for it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write_port(&self, port: u16, end: Timestamp) -> Result<(), String> {
        let text = format!("{port} {}\n", end.0);
        write_private_file(&self.file, text.as_bytes())
            .map_err(|error| format!("cannot write {}: {}", self.file.display(), plain_io(&error)))
    }

    /// Removes the file, so that the next start opens no port.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub(super) fn remove(&self) -> Result<(), String> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("cannot remove {}: {}", self.file.display(), plain_io(&error)))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn port_file_names_a_port_until_the_last_token_has_ended() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("web.port");
        let file = PortFile::new(path.clone());
        assert_eq!(file.read_port(Timestamp(0)), None, "there is no file");
        file.write_port(8470, Timestamp(5_000)).unwrap();
        file.write_port(8471, Timestamp(6_000)).unwrap();
        assert_eq!(file.read_port(Timestamp(5_999)), Some(8471));
        assert_eq!(file.read_port(Timestamp(6_000)), None, "no browser is signed in");
        for damaged in ["", "8470", "0 6000", "70000 6000", "8470 soon", "\u{0}", "8470 6000 1"] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(file.read_port(Timestamp(0)), None, "{damaged:?}");
        }
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(file.read_port(Timestamp(0)), None);
        file.remove().unwrap();
        file.remove().unwrap();
        assert!(!path.exists());
    }
}
