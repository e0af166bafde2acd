//! The real network: the system's resolver, and connections to judged addresses.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolving};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE};

use crate::address_ports::{DialAddress, DialResponse, ResolveNames};
use crate::detail::describe_error;
use crate::error::NetError;
use crate::response::{HttpResponse, client_builder, send, with_headers};

/// The system's resolver.
#[derive(Debug)]
pub(crate) struct SystemResolver;

#[async_trait]
impl ResolveNames for SystemResolver {
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr> {
        let found = tokio::net::lookup_host((name, 0)).await;
        found.into_iter().flatten().map(|address| address.ip()).collect()
    }
}

/// Connects only to the given addresses. Each request has its own client, because a pool would keep
/// connections to addresses that were judged for another request.
#[derive(Debug)]
pub(crate) struct PinnedDialler;

#[async_trait]
impl DialAddress for PinnedDialler {
    async fn send_request(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        to: &[SocketAddr],
    ) -> Result<Box<dyn DialResponse>, NetError> {
        let client = client_builder().dns_resolver(Arc::new(JudgedResolver(to.to_vec()))).build();
        let client = client.map_err(|error| NetError::Invalid(describe_error(error)))?;
        let request = match body {
            None => client.get(url.clone()),
            Some(body) => client
                .post(url.clone())
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_vec()),
        };
        let request = request.header(ACCEPT_ENCODING, "identity");
        Ok(Box::new(send(with_headers(request, headers)?).await?))
    }
}

/// Resolves every name to the judged addresses, so that there is no second lookup.
struct JudgedResolver(Vec<SocketAddr>);

impl reqwest::dns::Resolve for JudgedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

#[async_trait]
impl DialResponse for HttpResponse {
    fn status(&self) -> u16 {
        Self::status(self)
    }

    fn first_header(&self, name: &str) -> Option<&str> {
        Self::header_value(self, name)
    }

    fn all_headers(&self, name: &str) -> Vec<String> {
        Self::header_values(self, name)
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        Self::next_chunk(self).await
    }
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
