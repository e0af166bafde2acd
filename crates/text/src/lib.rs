//! Tools for texts, one file each: what is cut, hidden, searched or drawn. Knows no message, no
//! session and no file.

mod append;
mod complete_part;
mod exact;
mod hexadecimal;
mod key_shapes;
mod main_argument;
mod nearest;
mod odd_name;
mod pattern;
mod plain;
mod printable;
mod redact;
mod search_words;
mod secret;
mod table;
mod text;
mod views;

pub use append::{append_line, append_text};
pub use complete_part::complete_beginning;
pub use exact::{MixedWord, escape_invisible, find_mixed_words};
pub use hexadecimal::in_hexadecimal;
pub use main_argument::{in_one_line, main_argument, whole_main_argument};
pub use nearest::nearest;
pub use odd_name::{is_odd_list, is_odd_name, is_odd_output, is_odd_path, is_part_of_order};
pub use pattern::{fits_pattern, specificity};
pub use plain::{plain_error, plain_io, plain_json};
pub use printable::{printable, printable_json};
pub use redact::{Found, FoundSecret, REDACTED, Redactor};
pub use search_words::{index_text, match_query, snippet};
pub use secret::Secret;
pub use table::{PlainTable, bar};
pub use text::{Sanitised, cut_texts, end_sentence, sanitise};
