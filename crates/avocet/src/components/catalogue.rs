//! The catalogue of models: the shipped one, or the one that `avocet models update` wrote into the
//! data directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use avocet_llm::ModelCatalogue;
use avocet_text::plain_io;

use crate::disk;

/// Returns the file of an updated catalogue.
pub(crate) fn catalogue_path(data_dir: &Path) -> PathBuf {
    data_dir.join("models.txt")
}

/// Reads the updated catalogue; the shipped one if there is none.
pub(crate) fn read(file: &Path) -> ModelCatalogue {
    let error = match fs::read_to_string(file) {
        Ok(text) => match ModelCatalogue::read(text, "", "") {
            Ok(catalogue) => return catalogue,
            Err(error) => error.to_string(),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => return ModelCatalogue::default(),
        Err(error) => plain_io(&error),
    };
    let file = file.display();
    tracing::warn!(%file, error, "cannot read the catalogue of models; using the shipped one");
    ModelCatalogue::default()
}

/// Replaces the updated catalogue atomically.
pub(crate) fn replace_file(file: &Path, catalogue: &ModelCatalogue) -> io::Result<()> {
    disk::replace_file(file, catalogue.as_text().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_uses_the_shipped_catalogue_until_a_valid_one_is_there() {
        let home = tempfile::tempdir().unwrap();
        let file = catalogue_path(home.path());
        assert_eq!(read(&file), ModelCatalogue::default());
        fs::write(&file, "avocet models 1\n").unwrap();
        assert_eq!(read(&file), ModelCatalogue::default());
        let text = "avocet models 1\nsource s\ndate d\n\n[a]\nm 1 1 - - - - -\n".to_owned();
        let updated = ModelCatalogue::read(text, "", "").unwrap();
        replace_file(&file, &updated).unwrap();
        assert_eq!(read(&file), updated);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }
}
