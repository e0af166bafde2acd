//! A gate before the effect of the tool `post`, so that a daemon can be caught in the middle of it.

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
    /// Passes when the gate is open.
    pub(crate) async fn pass(&self) {
        let mut open = self.open.subscribe();
        if !*open.borrow() {
            self.waiting.send_modify(|waiting| *waiting += 1);
        }
        // It does not fail: the sender is here.
        drop(open.wait_for(|open| *open).await);
    }

    /// Closes the gate, and returns when somebody stands before it.
    pub(crate) async fn hold(&self) {
        self.waiting.send_replace(0);
        self.open.send_replace(false);
        drop(self.waiting.subscribe().wait_for(|waiting| *waiting > 0).await);
    }

    /// Opens the gate.
    pub(crate) fn let_go(&self) {
        self.open.send_replace(true);
    }
}
