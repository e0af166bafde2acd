//! Reads text for a command from stdin.

use std::io::{self, IsTerminal, Read};

use avocet_gateway::MAX_LINE_BYTES;

use crate::exit::{Exit, Failure};

/// Returns a text from the command line, or from stdin.
pub(crate) fn text_or_stdin(text: Option<String>) -> Result<String, Failure> {
    match text {
        Some(text) if text != "-" => return Ok(text),
        None if io::stdin().is_terminal() => {
            let message = "there is no text; give it as an argument, or on stdin";
            return Err(Failure::new(Exit::Failed, message));
        }
        _ => {}
    }
    let mut bytes = Vec::new();
    let limit = MAX_LINE_BYTES as u64;
    io::stdin().take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_LINE_BYTES {
        let message = format!("the text is longer than {MAX_LINE_BYTES} bytes; send it as a file");
        return Err(Failure::new(Exit::Failed, message));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            Exit::Failed,
            format!("the text is not UTF-8 (at byte {at}); send it in UTF-8"),
        )
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
