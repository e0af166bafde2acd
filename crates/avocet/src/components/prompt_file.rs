//! The file with the prompt of a profile. It belongs to the operator: its path begins at the directory
//! of the configuration, and no tool of the agent writes there.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use avocet_config::ConfigDocument;
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{FileStart, FilesError, PromptFile};
use avocet_supervise::run_blocking;

use crate::configuration::Agent;
use crate::exit::Failure;

/// The file that the key `prompt_file` of a profile names.
#[derive(Debug, Clone)]
pub(crate) struct OperatorPrompt {
    /// The path of the key in the configuration.
    key: String,
    path: PathBuf,
}

impl OperatorPrompt {
    /// Returns the file of an agent; `None` if its profile names none.
    pub(crate) fn from_agent(agent: &Agent) -> Option<Self> {
        let path = agent.prompt_file.clone()?;
        Some(Self { key: agent.profile.path("prompt_file"), path })
    }

    /// Fails if the file cannot be read now.
    pub(crate) fn check(&self, document: &ConfigDocument) -> Result<(), Failure> {
        match read(&self.path, 1) {
            Ok(_) => Ok(()),
            Err(error) => Err(document.error_at(&self.key, self.error(&error).to_string()).into()),
        }
    }

    fn error(&self, error: &io::Error) -> FilesError {
        FilesError(format!("`{}`: cannot read {}: {error}", self.key, self.path.display()))
    }
}

#[async_trait]
impl PromptFile for OperatorPrompt {
    async fn start(&self, limit: u64) -> Result<FileStart, FilesError> {
        let path = self.path.clone();
        let read = run_blocking(move || read(&path, limit)).await;
        let read = read.map_err(|panicked| FilesError(panicked.to_string()))?;
        let (bytes, size) = read.map_err(|error| self.error(&error))?;
        Ok(FileStart { bytes, size, trust: Trust::Full })
    }
}

/// Returns the beginning of a regular file, and the size of the whole file.
fn read(path: &Path, limit: u64) -> io::Result<(Vec<u8>, u64)> {
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn operator_prompt_start_reads_the_current_file_and_names_the_key_in_errors() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("work.md");
        let file = OperatorPrompt { key: "agents.work.prompt_file".to_owned(), path: path.clone() };
        let missing = format!(
            "`agents.work.prompt_file`: cannot read {}: No such file or directory (os error 2)",
            path.display()
        );
        assert_eq!(file.start(5).await, Err(FilesError(missing.clone())));
        assert!(
            file.check(&ConfigDocument::empty()).unwrap_err().error.to_string().contains(&missing)
        );
        for text in ["Be brief.", "Hi"] {
            std::fs::write(&path, text).unwrap();
            let start = file.start(5).await.unwrap();
            let expected: String = text.chars().take(5).collect();
            assert_eq!((start.bytes, start.size), (expected.into_bytes(), text.len() as u64));
            assert!(file.check(&ConfigDocument::empty()).is_ok());
        }
        let directory = OperatorPrompt { path: directory.path().to_owned(), ..file };
        let error = directory.start(5).await.unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}
