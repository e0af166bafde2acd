use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::channel::{Channel, ChannelContext, ChannelError, Health, SendError};
use avocet_protocol::chat::{Content, Delivery, Receipt};
use avocet_protocol::ids::{AccountName, ChannelName};

use super::*;

/// A channel whose platform is down, and whose receive loop may hang.
#[derive(Debug)]
struct SilentChannel {
    account: &'static str,
    overdue: Option<Duration>,
}

#[async_trait]
impl Channel for SilentChannel {
    fn name(&self) -> ChannelName {
        ChannelName::parse("silent").unwrap()
    }

    fn account(&self) -> AccountName {
        AccountName::parse(self.account).unwrap()
    }

    async fn run(&self, _context: ChannelContext) -> Result<(), ChannelError> {
        Ok(())
    }

    async fn deliver(&self, _delivery: &Delivery) -> Result<Receipt, SendError> {
        Err(SendError::Unreachable)
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        vec![reply.clone()]
    }

    fn health(&self) -> Health {
        Health::Down("no answer".to_owned())
    }

    fn overdue(&self) -> Option<Duration> {
        self.overdue
    }
}

fn hung(late: [Option<u64>; 2]) -> Option<String> {
    let accounts = ["one", "two"].into_iter().zip(late);
    let channels = accounts.map(|(account, late)| -> Arc<dyn Channel> {
        Arc::new(SilentChannel { account, overdue: late.map(Duration::from_secs) })
    });
    hung_channel(&ChannelRegistry::new(channels.collect())).map(|stuck| stuck.to_string())
}

#[test]
fn hung_channel_names_a_late_receive_loop_and_no_platform_that_is_down() {
    assert_eq!(hung([None, None]), None);
    let text = "the channel silent:two: its receive loop is 130 s late";
    assert_eq!(hung([None, Some(130)]).as_deref(), Some(text));
}
