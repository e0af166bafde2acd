//! Lines of standard input and output, read and written by threads of their own.

use std::io::{self, BufRead, Read, Write};

use agent_client_protocol::{ConnectTo, Lines};
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use futures_util::{sink, stream};

/// Bytes of the longest line. A prompt with pictures is one line.
const MAX_LINE: u64 = 64 * 1024 * 1024;
/// Lines that wait for a thread.
const QUEUE: usize = 256;

/// The lines between the editor and this program.
#[derive(Debug)]
pub struct StdioLines {
    read: flume::Receiver<io::Result<String>>,
    to_write: flume::Sender<String>,
    written: flume::Receiver<()>,
}

impl StdioLines {
    /// Starts the threads.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        group: &Group,
    ) -> io::Result<Self> {
        let (sender, read) = flume::bounded(QUEUE);
        let (to_write, lines) = flume::bounded::<String>(QUEUE);
        let (done, written) = flume::bounded::<()>(1);
        let (mut input, mut output) = (input, output);
        group.spawn_thread("acp-input", move || {
            while let Some(line) = next_line(&mut input).transpose() {
                let ends = line.is_err();
                if sender.send(line).is_err() || ends {
                    return;
                }
            }
        })?;
        group.spawn_thread("acp-output", move || {
            for line in &lines {
                let bytes = [line.as_bytes(), b"\n"].concat();
                if output.write_all(&bytes).and_then(|()| output.flush()).is_err() {
                    break;
                }
            }
            drop(done);
        })?;
        Ok(Self { read, to_write, written })
    }

    /// Serves an agent until the input ends, and waits until all lines are written.
    pub(crate) async fn serve(
        self,
        agent: impl ConnectTo<agent_client_protocol::Client>,
    ) -> agent_client_protocol::Result<()> {
        let Self { read, to_write, written } = self;
        let outgoing = sink::unfold(to_write, |lines, line: String| async move {
            let gone = |_| io::Error::other("the editor does not read any more");
            lines.send_async(line).await.map_err(gone)?;
            Ok::<_, io::Error>(lines)
        });
        let incoming = stream::unfold(read, |read| async move {
            let line = read.recv_async().await.ok()?;
            Some((line, read))
        });
        let lines = Lines::new(Box::pin(outgoing), Box::pin(incoming));
        let served = ConnectTo::<agent_client_protocol::Client>::connect_to(agent, lines).await;
        ignore_result(
            written.recv_async().await,
            "the thread sends nothing: its end closes the channel",
        );
        served
    }
}

/// Reads a line; `None` at the end of the input.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 == MAX_LINE {
        return Err(io::Error::other(format!("a line is longer than {MAX_LINE} bytes")));
    }
    let text = String::from_utf8(line);
    text.map(Some).map_err(|error| io::Error::other(format!("a line is not UTF-8: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_line_returns_each_line_without_its_end() {
        let mut input: &[u8] = b"{}\n\n[1]";
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, ["{}", "", "[1]"]);
        assert!(next_line(&mut &b"\xff\n"[..]).is_err());
    }
}
