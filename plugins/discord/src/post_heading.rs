//! The first line of a forum's post, in both directions: `[post: TITLE; tags: A, B]`. Without the
//! line, an outgoing text begins with the title.

use std::fmt;

use crate::discord::threads::{MAX_NAME, short_name};

/// The beginning and the end of the line, and the beginning of its tags.
const BEGIN: &str = "[post: ";
const TAGS: &str = "; tags: ";
const END: char = ']';

/// The title and the tags of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PostHeading {
    /// At most 100 characters.
    pub(crate) title: String,
    /// The names of the tags, in the given order.
    pub(crate) tags: Vec<String>,
}

impl PostHeading {
    /// Splits an outgoing text into the heading and the text of the post. The title is that of the
    /// first line, the first line itself if that is a heading of Markdown, or the beginning of the
    /// text.
    pub(crate) fn split(text: &str) -> (Self, &str) {
        let text = text.trim();
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (first, rest) = (first.trim(), rest.trim());
        if let Some(heading) = Self::read(first) {
            return (heading, rest);
        }
        let name = first.trim_start_matches('#').strip_prefix(' ').map(str::trim);
        let is_heading = first.starts_with('#') && !rest.is_empty();
        match name.filter(|name| is_heading && !name.is_empty()) {
            Some(name) => (Self { title: shortened(name), tags: Vec::new() }, rest),
            None => (Self { title: short_name(text), tags: Vec::new() }, text),
        }
    }

    /// Reads the line; `None` for another one.
    fn read(line: &str) -> Option<Self> {
        let inner = line.strip_prefix(BEGIN)?.strip_suffix(END)?;
        let (title, tags) = inner.rsplit_once(TAGS).unwrap_or((inner, ""));
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        let title = shortened(title.trim());
        (!title.is_empty()).then(|| Self { title, tags: tags.map(str::to_owned).collect() })
    }
}

impl fmt::Display for PostHeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGIN}{}", self.title)?;
        if !self.tags.is_empty() {
            write!(f, "{TAGS}{}", self.tags.join(", "))?;
        }
        write!(f, "{END}")
    }
}

fn shortened(title: &str) -> String {
    title.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::PostHeading;

    #[test]
    fn split_finds_title_tags_and_text() {
        let long = format!("# {}\ntext", "x".repeat(150));
        let cut = "x".repeat(100);
        let cases: [(&str, &str, &[&str], &str); 9] = [
            ("[post: News; tags: bug, linux]\n\nIt works.", "News", &["bug", "linux"], "It works."),
            ("[post: News]\nIt works.", "News", &[], "It works."),
            ("[post: A; tags: b; tags: c]\nx", "A; tags: b", &["c"], "x"),
            ("[post: Only a title]", "Only a title", &[], ""),
            ("## Weekly news\n\nIt works.", "Weekly news", &[], "It works."),
            ("# Alone", "# Alone", &[], "# Alone"),
            ("#hash first\nnext", "#hash first next", &[], "#hash first\nnext"),
            ("[post: ]\nno title", "[post: ] no title", &[], "[post: ]\nno title"),
            (&long, &cut, &[], "text"),
        ];
        for (text, title, tags, body) in cases {
            let (heading, rest) = PostHeading::split(text);
            let found: Vec<&str> = heading.tags.iter().map(String::as_str).collect();
            assert_eq!((heading.title.as_str(), &found[..], rest), (title, tags, body), "{text}");
        }
    }

    #[test]
    fn display_of_a_heading_is_read_back() {
        for line in ["[post: News; tags: bug, linux]", "[post: News]"] {
            assert_eq!(PostHeading::split(line).0.to_string(), line);
        }
    }
}
