//! The login at an MCP server with OAuth (`tests/mcp/oauth.py`), with a browser that is a few
//! requests.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer};
use avocet_tests::{Home, program};
use serde_json::Value;

use super::{allow, own};
use crate::support::{assert_fails, printed, printed_json, run, stop, until};

/// The running server. It ends with the test.
struct OAuthServer {
    process: Child,
    address: SocketAddr,
}

impl OAuthServer {
    fn start() -> Self {
        let mut command = Command::new("python3");
        command.arg("-B").arg(own("oauth.py")).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port.trim().parse().unwrap()));
        Self { process, address }
    }

    async fn ask(&self, method: &str, path: &str) -> RawHttpAnswer {
        request(self.address, method, path).await
    }
}

impl Drop for OAuthServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

async fn request(to: SocketAddr, method: &str, path: &str) -> RawHttpAnswer {
    let mut connection = HttpConnection::open(to).await;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    connection.write(request.as_bytes()).await;
    connection.answer().await
}

/// Splits a URL into its address and its path.
fn split(url: &str) -> (SocketAddr, String) {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    (address.parse().unwrap(), format!("/{path}"))
}

/// A command that waits for the browser.
struct WaitingLogin {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl WaitingLogin {
    fn begin(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut output = BufReader::new(output);
        let mut line = String::new();
        while !line.trim().starts_with("http://") {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the login has ended early");
        }
        Self { process, input, output, address: line.trim().to_owned() }
    }

    /// Opens the page of the server, and returns the address to which it sends the browser.
    async fn agreed(&self) -> String {
        let (server, path) = split(&self.address);
        let answer = request(server, "GET", &path).await;
        assert_eq!(answer.status, 302, "{answer:?}");
        answer.header("location").unwrap().to_owned()
    }

    fn end(mut self) -> String {
        drop(self.input);
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        assert!(self.process.wait().unwrap().success(), "{text}");
        text
    }
}

/// Logs in with a browser on this machine. Returns the output of the command.
async fn log_in(home: &Home) -> String {
    let login = WaitingLogin::begin(home, &["mcp", "login", "web"]);
    let (listener, path) = split(&login.agreed().await);
    assert_eq!(request(listener, "GET", "/callback?code=a&state=b").await.status, 400);
    let page = request(listener, "GET", &path).await;
    assert!(page.status == 200 && page.body.contains("Return to the terminal"), "{page:?}");
    login.end()
}

fn status(home: &Home) -> Value {
    printed_json(home, &["mcp", "list"])[0]["status"].clone()
}

#[tokio::test]
async fn mcp_login_opens_a_server_until_its_tokens_are_revoked() {
    let server = OAuthServer::start();
    let url = format!("http://{}/mcp", server.address);
    let config = format!("[tools.mcp_servers.web]\nurl = \"{url}\"\n{}", allow(&["web"]));
    let home = Home::new(program!()).with_config(&config);
    let needs_login = "it needs a login; run `avocet mcp login web`";
    assert_fails(&run(&home, &["mcp", "test", "web"]), 1, &[needs_login]);

    let daemon = home.daemon();
    until("the refusal", || (status(&home)["state"] == "failed").then_some(()));
    assert_eq!(status(&home)["why"], needs_login);
    for arguments in [&["status"][..], &["mcp", "list"]] {
        assert!(printed(&home, arguments).contains(needs_login), "{arguments:?}");
    }
    assert!(run(&home, &["doctor"]).out.contains(needs_login));

    let said = log_in(&home).await;
    assert!(said.contains("logged in at web"), "{said}");
    assert!(said.contains("the daemon uses the login; tools of web: 1"), "{said}");
    let tokens = home.data_dir().join("mcp-tokens.json");
    assert_eq!(fs::metadata(&tokens).unwrap().permissions().mode() & 0o777, 0o600);

    let call = || printed(&home, &["ask", "me", "web__work {}", "--wait"]);
    assert!(call().contains("work is done"));
    let renewals = server.ask("GET", "/admin/stats").await.json()["renewals"].as_u64().unwrap();
    assert!(renewals > 0, "no token was renewed");

    server.ask("POST", "/admin/revoke").await;
    let answer = call();
    let ended = "its login has expired (invalid_grant); run `avocet mcp login web`";
    assert!(answer.contains(ended), "{answer}");
    assert!(!fs::read_to_string(&tokens).unwrap().contains("access_token"));

    let login = WaitingLogin::begin(&home, &["mcp", "login", "web", "--paste"]);
    let returned = login.agreed().await;
    (&login.input).write_all(format!("{returned}\n").as_bytes()).unwrap();
    let said = login.end();
    assert!(said.contains("logged in at web"), "{said}");
    assert!(call().contains("work is done"));

    assert_eq!(printed(&home, &["mcp", "logout", "web"]), "logged out of web\n");
    assert_eq!(printed(&home, &["mcp", "logout", "web"]), "there was no login at web\n");
    let answer = call();
    assert!(answer.contains(needs_login), "{answer}");
    stop(daemon);
}

#[tokio::test]
async fn mcp_login_says_why_it_fails() {
    let server = OAuthServer::start();
    let home = Home::new(program!()).with_config(&format!(
        "[tools.mcp_servers.web]\nurl = \"http://{}/mcp\"\n\
         [tools.mcp_servers.key]\nurl = \"http://127.0.0.1:1/mcp\"\n\
         headers = {{ Authorization = \"Bearer x\" }}\n\
         [tools.mcp_servers.secret]\nurl = \"http://127.0.0.1:1/mcp\"\n\
         oauth = {{ client_id = \"me\", client_secret = \"${{MISSING_SECRET}}\" }}\n\
         [tools.mcp_servers.guarded]\nurl = \"http://{}/mcp\"\nuntrusted = true\n",
        server.address, server.address
    ));
    for (arguments, code, expected) in [
        (&["mcp", "login", "unknown"][..], 1, "there is no MCP server unknown"),
        (&["mcp", "login", "key"], 1, "remove `Authorization` there"),
        (&["mcp", "login", "secret"], 78, "MISSING_SECRET"),
        (&["mcp", "login", "guarded"], 1, "the MCP server guarded failed"),
    ] {
        assert_fails(&run(&home, arguments), code, &[expected]);
    }
    for (option, code, expected) in [
        (&["--timeout", "1"][..], 75, "no login within 1 s"),
        (&["--paste"], 1, "the input ended before an address of this login"),
    ] {
        let ran = run(&home, &[&["mcp", "login", "web"], option].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(expected), "{ran:?}");
    }
    assert!(!home.data_dir().join("mcp-tokens.json").exists());
}
