//! Files that a client keeps for its messages, and its answers to `file.read`.

use std::collections::HashMap;
use std::sync::Arc;

use avocet_methods::FilePiece;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::values::read;
use crate::wire::RpcError;

/// The files of a client, by their references.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptFiles(Arc<Mutex<HashMap<String, Arc<[u8]>>>>);

/// The parameters of `file.read`.
#[derive(Debug, Deserialize)]
struct PieceParams {
    reference: String,
    offset: usize,
    /// The most bytes of the piece.
    length: usize,
}

impl KeptFiles {
    pub(crate) fn keep_file(&self, reference: String, bytes: Vec<u8>) {
        let mut files = self.0.lock();
        files.insert(reference, bytes.into());
    }

    pub(crate) fn forget_file(&self, reference: &str) {
        let mut files = self.0.lock();
        files.remove(reference);
    }

    /// Answers `file.read`.
    pub(crate) fn read_piece(&self, params: Value) -> Result<Value, RpcError> {
        let PieceParams { reference, offset, length } = read("file.read", params)?;
        let found = {
            let files = self.0.lock();
            files.get(&reference).cloned()
        };
        let bytes = found.ok_or_else(|| {
            let message = format!("this client does not keep the file {reference:?}");
            RpcError::new(RpcError::NOT_FOUND, message)
        })?;
        let start = offset.min(bytes.len());
        let end = start.saturating_add(length).min(bytes.len());
        Ok(json!(FilePiece { data: BASE64.encode(&bytes[start..end]) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_files_piece_returns_the_bytes_until_the_file_is_forgotten() {
        let files = KeptFiles::default();
        files.keep_file("f".to_owned(), b"hello".to_vec());
        let piece = |offset| {
            let params = json!({ "reference": "f", "offset": offset, "length": 3 });
            files.read_piece(params).map(|piece| piece["data"].as_str().unwrap().to_owned())
        };
        let pieces = [0, 3, 5].map(|offset| piece(offset).unwrap());
        assert_eq!(pieces, [BASE64.encode("hel"), BASE64.encode("lo"), String::new()]);
        files.forget_file("f");
        assert_eq!(piece(0).unwrap_err().code, RpcError::NOT_FOUND);
    }
}
