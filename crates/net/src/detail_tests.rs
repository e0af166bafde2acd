use std::sync::Arc;

use avocet_testkit::ClosedPort;
use avocet_testkit::http::{HttpFake, Piece};
use reqwest::dns::{Name, Resolve, Resolving};

use super::*;
use crate::response::client_builder;
use crate::{HttpClient, NetError};

/// A server that answers with these bytes and closes the connection.
async fn saying(what: &'static [u8]) -> HttpFake {
    HttpFake::start(move |_| vec![Piece::Bytes(what.to_vec()), Piece::Close]).await
}

/// A resolver that finds no name.
struct Nothing;

impl Resolve for Nothing {
    fn resolve(&self, _: Name) -> Resolving {
        let why = "failed to lookup address information: Name or service not known";
        Box::pin(async move { Err(io::Error::other(why).into()) })
    }
}

async fn asked(url: &str) -> Result<String, NetError> {
    let response = HttpClient::new().get(url, &[]).await?;
    response.read_text(99).await
}

#[tokio::test]
async fn detail_explains_an_error_without_the_text_of_the_library() {
    let unused = ClosedPort::bind();
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf";
    let chunk = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n";
    let (silent, mail) = (saying(b"").await, saying(b"220 mail ready\r\n").await);
    let (half, chunk) = (saying(half).await, saying(chunk).await);
    let no_http = "the connection broke: the server closed it, or does not speak HTTP";
    let broken_off = "the connection broke: the answer ended early";
    let table = [
        (format!("http://{unused}/"), "no connection: Connection refused"),
        (format!("http://{}/", silent.address()), no_http),
        (format!("http://{}/", mail.address()), no_http),
        (format!("http://{}/", half.address()), broken_off),
        (format!("http://{}/", chunk.address()), broken_off),
        ("http://[bad/".to_owned(), "the URL, or a header, cannot be sent"),
    ];
    for (url, expected) in table {
        assert_eq!(asked(&url).await.unwrap_err().to_string(), expected, "{url}");
    }
}

#[tokio::test]
async fn detail_reports_an_unknown_name() {
    let client = client_builder().dns_resolver(Arc::new(Nothing)).build().unwrap();
    let error = client.get("http://nowhere.invalid/secret").send().await.unwrap_err();
    assert_eq!(
        describe_error(error),
        "cannot resolve the name of the server (Name or service not known)"
    );
}

#[test]
fn tls_reports_a_server_without_https_or_an_invalid_certificate() {
    use rustls::CertificateError as Certificate;
    let table = [
        (Certificate::Expired, "it has expired"),
        (Certificate::UnknownIssuer, "its issuer is unknown"),
        (Certificate::NotValidForName, "it belongs to another name"),
        (Certificate::BadEncoding, "it is not valid"),
    ];
    let mail =
        describe_tls(&rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType));
    assert_eq!(mail, "the server does not speak https there; should the URL begin with http://?");
    for (error, expected) in table {
        let said = describe_tls(&rustls::Error::InvalidCertificate(error));
        assert_eq!(said, format!("the server's certificate is refused: {expected}"));
    }
}
