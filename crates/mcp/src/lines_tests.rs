use std::pin::Pin;

use tokio::io::AsyncWriteExt;

use rmcp::model::{JsonRpcMessage, RequestId};

use super::*;
use crate::wire::open_requests;

/// Returns the messages of a server, after the requests 3, 4 and 7.
async fn received(sent: Vec<u8>) -> Vec<RxJsonRpcMessage<RoleClient>> {
    let (mut server, client) = tokio::io::duplex(1024 * 1024);
    let wire = open_requests(&[(3, "ping"), (4, "ping"), (7, "ping")]);
    let output = Box::new(tokio::io::sink());
    let mut transport = LineTransport::new("x", wire, Box::new(client), output);
    let send = async move {
        server.write_all(&sent).await.unwrap();
        drop(server);
    };
    let receive = async {
        let mut all = Vec::new();
        while let Some(message) = transport.receive().await {
            all.push(message);
        }
        all
    };
    tokio::join!(send, receive).1
}

#[tokio::test]
async fn receive_ignores_lines_without_a_message() {
    let sent = "hello\n\n{\"a\": 1}\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\r\n{\"json";
    let messages = received(sent.as_bytes().to_vec()).await;
    assert!(matches!(&messages[..], [JsonRpcMessage::Response(_)]), "{messages:?}");
}

#[tokio::test]
async fn receive_answers_the_request_of_a_line_that_is_no_json() {
    let sent = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[}}\n{\"id\":9,\n";
    let messages = received(sent.as_bytes().to_vec()).await;
    let [JsonRpcMessage::Error(error)] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(error.error.message, "its answer is no JSON");
}

#[tokio::test]
async fn receive_reads_a_last_line_without_its_end() {
    let sent = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}";
    let messages = received(sent.as_bytes().to_vec()).await;
    assert!(matches!(&messages[..], [JsonRpcMessage::Response(_)]), "{messages:?}");
}

#[tokio::test]
async fn receive_answers_the_request_of_a_line_that_is_too_long() {
    let mut sent = b"{\"jsonrpc\": \"2.0\", \"id\": 3, \"result\": \"".to_vec();
    sent.extend(std::iter::repeat_n(b'x', LONGEST_LINE));
    sent.extend(b"\"}\n{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n");
    let messages = received(sent).await;
    let [JsonRpcMessage::Error(error), JsonRpcMessage::Response(_)] = &messages[..] else {
        panic!("{messages:?}");
    };
    assert_eq!(error.id, Some(RequestId::Number(3)));
    assert!(error.error.message.contains("more than 16 MB"));
}

#[test]
fn request_id_is_that_of_a_response() {
    for (text, id) in [
        (r#"{"jsonrpc":"2.0","id":12,"result":"#, Some(12)),
        (r#"{"id" : 5, "result": "#, Some(5)),
        (r#"{"id":1,"method":"x","#, None),
        (r#"{"id":"a","#, None),
        (r#"{"id":"8","#, Some(8)),
        (r#"{"result": "#, None),
    ] {
        assert_eq!(request_id(text.as_bytes()), id, "{text}");
    }
}

#[tokio::test]
async fn transport_closes_if_the_server_does_not_read_its_input() {
    let (_server, output) = tokio::io::duplex(1);
    let mut transport =
        LineTransport::new("x", Arc::default(), Box::new(tokio::io::empty()), Box::new(output));
    let response = || serde_json::from_str(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
    let mut unsent: Vec<Pin<Box<dyn Future<Output = io::Result<()>>>>> = Vec::new();
    for _ in 0..MOST_UNSENT {
        unsent.push(Box::pin(transport.send(response())));
    }
    // The first one holds the output, and waits for the server.
    assert!(futures_util::poll!(&mut unsent[0]).is_pending());
    let error = transport.send(response()).await.unwrap_err();
    assert_eq!(error.to_string(), "the server does not read its input");
    assert!(transport.receive().await.is_none());
    transport.close().await.unwrap();
}
