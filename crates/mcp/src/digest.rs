//! Digests of bytes.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of these bytes in hexadecimal.
pub(crate) fn digest_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
