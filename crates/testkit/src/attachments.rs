//! A fake of the port that fetches attachments.

use async_trait::async_trait;
use avocet_protocol::channel::FetchAttachments;
use avocet_protocol::chat::{AttachmentSource, LoggedInbound};
use avocet_protocol::ids::TurnId;
use avocet_protocol::store::StoreError;

/// Fetches every attachment at once as `inbox/REFERENCE`. Neither a file nor a log row is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct FakeAttachments;

#[async_trait]
impl FetchAttachments for FakeAttachments {
    async fn fetch(&self, _: TurnId, messages: &mut [LoggedInbound]) -> Result<(), StoreError> {
        for message in messages {
            for attachment in &mut message.message.inbound.content.attachments {
                if let AttachmentSource::Platform(reference) = &attachment.source {
                    attachment.source = AttachmentSource::Workspace(format!("inbox/{reference}"));
                }
            }
        }
        Ok(())
    }
}
