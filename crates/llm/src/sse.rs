//! Server-sent events out of an HTTP answer.

use avocet_net::{HttpResponse, NetError};
use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::stream::{self, BoxStream, StreamExt};

/// The data of each event, in order, until the body ends.
pub(crate) fn events(response: HttpResponse) -> BoxStream<'static, Result<String, NetError>> {
    let chunks = stream::unfold(Some(response), async |response| {
        let mut response = response?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) => Some((Ok(chunk), Some(response))),
            Err(error) => Some((Err(error), None)),
        }
    });
    let events = chunks.eventsource().map(|event| match event {
        Ok(event) => Ok(event.data),
        Err(EventStreamError::Transport(error)) => Err(error),
        Err(error) => Err(NetError::Broken(error.to_string())),
    });
    events.boxed()
}
