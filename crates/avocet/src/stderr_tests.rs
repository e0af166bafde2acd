use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::*;

/// A pipe whose reader takes one text at a time.
struct Pipe(SyncSender<String>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        self.0.send(text).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A queue before a pipe that accepts a text only while it is read.
fn queue() -> (Arc<Queue>, Receiver<String>) {
    let (sender, read) = sync_channel(0);
    let queue = Arc::<Queue>::default();
    let served = queue.clone();
    let serve = move || served.serve(&mut Pipe(sender), &|lines| format!("dropped {lines}"));
    Group::new("test").spawn_thread("stderr", serve).unwrap();
    (queue, read)
}

#[test]
fn push_drops_lines_above_the_limit_and_counts_them() {
    let (queue, read) = queue();
    queue.push("first");
    let line = "x".repeat(MAX_WAITING / 4);
    for _ in 0..16 {
        queue.push(&line);
    }
    assert!(queue.waiting.lock().bytes <= MAX_WAITING);
    let dropped = queue.waiting.lock().dropped;
    assert!((12..=13).contains(&dropped), "{dropped}");
    assert_eq!(read.recv().unwrap(), "first");
    for _ in 0..16 - dropped {
        assert_eq!(read.recv().unwrap().len(), line.len());
    }
    assert_eq!(read.recv().unwrap(), format!("dropped {dropped}"));
    queue.push("next");
    assert_eq!(read.recv().unwrap(), "next");
}

#[test]
fn flush_waits_for_a_reader_until_its_timeout() {
    let (queue, read) = queue();
    queue.push("one");
    queue.push("two");
    queue.flush(Duration::ZERO);
    assert_eq!((read.recv().unwrap(), read.recv().unwrap()), ("one".to_owned(), "two".to_owned()));
    queue.flush(Duration::from_hours(1));
    assert!(!queue.waiting.lock().writing && queue.waiting.lock().texts.is_empty());
}

#[test]
fn push_drops_and_counts_a_text_longer_than_the_queue() {
    let (queue, read) = queue();
    queue.push(&"x".repeat(MAX_WAITING + 1));
    assert_eq!(read.recv().unwrap(), "dropped 1");
}
