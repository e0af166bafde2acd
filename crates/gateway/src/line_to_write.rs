//! A line that a client writes to the daemon.

use tokio::sync::oneshot;

use crate::wire::RpcMessage;

/// A line for the daemon.
#[derive(Debug)]
pub(crate) struct LineToWrite {
    pub(crate) bytes: Vec<u8>,
    /// Reports that the socket has the line.
    pub(crate) written: Option<oneshot::Sender<()>>,
}

impl LineToWrite {
    /// Returns the bytes of the line.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl From<RpcMessage> for LineToWrite {
    fn from(message: RpcMessage) -> Self {
        Self { bytes: message.to_line(), written: None }
    }
}
