//! A gate before the effect of the tool `post`, so that a daemon can be killed in the middle of it.

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Posts {
    open: watch::Sender<bool>,
    waiting: watch::Sender<u32>,
}

impl Default for Posts {
    fn default() -> Self {
        Self { open: watch::Sender::new(true), waiting: watch::Sender::new(0) }
    }
}

impl Posts {
    /// Waits until the gate is open.
    pub(crate) async fn pass(&self) {
        let mut open = self.open.subscribe();
        if !*open.borrow() {
            self.waiting.send_modify(|waiting| *waiting += 1);
        }
        // This always succeeds: the sender is a field of `self`.
        drop(open.wait_for(|open| *open).await);
    }

    /// Closes the gate, and waits until a post stands before it.
    pub(crate) async fn hold(&self) {
        self.waiting.send_replace(0);
        self.open.send_replace(false);
        drop(self.waiting.subscribe().wait_for(|waiting| *waiting > 0).await);
    }

    pub(crate) fn let_go(&self) {
        self.open.send_replace(true);
    }
}
