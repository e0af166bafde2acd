//! Digests of bytes.

use avocet_text::in_hexadecimal;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of these bytes in hexadecimal.
pub(crate) fn digest_bytes(bytes: &[u8]) -> String {
    in_hexadecimal(&Sha256::digest(bytes))
}
