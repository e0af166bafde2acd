//! What a program prints, as it was printed: its beginning and its end, and how much is between.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// What a program has printed, standard output and standard error in one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
    most: usize,
}

impl Output {
    /// Nothing yet; of a long output, `most` bytes are kept, half of them from its end.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), left_out: 0, most }
    }

    /// Takes what was printed.
    pub fn push(&mut self, bytes: &[u8]) {
        let (of_head, of_tail) = (self.most / 2, self.most - self.most / 2);
        let (first, rest) = bytes.split_at(bytes.len().min(of_head - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(of_tail);
        self.tail.drain(..surplus);
        self.left_out += surplus as u64;
    }

    /// Reads until there is no more, also what is not kept: a full pipe holds its writer up.
    pub(super) async fn drain(&mut self, mut from: impl AsyncRead + Unpin, heard: &impl Fn(&[u8])) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            heard(&buffer[..read]);
            self.push(&buffer[..read]);
        }
    }

    /// As a text, with a line that says how much is left out.
    #[must_use]
    pub fn text(&self) -> String {
        let (first, second) = self.tail.as_slices();
        let tail = [first, second].concat();
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {} bytes left out …]\n{tail}", self.left_out)
    }

    /// How many bytes were printed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.left_out + (self.head.len() + self.tail.len()) as u64
    }
}
