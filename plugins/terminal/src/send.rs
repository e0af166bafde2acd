//! The daemon's half: passes the texts of a chat to its attached clients.

use async_trait::async_trait;
use avocet_protocol::channel::{
    Attach, Channel, ChannelContext, ChannelError, ClientFile, FetchError, ForClient, Handover,
    Health, SendError,
};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, Receipt};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_supervise::KeyedListeners;
use futures_util::future::select_ok;
use tokio::sync::oneshot;

use crate::convert;

/// The channel `terminal:local`.
#[derive(Debug)]
pub struct Terminal {
    name: ChannelName,
    account: AccountName,
    attached: KeyedListeners<ChatAddress, ForClient>,
}

impl Terminal {
    /// A channel without clients.
    #[must_use]
    pub fn new(name: ChannelName, account: AccountName) -> Self {
        Self { name, account, attached: KeyedListeners::default() }
    }
}

impl Attach for Terminal {
    fn attach(&self, chat: &ChatAddress) -> flume::Receiver<ForClient> {
        self.attached.add_listener(chat.clone(), 1)
    }
}

#[async_trait]
impl Channel for Terminal {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    /// Only waits for the stop: typed lines arrive through the gateway.
    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        context.stop.cancelled().await;
        Ok(())
    }

    /// Delivers to all attached clients; the first one that has shown the text confirms it.
    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let mut receipts = Vec::new();
        for client in self.attached.listeners_of(&delivery.address) {
            let (receipt, received) = oneshot::channel();
            let handover = Handover { delivery: delivery.clone(), receipt };
            if client.send_async(ForClient::Chunk(Box::new(handover))).await.is_ok() {
                receipts.push(received);
            }
        }
        if receipts.is_empty() {
            return Err(SendError::Unreachable);
        }
        match select_ok(receipts).await {
            Ok((outcome, _)) => outcome,
            Err(_) => Err(SendError::Unknown(
                "the terminal disconnected before it confirmed the delivery".to_owned(),
            )),
        }
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        convert::plan_chunks(reply)
    }

    fn reachable(&self, chat: &ChatAddress) -> bool {
        !self.attached.listeners_of(chat).is_empty()
    }

    /// Reads a file of a program that is attached to the chat and has asked about the file.
    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let unknown = || FetchError::Gone("the terminal keeps no files".to_owned());
        let file = ClientFile::parse(reference).ok_or_else(unknown)?;
        file.read(self.attached.listeners_of(&file.chat).into_iter().rev(), limit).await
    }

    fn health(&self) -> Health {
        Health::Up
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::ids::DeliveryId;

    use super::*;

    fn chat(name: &str) -> ChatAddress {
        format!("terminal:local:{name}").parse().unwrap()
    }

    fn terminal() -> Terminal {
        Terminal::new("terminal".parse().unwrap(), "local".parse().unwrap())
    }

    fn delivery() -> Delivery {
        let content = Content::text("hello");
        Delivery::new(DeliveryId(1), chat("a"), content)
    }

    #[tokio::test]
    async fn fetch_reads_a_file_of_a_client_of_the_chat() {
        let terminal = terminal();
        let reference = ClientFile { chat: chat("a"), name: "f1".to_owned() }.to_reference();
        assert!(matches!(terminal.fetch("f1", 9).await, Err(FetchError::Gone(_))));
        assert!(matches!(terminal.fetch(&reference, 9).await, Err(FetchError::Failed(_))));
        let (client, _other) = (terminal.attach(&chat("a")), terminal.attach(&chat("b")));
        let serve = async {
            for piece in [b"hello".to_vec(), Vec::new()] {
                let ForClient::Piece(request) = client.recv_async().await.unwrap() else {
                    panic!()
                };
                request.piece.send(Ok(piece)).unwrap();
            }
        };
        let (fetched, ()) = tokio::join!(terminal.fetch(&reference, 9), serve);
        assert_eq!(fetched, Ok(b"hello".to_vec()));
    }

    fn answer(item: ForClient) {
        let ForClient::Chunk(handover) = item else { panic!("{item:?}") };
        handover.receipt.send(Ok(Receipt { platform_id: None })).unwrap();
    }

    #[tokio::test]
    async fn reachable_only_while_a_client_is_attached() {
        let terminal = terminal();
        assert!(!terminal.reachable(&chat("a")));
        assert_eq!(terminal.deliver(&delivery()).await, Err(SendError::Unreachable));
        let handovers = terminal.attach(&chat("a"));
        assert!(terminal.reachable(&chat("a")) && !terminal.reachable(&chat("b")));
        let delivery = delivery();
        let (delivered, ()) = tokio::join!(terminal.deliver(&delivery), async {
            answer(handovers.recv_async().await.unwrap());
        });
        assert_eq!(delivered, Ok(Receipt { platform_id: None }));
        drop(handovers);
        assert!(!terminal.reachable(&chat("a")));
        assert!(terminal.attached.is_empty(), "a detached client leaves no entry");
    }

    #[tokio::test]
    async fn deliver_reaches_every_client_and_needs_one_answer() {
        let terminal = terminal();
        let (one, other) = (terminal.attach(&chat("a")), terminal.attach(&chat("a")));
        let delivery = delivery();
        let (delivered, ()) = tokio::join!(terminal.deliver(&delivery), async {
            drop(one.recv_async().await.unwrap());
            answer(other.recv_async().await.unwrap());
        });
        assert!(delivered.is_ok());
    }

    #[tokio::test]
    async fn deliver_is_unknown_if_the_client_leaves_without_an_answer() {
        let terminal = terminal();
        let handovers = terminal.attach(&chat("a"));
        let delivery = delivery();
        let (delivered, ()) = tokio::join!(terminal.deliver(&delivery), async {
            drop(handovers.recv_async().await.unwrap());
        });
        assert!(matches!(delivered, Err(SendError::Unknown(_))));
    }
}
