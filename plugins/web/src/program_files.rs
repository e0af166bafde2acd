//! Files that programs upload through OpenAI's API "Files". Each has a description beside it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::bus::{ProgramFile, ProgramFiles};
use avocet_protocol::channel::{FetchError, UploadError, UploadSink, Uploads};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ids::SenderId;

use crate::UploadStore;
use crate::uploads::{in_file, write_new_file};

/// The end of the name of a description. The rest is the reference of its file.
const DESCRIPTION: &str = ".json";

/// Keeps the files of programs in a directory of their own: the uploads of the web console cannot
/// refer to them.
#[derive(Debug)]
pub struct ProgramFileStore {
    bytes: UploadStore,
    directory: PathBuf,
    clock: Arc<dyn Clock>,
}

impl ProgramFileStore {
    /// Keeps files of at most `limit` bytes in a directory, which the first file makes.
    #[must_use]
    pub fn new(directory: PathBuf, limit: u64, clock: Arc<dyn Clock>) -> Self {
        Self { bytes: UploadStore::new(directory.clone(), limit, clock.clone()), directory, clock }
    }

    /// Removes the files that have expired, and those that never got a description.
    pub(crate) async fn remove_expired(&self) {
        let (directory, now) = (self.directory.clone(), self.clock.now());
        match in_file(move || remove_expired(&directory, now)).await.map_err(unreadable) {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "removed expired files of programs"),
            Err(error) => {
                let error = error.to_string();
                tracing::warn!(error, "cannot remove expired files of programs; retrying in 1 h");
            }
        }
        self.bytes.remove_old().await;
    }

    fn description(&self, reference: &str) -> Option<PathBuf> {
        let path = self.bytes.find_path(reference)?;
        Some(path.with_extension(&DESCRIPTION[1..]))
    }
}

#[async_trait]
impl ProgramFiles for ProgramFileStore {
    fn max_bytes(&self) -> u64 {
        self.bytes.max_bytes()
    }

    async fn begin_file(&self) -> Result<Box<dyn UploadSink>, UploadError> {
        self.bytes.begin().await
    }

    async fn describe_file(&self, file: &ProgramFile) -> Result<(), UploadError> {
        let path = self.description(&file.reference).ok_or_else(unknown)?;
        let text = serde_json::to_vec(file);
        let text = text.map_err(|error| UploadError::Failed(error.to_string()))?;
        in_file(move || write_new_file(&path, &text)).await
    }

    async fn list_files(&self, owner: &SenderId) -> Result<Vec<ProgramFile>, UploadError> {
        let (directory, now, owner) = (self.directory.clone(), self.clock.now(), owner.clone());
        let mut files = in_file(move || read_all(&directory)).await.map_err(unreadable)?;
        files.retain(|file| file.owner == owner && file.expires_at > now);
        files.sort_by(|one, other| {
            let order = |file: &ProgramFile| (file.created_at, file.reference.clone());
            order(other).cmp(&order(one))
        });
        Ok(files)
    }

    async fn find_file(
        &self,
        owner: &SenderId,
        reference: &str,
    ) -> Result<Option<ProgramFile>, UploadError> {
        let Some(path) = self.description(reference) else { return Ok(None) };
        let found = in_file(move || read_description(&path)).await.map_err(unreadable)?;
        let now = self.clock.now();
        Ok(found.filter(|file| file.owner == *owner && file.expires_at > now))
    }

    async fn read_file(&self, file: &ProgramFile) -> Result<Vec<u8>, FetchError> {
        self.bytes.read(&file.reference, file.bytes).await
    }

    async fn remove_file(&self, file: &ProgramFile) -> Result<(), UploadError> {
        let path = self.bytes.find_path(&file.reference).ok_or_else(unknown)?;
        in_file(move || remove(&path)).await.map_err(unreadable)
    }
}

/// The error of a read, whose words are not about storing.
fn unreadable(error: UploadError) -> UploadError {
    match error {
        UploadError::Failed(why) | UploadError::Full(why) => UploadError::Unreadable(why),
        error => error,
    }
}

fn unknown() -> UploadError {
    UploadError::Failed("it has no valid reference".to_owned())
}

/// Returns the descriptions of a directory. Files of another form are left out.
fn read_all(directory: &Path) -> io::Result<Vec<ProgramFile>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == &DESCRIPTION[1..]) {
            found.extend(read_description(&path)?);
        }
    }
    Ok(found)
}

/// Reads a description; `None` if there is none, or it is not one of this version.
fn read_description(path: &Path) -> io::Result<Option<ProgramFile>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let read = serde_json::from_slice::<ProgramFile>(&text);
    if let Err(error) = &read {
        tracing::debug!(path = %path.display(), %error, "not the description of a file");
    }
    // The name of the file decides: a copy must not refer to another file.
    let is_own = |file: &ProgramFile| path.file_stem().is_some_and(|stem| *stem == *file.reference);
    Ok(read.ok().filter(is_own))
}

