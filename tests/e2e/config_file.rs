//! Tests of the configuration file over the socket and HTTP of the real daemon.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use avocet_testkit::http_client::exchange;
use avocet_testkit::socket::{CallError, SocketClient};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::support::{set_mode, soon, stop};

const FILE: &str = ".config/avocet/config.toml";

async fn call(home: &Home, method: &str, params: Value) -> Result<Value, Value> {
    let client = SocketClient::connect(&home.socket()).await.unwrap();
    soon(method, client.call(method, params)).await.map_err(|error| match error {
        CallError::Refused(error) => error,
        CallError::Lost => panic!("{method}: the connection is lost"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn config_check_names_the_fault_and_its_line_and_leaves_the_file() {
    let home = Home::new(program!()).with("TOKEN", "a-token-of-the-phone-4711").with_config("");
    let daemon = home.daemon();
    let token = "[http]\nlisten = \"127.0.0.1:0\"\n[http.tokens.phone]\ntoken = ";
    let table = [
        (
            "[agents.defaults]\nmodle = \"x\"\n".to_owned(),
            json!(2),
            json!("agents.defaults.modle"),
            "did you mean `model`",
        ),
        ("[agents".to_owned(), json!(1), json!(null), ""),
        ("[http]\nlisten = \"nowhere\"\n".to_owned(), json!(2), json!("http.listen"), "listen"),
        (
            "[hooks.x]\nsession = \"terminal:local:me\"\n".to_owned(),
            json!(1),
            json!("hooks.x"),
            "secret",
        ),
        (
            "[gateway.clients.ci]\nrole = \"king\"\n".to_owned(),
            json!(2),
            json!("gateway.clients.ci.role"),
            "king",
        ),
        (
            "[channels.discord.main]\nno = 1\n".to_owned(),
            json!(2),
            json!("channels.discord.main.no"),
            "unknown key `no`",
        ),
        (format!("{token}\"short\"\n"), json!(4), json!("http.tokens.phone.token"), "token"),
    ];
    for (text, line, key, says) in table {
        let checked = call(&home, "config.check", json!({ "text": text })).await.unwrap();
        let fault = &checked["faults"][0];
        assert_eq!((&fault["line"], &fault["key"]), (&line, &key), "{text}: {checked}");
        assert!(fault["message"].as_str().unwrap().contains(says), "{text}: {checked}");
        let save = json!({ "text": text, "digest": "" });
        let refused = call(&home, "config.save", save).await.unwrap_err();
        assert_eq!(refused["code"], -32602, "{refused}");
    }
    // The daemon has a value for the first reference only.
    for (name, warnings) in [("TOKEN", 0), ("NO_TOKEN", 1)] {
        let text = format!("{token}\"${{{name}}}\"\nchats = [\"*\"]\n");
        let checked = call(&home, "config.check", json!({ "text": text })).await.unwrap();
        assert_eq!(checked["faults"], json!([]), "{checked}");
        assert_eq!(checked["warnings"].as_array().unwrap().len(), warnings, "{checked}");
        if warnings > 0 {
            let warning = &checked["warnings"][0];
            let expected = (&json!(4), &json!("http.tokens.phone.token"));
            assert_eq!((&warning["line"], &warning["key"]), expected);
        }
    }
    assert_eq!(fs::read_to_string(home.path(FILE)).unwrap(), "");
    stop(daemon);
}

#[tokio::test(flavor = "multi_thread")]
async fn config_save_makes_a_file_that_the_next_daemon_uses_and_keeps_the_last_version() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let shown = call(&home, "config.show", json!(null)).await.unwrap();
    let path = home.path(FILE).display().to_string();
    assert_eq!((&shown["path"], &shown["text"]), (&json!(path), &json!("")));
    assert_eq!(shown["is_writable"], true);
    let secret = "a-token-of-the-phone-4711";
    let text = |count| {
        format!(
            "[log]\nlevel = \"trace\"\n[http]\nlisten = \"127.0.0.1:0\"\n[http.tokens.phone]\n\
                 token = \"{secret}\"\nrole = \"operator\"\nchats = [\"*\"]\n# marker-{count}\n"
        )
    };
    let save = |count, digest: &Value| json!({ "text": text(count), "digest": digest });
    let saved = call(&home, "config.save", save(1, &shown["digest"])).await.unwrap();
    let mode = fs::metadata(home.path(FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    stop(daemon);

    // The new daemon has the HTTP interface.
    let mut daemon = home.spawn(&["run"]);
    let line = daemon.wait_for("serving HTTP");
    let (_, address) = line.split_once("address=").unwrap();
    let server = address.split_whitespace().next().unwrap().parse().unwrap();
    daemon.wait_until_ready();
    let put = async |count, digest: &Value| {
        let body = save(count, digest).to_string();
        let request = format!(
            "PUT /v1/config HTTP/1.1\r\nHost: {server}\r\nAuthorization: Bearer {secret}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        soon("the answer", exchange(server, request.as_bytes())).await
    };
    let stale = put(2, &shown["digest"]).await;
    assert_eq!(stale.status, 409, "{stale:?}");
    let current = put(2, &saved["digest"]).await;
    assert_eq!(current.status, 200, "{current:?}");
    assert_eq!(fs::read_to_string(home.path(FILE)).unwrap(), text(2));
    let last = home.path(&format!("{FILE}.before"));
    assert_eq!(fs::read_to_string(last).unwrap(), text(1));
    let (status, log) = daemon.stop();
    assert!(status.success() && !log.contains("marker-"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn config_save_refuses_a_read_only_file_with_the_remedy_and_follows_a_link() {
    let home = Home::new(program!()).with_config("");
    fs::rename(home.path(FILE), home.path("real.toml")).unwrap();
    symlink(home.path("real.toml"), home.path(FILE)).unwrap();
    let daemon = home.daemon();
    set_mode(&home, "real.toml", 0o444);
    let shown = call(&home, "config.show", json!(null)).await.unwrap();
    assert_eq!(shown["is_writable"], false);
    let save = json!({ "text": "# new\n", "digest": shown["digest"] });
    let refused = call(&home, "config.save", save.clone()).await.unwrap_err();
    let message = refused["message"].as_str().unwrap();
    for part in [FILE, "it is read-only (mode 444)", "edit the file as its owner"] {
        assert!(message.contains(part), "{message}");
    }
    set_mode(&home, "real.toml", 0o640);
    call(&home, "config.save", save).await.unwrap();
    assert_eq!(fs::read_to_string(home.path("real.toml")).unwrap(), "# new\n");
    assert!(home.path(FILE).is_symlink());
    stop(daemon);
}
