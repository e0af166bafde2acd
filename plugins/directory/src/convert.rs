//! Converts a file of the inbox into a message for the agent.

use avocet_protocol::chat::{ChatAddress, Content, Inbound, Sender};
use avocet_protocol::ids::{DedupeKey, SenderId};

use crate::folders::{MAX_BYTES, TakenFile};

/// Converts a file. The error is the reason to refuse it.
pub(crate) fn inbound(
    chat: &ChatAddress,
    sender: &SenderId,
    file: TakenFile,
) -> Result<Inbound, String> {
    let TakenFile { name, bytes, written_at, taken_at } = file;
    let Some(name) = name.to_str().filter(|name| name.ends_with(".txt")) else {
        return Err("its name is not UTF-8, or does not end in .txt".to_owned());
    };
    let Some(bytes) = bytes else {
        return Err("it is not a regular file that the daemon's user may read".to_owned());
    };
    if bytes.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    // The same file has the same key after a crash. A later file may have the same name, but it is
    // taken at another time.
    let key = DedupeKey::parse(&format!("{name} {taken_at}"))
        .map_err(|error| format!("its name cannot be used: {error}"))?;
    let sender = Sender::new(sender.clone());
    let message = Inbound::new(chat.clone(), sender, key, Content::text(text.trim_end()));
    Ok(Inbound { written_at: Some(written_at), ..message })
}