/// Removes a file, and then its description: a half that stays is found again.
fn remove(path: &Path) -> io::Result<()> {
    for path in [path, &path.with_extension(&DESCRIPTION[1..])] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Removes the files whose time is over, and returns their number.
fn remove_expired(directory: &Path, now: Timestamp) -> io::Result<u64> {
    let mut removed = 0;
    for file in read_all(directory)? {
        if file.expires_at <= now {
            remove(&directory.join(&file.reference))?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use avocet_testkit::ManualClock;
    use tempfile::TempDir;

    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    struct World {
        directory: TempDir,
        clock: Arc<ManualClock>,
        store: ProgramFileStore,
    }

    impl World {
        fn new() -> Self {
            let (directory, clock) = (TempDir::new().unwrap(), Arc::<ManualClock>::default());
            let store = ProgramFileStore::new(directory.path().join("files"), 8, clock.clone());
            Self { directory, clock, store }
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.directory.path().join("files")).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }

        /// Stores a file of a client for a time.
        async fn upload(&self, owner: &str, name: &str, kept: Duration) -> ProgramFile {
            let mut upload = self.store.begin_file().await.unwrap();
            upload.write(name.as_bytes()).await.unwrap();
            let stored = upload.finish().await.unwrap();
            let file = ProgramFile {
                reference: stored.reference,
                owner: owner.parse().unwrap(),
                name: name.to_owned(),
                media_type: None,
                purpose: "user_data".to_owned(),
                bytes: stored.bytes,
                created_at: self.clock.now(),
                expires_at: self.clock.now().after(kept),
            };
            self.store.describe_file(&file).await.unwrap();
            file
        }
    }

    fn owner(name: &str) -> SenderId {
        name.parse().unwrap()
    }

    #[tokio::test]
    async fn find_file_and_list_files_show_a_client_its_own_files_only() {
        let world = World::new();
        assert_eq!(world.store.list_files(&owner("http:a")).await, Ok(Vec::new()));
        let first = world.upload("http:a", "one", DAY).await;
        world.clock.advance(Duration::from_secs(1));
        let (other, last) =
            (world.upload("http:b", "two", DAY).await, world.upload("http:a", "three", DAY).await);
        let expected = Ok(vec![last.clone(), first.clone()]);
        assert_eq!(world.store.list_files(&owner("http:a")).await, expected);
        for (client, file, is_seen) in
            [("http:a", &first, true), ("http:b", &first, false), ("http:b", &other, true)]
        {
            let found = world.store.find_file(&owner(client), &file.reference).await;
            assert_eq!(found, Ok(is_seen.then(|| file.clone())), "{client} {file:?}");
        }
        assert_eq!(world.store.read_file(&last).await, Ok(b"three".to_vec()));
        for reference in ["", ".", "../web.key", &first.reference[1..]] {
            let found = world.store.find_file(&owner("http:a"), reference).await;
            assert_eq!(found, Ok(None), "{reference}");
        }
        let description = format!("files/{}.json", first.reference);
        let mode = fs::metadata(world.directory.path().join(description)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn remove_expired_removes_a_file_with_its_description_at_its_time() {
        let world = World::new();
        let (short, long) = (
            world.upload("http:a", "short", DAY).await,
            world.upload("http:a", "long", DAY * 7).await,
        );
        world.clock.advance(DAY);
        assert_eq!(world.store.find_file(&short.owner, &short.reference).await, Ok(None));
        assert_eq!(world.store.list_files(&short.owner).await, Ok(vec![long.clone()]));
        world.store.remove_expired().await;
        let reference = &long.reference;
        assert_eq!(world.names(), [reference.clone(), format!("{reference}.json")]);
        world.store.remove_file(&long).await.unwrap();
        world.store.remove_file(&long).await.unwrap();
        assert_eq!(world.names(), Vec::<String>::new());
        let gone = world.store.read_file(&long).await;
        assert!(matches!(gone, Err(FetchError::Gone(_))), "{gone:?}");
    }

    #[tokio::test]
    async fn read_all_leaves_out_descriptions_of_another_form() {
        let world = World::new();
        let file = world.upload("http:a", "one", DAY).await;
        let copy = serde_json::to_vec(&file).unwrap();
        let odd = "0123456789abcdef0123456789abcdef";
        for (name, text) in [(odd, &copy[..]), ("x", b"{}"), ("y", b"[")] {
            fs::write(world.directory.path().join(format!("files/{name}.json")), text).unwrap();
        }
        assert_eq!(world.store.list_files(&file.owner).await, Ok(vec![file.clone()]));
        assert_eq!(world.store.find_file(&file.owner, odd).await, Ok(None));
    }
}
