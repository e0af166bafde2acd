//! Pictures that a message names by their paths. A terminal also types the path of a file that is
//! dragged into its window.

use std::fs;
use std::path::{Path, PathBuf};

use avocet_gateway::PublishedFile;
use avocet_protocol::chat::AttachmentKind;
use avocet_supervise::run_blocking;
use avocet_text::plain_io;

/// Bytes of the largest picture.
const LARGEST: u64 = 20 * 1024 * 1024;
/// The most pictures of a message.
const MOST: usize = 10;

/// Endings of names, with their media types.
const TYPES: [(&str, &str); 11] = [
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
];

/// The directories that paths begin with.
#[derive(Debug, Clone, Default)]
pub(crate) struct PictureRoots {
    /// The home directory, for `~/`.
    pub(crate) home: Option<PathBuf>,
    /// The workspace of the agent, for `@`.
    pub(crate) workspace: Option<PathBuf>,
}

/// A picture with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPicture {
    pub(crate) published: PublishedFile,
    pub(crate) bytes: Vec<u8>,
}

/// A message and its pictures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IllustratedText {
    pub(crate) text: String,
    pub(crate) pictures: Vec<NamedPicture>,
    /// One line for each picture, for the person.
    pub(crate) remarks: Vec<String>,
}

/// Reads the pictures that a message names. Words that name no file stay words.
pub(crate) async fn read_pictures(text: &str, roots: &PictureRoots) -> IllustratedText {
    let (text, roots) = (text.to_owned(), roots.clone());
    let unread = IllustratedText { text: text.clone(), ..IllustratedText::default() };
    run_blocking(move || read_all(text, &roots)).await.unwrap_or(unread)
}

fn read_all(text: String, roots: &PictureRoots) -> IllustratedText {
    let mut found = IllustratedText { text, ..IllustratedText::default() };
    let words = split_words(&found.text);
    let paths = words.iter().filter_map(|word| Some((word, picture_path(&word.text, roots)?)));
    let mut replaced = None;
    for (word, (path, media_type)) in paths.take(MOST) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match read_file(&path) {
            Ok(bytes) => {
                found.remarks.push(format!("with the picture {name} ({} bytes)", bytes.len()));
                let published = PublishedFile {
                    reference: uuid::Uuid::new_v4().to_string(),
                    kind: AttachmentKind::Image,
                    name: Some(name.clone()),
                    media_type: Some(media_type.to_owned()),
                    bytes: Some(bytes.len() as u64),
                };
                found.pictures.push(NamedPicture { published, bytes });
                if word.start == 0 {
                    replaced = Some((word.end, name));
                }
            }
            Err(reason) => found.remarks.push(format!("without the picture {name}: {reason}")),
        }
    }
    // A message that begins with `/` would be a command.
    if let Some((end, name)) = replaced.filter(|_| found.text.starts_with('/')) {
        found.text.replace_range(..end, &name);
    }
    found
}

/// Reads a picture that the agent has sent; `None` if it cannot be read, or is outside of the
/// workspace.
pub(crate) async fn read_workspace_picture(roots: &PictureRoots, path: &str) -> Option<Vec<u8>> {
    let workspace = roots.workspace.clone()?;
    let path = workspace.join(path);
    let read = move || {
        let (workspace, path) = (workspace.canonicalize().ok()?, path.canonicalize().ok()?);
        let is_inside = path.starts_with(&workspace) && path.is_file();
        is_inside.then(|| read_file(&path).ok()).flatten()
    };
    run_blocking(read).await.ok()?
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let size = fs::metadata(path).map_err(|error| plain_io(&error))?.len();
    if size > LARGEST {
        return Err(format!("it has {size} bytes; at most {LARGEST} are possible"));
    }
    fs::read(path).map_err(|error| plain_io(&error))
}

/// Returns the path of a picture and its media type; `None` for other words.
fn picture_path(word: &str, roots: &PictureRoots) -> Option<(PathBuf, &'static str)> {
    let word = word.trim_end_matches([',', '.', ';', ':', '!', '?', ')']);
    let (_, ending) = word.rsplit_once('.')?;
    let ending = ending.to_lowercase();
    let (_, media_type) = TYPES.iter().find(|(known, _)| *known == ending)?;
    let path = if let Some(path) = word.strip_prefix("file://") {
        PathBuf::from(path.replace("%20", " "))
    } else if let Some(path) = word.strip_prefix("~/") {
        roots.home.as_ref()?.join(path)
    } else if let Some(path) = word.strip_prefix('@') {
        roots.workspace.as_ref()?.join(path)
    } else if ["/", "./", "../"].iter().any(|start| word.starts_with(start)) {
        PathBuf::from(word)
    } else {
        return None;
    };
    path.is_file().then_some((path, *media_type))
}

/// A word of a message, without the quotes and backslashes of a shell.
#[derive(Debug, PartialEq, Eq)]
struct MessageWord {
    text: String,
    start: usize,
    end: usize,
}

/// Splits a message at blanks. Quotes around a word, and a backslash before a blank, keep blanks.
fn split_words(text: &str) -> Vec<MessageWord> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(skipped) = text[at..].find(|c: char| !c.is_whitespace()) {
        let start = at + skipped;
        let word = quoted_word(text, start).unwrap_or_else(|| plain_word(text, start));
        at = word.end;
        words.push(word);
    }
    words
}

fn quoted_word(text: &str, start: usize) -> Option<MessageWord> {
    let quote = text[start..].chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (inner, behind) = text[start + 1..].split_once(quote)?;
    if behind.chars().next().is_some_and(char::is_alphanumeric) {
        return None;
    }
    Some(MessageWord { text: inner.to_owned(), start, end: start + inner.len() + 2 })
}

fn plain_word(text: &str, start: usize) -> MessageWord {
    let (mut word, mut is_escaped) = (String::new(), false);
    for (place, c) in text[start..].char_indices() {
        match c {
            '\\' if !is_escaped => is_escaped = true,
            c if c.is_whitespace() && !is_escaped => {
                return MessageWord { text: word, start, end: start + place };
            }
            c => {
                word.push(c);
                is_escaped = false;
            }
        }
    }
    MessageWord { text: word, start, end: text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_all_takes_pictures_by_their_paths_and_leaves_other_words() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        for name in ["a.png", "two words.JPG", "notes.txt"] {
            fs::write(home.join(name), "x").unwrap();
        }
        let roots = PictureRoots { home: Some(home.to_owned()), workspace: Some(home.to_owned()) };
        let place = home.display();
        let table = [
            ("see ~/a.png.".to_owned(), vec!["a.png"]),
            ("@a.png and @notes.txt".to_owned(), vec!["a.png"]),
            (format!("'{place}/two words.JPG' it's"), vec!["two words.JPG"]),
            (
                format!("is {place}/two\\ words.JPG file://{place}/a.png"),
                vec!["two words.JPG", "a.png"],
            ),
            ("a.png ~/none.png https://x.example/a.png don't".to_owned(), vec![]),
        ];
        for (text, expected) in table {
            let found = read_all(text.clone(), &roots);
            let names = found.pictures.iter().map(|one| one.published.name.as_deref().unwrap());
            assert_eq!(names.collect::<Vec<_>>(), expected, "{text}");
            assert_eq!((found.text, found.remarks.len()), (text, expected.len()));
        }
        let found = read_all(format!("{place}/a.png what is it?"), &roots);
        assert_eq!(found.text, "a.png what is it?", "it is no command");
        assert_eq!(found.remarks, ["with the picture a.png (1 bytes)"]);
    }
}
