//! The hash of an audit row, with and without its texts.
//!
//! A row has texts of people, which may have to be erased: the conversation, the author, the tool,
//! the digest of the arguments, and the summary. The hash of a row therefore covers a digest of
//! each text, and the digest takes the place of the text when it is erased. Each digest has a salt
//! of its own: without it, a short text could be found again by trying all texts.
//!
//! ```text
//! version  texts    hash of the row covers     who proves the rest of the row
//! 2        whole    salted digests             its own hash
//! 2        erased   the digests in `seals`     its own hash, as before
//! 1        whole    the texts                  its own hash
//! 1        erased   cannot be computed         the digest of the last `erased` row
//! ```
//!
//! The hash of an erased row of version 1 still links the chain, because the row behind it
//! contains that hash.

use std::collections::BTreeMap;

use avocet_protocol::store::AuditRow;
use avocet_text::in_hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of new rows.
pub(super) const NEW_VERSION: i64 = 2;

/// A text of a row that can be erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErasableText {
    Session,
    Actor,
    Tool,
    Digest,
    Summary,
}

impl ErasableText {
    pub(crate) const ALL: [Self; 5] =
        [Self::Session, Self::Actor, Self::Tool, Self::Digest, Self::Summary];

    /// The column of the table.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Actor => "actor",
            Self::Tool => "tool",
            Self::Digest => "digest",
            Self::Summary => "summary",
        }
    }

    fn value(self, row: &AuditRow) -> Option<&str> {
        match self {
            Self::Session => row.session.as_deref(),
            Self::Actor => Some(&row.actor),
            Self::Tool => row.tool.as_deref(),
            Self::Digest => row.digest.as_deref(),
            Self::Summary => Some(&row.summary),
        }
    }

    /// The value of the column after the erasure.
    pub(crate) fn erased_value(self) -> Option<&'static str> {
        match self {
            Self::Session | Self::Tool | Self::Digest => None,
            Self::Actor | Self::Summary => Some(AuditRow::ERASED),
        }
    }
}

/// A text as a row with erased texts seals it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextSeal {
    /// The digest of the erased text.
    Digest(String),
    /// The salt of a text that is still there.
    Salt(String),
}

/// A row with the columns that only the chain needs.
#[derive(Debug, Clone)]
pub(super) struct StoredRow {
    pub(super) row: AuditRow,
    pub(super) version: i64,
    pub(super) salt: Option<String>,
    /// JSON of [`TextSeal`]s by column.
    pub(super) seals: Option<String>,
}

/// The proof that a row is unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowProof {
    /// The hash that the row must have.
    OwnHash(String),
    /// A row of version 1 with erased texts: the hash of the rest, which a later row proves.
    LaterRow(String),
}

impl StoredRow {
    /// Returns the proof of the row; `None` if its columns contradict each other.
    pub(super) fn proof(&self) -> Option<RowProof> {
        match (self.version, &self.salt, &self.seals) {
            (1, None, None) => Some(RowProof::OwnHash(self.hash_texts())),
            (1, None, Some(_)) => {
                self.hash_digests("avocet audit 1, erased\n").map(RowProof::LaterRow)
            }
            (2, Some(_), None) | (2, None, Some(_)) => {
                self.hash_digests("avocet audit 2\n").map(RowProof::OwnHash)
            }
            _ => None,
        }
    }

    /// Returns the hash of version 1.
    fn hash_texts(&self) -> String {
        let mut hasher = RowHasher(Sha256::new_with_prefix("avocet audit 1\n"));
        let row = &self.row;
        hasher.add_integer(Some(row.sequence));
        hasher.add_integer(Some(row.at.0));
        hasher.add_text(Some(&row.kind));
        hasher.add_text(row.session.as_deref());
        hasher.add_integer(row.turn);
        hasher.add_text(row.call.as_deref());
        hasher.add_text(Some(&row.actor));
        hasher.add_text(row.tool.as_deref());
        hasher.add_text(row.digest.as_deref());
        hasher.add_text(Some(&row.summary));
        hasher.add_text(row.outcome.as_deref());
        hasher.add_text(Some(&row.previous));
        in_hexadecimal(&hasher.0.finalize())
    }

