//! The certificates of servers that the program trusts.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use avocet_tests::{Home, program};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{printed, run};

/// The certificate of `localhost` with its key. It is valid until 2126.
const LOCALHOST: &[u8] = include_bytes!("certificates/localhost.pem");
/// The certificate of the authority that signed it. The key of the authority does not exist any
/// more.
const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/certificates/authority.pem");

#[test]
fn provider_is_trusted_if_the_system_has_the_authority_of_its_certificate() {
    let home = Home::new(program!()).with_config(&format!(
        "[providers.own]\nkind = \"openai\"\nbase_url = \"https://localhost:{}/v1\"\n\
         max_retries = 0\n",
        serve()
    ));
    let refused = run(&home, &["models", "--offered", "own"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.out.contains("its issuer is unknown"), "{refused:?}");
    let home = home.with("SSL_CERT_FILE", AUTHORITY);
    assert!(printed(&home, &["models", "--offered", "own"]).contains("own/model-of-ours"));
}

/// Serves a list of models over TLS. Returns the port.
#[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
fn serve() -> u16 {
    let key = PrivateKeyDer::from_pem_slice(LOCALHOST).unwrap();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(LOCALHOST).collect();
    let config =
        ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.unwrap(), key)
            .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that refuses the certificate breaks the connection.
            drop(answer(StreamOwned::new(connection, stream.unwrap())));
        }
    });
    port
}

fn answer(mut stream: impl Read + Write) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.extend(byte);
    }
    let body = r#"{"data":[{"id":"model-of-ours"}]}"#;
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes())?;
    stream.flush()
}
