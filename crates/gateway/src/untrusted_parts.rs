//! The parts of a published message that its sender did not type.

use avocet_methods::UntrustedPart;
use avocet_protocol::chat::Quote;

use crate::wire::RpcError;

/// The most parts of one kind in a message.
const MAX_PARTS: usize = 100;

/// Returns the parts of a message that stand in the parameter `kind`. Parts without text are left
/// out.
pub(crate) fn read_parts(
    method: &str,
    kind: &str,
    parts: Vec<UntrustedPart>,
) -> Result<Vec<Quote>, RpcError> {
    if parts.len() > MAX_PARTS {
        let count = parts.len();
        let message = format!(
            "{method}: {kind} has {count} parts; at most {MAX_PARTS} are possible: join some of them"
        );
        return Err(RpcError::new(RpcError::PARAMS, message));
    }
    let parts = parts.into_iter().filter(|part| !part.text.trim().is_empty());
    Ok(parts.map(|UntrustedPart { from, text }| Quote { from, text }).collect())
}
