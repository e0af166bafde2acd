//! The output of a program: its beginning, its end, and the number of bytes between them.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The output of a program, standard output and standard error in one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
    most: usize,
}

impl SandboxOutput {
    /// Creates an empty output. Of a long one, `most` bytes are kept, half of them from its end.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), left_out: 0, most }
    }

    /// Adds printed bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let (of_head, of_tail) = (self.most / 2, self.most - self.most / 2);
        let (first, rest) = bytes.split_at(bytes.len().min(of_head - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(of_tail);
        self.tail.drain(..surplus);
        self.left_out += surplus as u64;
    }

    /// Reads to the end of the stream, even past the kept bytes: a full pipe blocks its writer.
    pub(super) async fn drain_stream(
        &mut self,
        mut from: impl AsyncRead + Unpin,
        on_output: &impl Fn(&[u8]),
    ) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            on_output(&buffer[..read]);
            self.push(&buffer[..read]);
        }
    }

    /// Returns the output as text, with a line that counts the bytes left out.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (first, second) = self.tail.as_slices();
        let tail = [first, second].concat();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out)
    }

    /// Returns the number of printed bytes.
    #[must_use]
    pub fn count_bytes(&self) -> u64 {
        self.left_out + (self.head.len() + self.tail.len()) as u64
    }
}