    /// Returns the hash over the digests of the texts; `None` if a text does not fit to its seal.
    fn hash_digests(&self, prefix: &str) -> Option<String> {
        let mut hasher = RowHasher(Sha256::new_with_prefix(prefix));
        let row = &self.row;
        hasher.add_integer(Some(row.sequence));
        hasher.add_integer(Some(row.at.0));
        hasher.add_text(Some(&row.kind));
        hasher.add_integer(row.turn);
        hasher.add_text(row.call.as_deref());
        hasher.add_text(row.outcome.as_deref());
        hasher.add_text(Some(&row.previous));
        if self.version == 1 {
            hasher.add_text(Some(&row.hash));
        }
        let seals = self.read_seals()?;
        for text in ErasableText::ALL {
            let digest = match seals.get(text.column())? {
                TextSeal::Digest(digest) if text.value(row) == text.erased_value() => {
                    digest.clone()
                }
                TextSeal::Digest(_) => return None,
                TextSeal::Salt(salt) => text_digest(salt, text.value(row)),
            };
            hasher.add_text(Some(&digest));
        }
        Some(in_hexadecimal(&hasher.0.finalize()))
    }

    /// Returns the seals of a row; those of a whole row are derived from its salt.
    fn read_seals(&self) -> Option<BTreeMap<String, TextSeal>> {
        match (&self.seals, &self.salt) {
            (Some(seals), _) => serde_json::from_str(seals).ok(),
            (None, Some(salt)) => Some(seals_from_salt(salt)),
            (None, None) => None,
        }
    }

    /// Replaces texts by their digests. `new_salt` is for a row that has none. Returns `false` if
    /// nothing was left to erase.
    pub(super) fn erase_texts(&mut self, texts: &[ErasableText], new_salt: &str) -> bool {
        let mut seals = self.read_seals().unwrap_or_else(|| seals_from_salt(new_salt));
        let mut has_changed = false;
        for text in texts {
            let value = text.value(&self.row);
            if value.is_none() {
                continue;
            }
            if let Some(TextSeal::Salt(salt)) = seals.get(text.column()) {
                let digest = text_digest(salt, value);
                seals.insert(text.column().to_owned(), TextSeal::Digest(digest));
                has_changed = true;
            }
        }
        if !has_changed {
            return false;
        }
        for text in ErasableText::ALL {
            if matches!(seals.get(text.column()), Some(TextSeal::Digest(_))) {
                self.clear_text(text);
            }
        }
        (self.salt, self.row.erased) = (None, true);
        self.seals = serde_json::to_string(&seals).ok();
        true
    }

    fn clear_text(&mut self, text: ErasableText) {
        let erased = text.erased_value().map(str::to_owned);
        match text {
            ErasableText::Session => self.row.session = erased,
            ErasableText::Actor => self.row.actor = erased.unwrap_or_default(),
            ErasableText::Tool => self.row.tool = erased,
            ErasableText::Digest => self.row.digest = erased,
            ErasableText::Summary => self.row.summary = erased.unwrap_or_default(),
        }
    }
}

fn seals_from_salt(salt: &str) -> BTreeMap<String, TextSeal> {
    let seal = |text: ErasableText| {
        let derived = in_hexadecimal(&Sha256::digest(format!("{salt} {}", text.column())));
        (text.column().to_owned(), TextSeal::Salt(derived))
    };
    ErasableText::ALL.into_iter().map(seal).collect()
}

fn text_digest(salt: &str, value: Option<&str>) -> String {
    let mut hasher = RowHasher(Sha256::new());
    hasher.add_text(Some(salt));
    hasher.add_text(value);
    in_hexadecimal(&hasher.0.finalize())
}

/// Hashes an unambiguous encoding of values. Integers have eight bytes (little-endian); texts follow
/// their length. Before each value, one byte is 0 for NULL and 1 otherwise.
struct RowHasher(Sha256);

impl RowHasher {
    fn add_integer(&mut self, value: Option<i64>) {
        match value {
            None => self.0.update([0]),
            Some(value) => {
                self.0.update([1]);
                self.0.update(value.to_le_bytes());
            }
        }
    }

    fn add_text(&mut self, value: Option<&str>) {
        self.add_integer(value.map(|text| i64::try_from(text.len()).unwrap_or(i64::MAX)));
        self.0.update(value.unwrap_or_default());
    }
}
