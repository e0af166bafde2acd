//! The system prompt: the program's own text, and the text of its people in the workspace.

use avocet_protocol::access::Trust;
use avocet_protocol::tool::{Files, FilesError, PromptFile};
use avocet_text::sanitise;

/// Files of the workspace that are part of the instructions if they exist, in this order.
const FILES: [(&str, &str); 4] = [
    ("SOUL.md", "Who you are"),
    ("AGENTS.md", "How you work"),
    ("USER.md", "The people you work for"),
    ("TOOLS.md", "About your tools"),
];

/// The most bytes of a file in the instructions: about 5,000 tokens.
const MAX_BYTES: u64 = 20_000;

/// The source of the part that is in the operator's file.
const PROMPT_FILE: &str = "prompt_file";
/// The source of the part that lists the skills.
const SKILLS: &str = "skills";

/// The instructions that lead every request of a turn, by their source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instructions {
    pub(crate) parts: Vec<InstructionPart>,
}

/// The text of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstructionPart {
    /// `built-in`, [`PROMPT_FILE`], the name of a file, or [`SKILLS`].
    pub(crate) source: &'static str,
    pub(crate) text: String,
}

impl Instructions {
    /// Reads the built-in text, the operator's file, and the current files of the workspace. Of
    /// those, only trusted ones are used, so that only the owners can set rules.
    ///
    /// # Errors
    /// [`FilesError`] if the operator's file cannot be read.
    pub(crate) async fn read(
        built_in: &str,
        file: Option<&dyn PromptFile>,
        files: &dyn Files,
    ) -> Result<Self, FilesError> {
        let mut parts = vec![InstructionPart { source: "built-in", text: built_in.to_owned() }];
        if let Some(file) = file {
            let start = file.start(MAX_BYTES).await?;
            let text = clean_text(&start.bytes, start.size);
            parts.push(InstructionPart { source: PROMPT_FILE, text });
        }
        for (source, title) in FILES {
            let start = match files.start_of(source, MAX_BYTES).await {
                Ok(Some(start)) if start.trust == Trust::Full => start,
                Ok(Some(start)) => {
                    let trust = start.trust.as_str();
                    tracing::warn!(
                        file = source,
                        trust,
                        "this file is left out of the instructions, because it is untrusted: its \
                            content may come from somebody who is not an owner. Read it; if it is \
                            good, run: avocet trust --believe FILE"
                    );
                    continue;
                }
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(
                        file = source,
                        %error,
                        "this file is left out of the instructions"
                    );
                    continue;
                }
            };
            let words = clean_text(&start.bytes, start.size);
            if !words.is_empty() {
                parts.push(InstructionPart {
                    source,
                    text: format!("# {title} ({source})\n\n{words}"),
                });
            }
        }
        Ok(Self { parts })
    }

    /// Adds the list of skills behind the other parts.
    pub(crate) fn add_skills(&mut self, text: String) {
        self.parts.push(InstructionPart { source: SKILLS, text });
    }

    /// Returns `true` if the instructions list skills.
    pub(crate) fn have_skills(&self) -> bool {
        self.parts.iter().any(|part| part.source == SKILLS)
    }

    /// Joins all parts.
    pub(crate) fn join_parts(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().map(|part| part.text.as_str()).collect();
        texts.join("\n\n")
    }
}

/// Cleans the beginning of a file of `size` bytes.
fn clean_text(bytes: &[u8], size: u64) -> String {
    let whole = bytes.len() as u64 == size;
    // The cut may be within a character.
    let bytes = match std::str::from_utf8(bytes) {
        Err(error) if !whole && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    };
    let text = sanitise(&String::from_utf8_lossy(bytes)).text.trim().to_owned();
    if whole {
        return text;
    }
    let shown = bytes.len();
    tracing::warn!(shown, size, "an instruction file is too long; only its beginning is used");
    format!("{text}\n[cut: {shown} of {size} bytes are shown; read_file shows the rest]")
}

#[cfg(test)]
#[path = "instructions_tests.rs"]
mod tests;
