//! `avocet status`: how the daemon and its log fare.

use avocet_protocol::{DaemonStatus, LogStatus, Query};
use serde_json::json;

use crate::commands::{connect, look};
use crate::exit::{Exit, Failure};
use crate::output::{columns, print, print_json, span};
use crate::places::Configuration;
use crate::{Context, audit};

pub(crate) async fn run(context: &Context, json: bool) -> Result<Exit, Failure> {
    let configuration = Configuration::load(&context.cli)?;
    let status: DaemonStatus = match connect(context, &configuration).await {
        Some(client) => client.call("status", &json!({})).await?,
        None => {
            let log = look(context, &configuration)?;
            DaemonStatus {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: None,
                uptime_seconds: 0,
                data_dir: configuration.data_dir.display().to_string(),
                model: configuration.settings.agents.defaults.model.clone(),
                log: match &log {
                    Some(log) => log.log_status().await?,
                    None => LogStatus::default(),
                },
                audit_fault: match &log {
                    Some(log) => audit::check(log, &configuration.head_file).await?.fault,
                    None => None,
                },
                channels: Vec::new(),
                warnings: Vec::new(),
            }
        }
    };
    let exit = if status.pid.is_some() { Exit::Done } else { Exit::NoDaemon };
    if json {
        print_json(&status)?;
    } else {
        print(&text(&status))?;
    }
    Ok(exit)
}

fn text(status: &DaemonStatus) -> String {
    let DaemonStatus { version, pid, uptime_seconds, data_dir, model, log, .. } = status;
    let daemon = match pid {
        Some(pid) => {
            format!("process {pid}, version {version}, up {}", span(*uptime_seconds))
        }
        None => "not running".to_owned(),
    };
    let LogStatus { epoch, sessions, messages, queued, running, waiting, .. } = log;
    let LogStatus { pending, unconfirmed, dead, ignored, .. } = log;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("daemon", daemon),
        row("data", format!("{data_dir} (start {epoch})")),
        row("model", model.clone()),
        row("messages", format!("{messages} in {sessions} sessions, {queued} wait")),
        row("turns", format!("{running} run, {waiting} wait for something")),
        row(
            "outbox",
            format!("{pending} to be delivered, {unconfirmed} unconfirmed, {dead} given up"),
        ),
    ];
    if let Some(fault) = &status.audit_fault {
        rows.push(row("audit", format!("{fault}; see `avocet audit verify`")));
    }
    for channel in &status.channels {
        let fault = channel.fault.as_ref().map_or("up".to_owned(), |why| format!("down: {why}"));
        rows.push(row(&channel.account, fault));
    }
    for one in ignored {
        rows.push(row(&one.account, format!("{} ignored: {}", one.count, one.reason)));
    }
    rows.extend(status.warnings.iter().map(|warning| row("warning", warning.clone())));
    columns(&rows)
}

#[cfg(test)]
mod tests {
    use avocet_protocol::{ChannelStatus, Ignored};

    use super::*;

    #[test]
    fn the_status_is_a_page() {
        let status = DaemonStatus {
            version: "0.1.0".to_owned(),
            pid: Some(4711),
            uptime_seconds: 11_520,
            data_dir: "/var/lib/avocet".to_owned(),
            model: "local/qwen3".to_owned(),
            log: LogStatus {
                epoch: 7,
                sessions: 3,
                messages: 120,
                queued: 1,
                running: 2,
                waiting: 1,
                pending: 4,
                unconfirmed: 1,
                dead: 0,
                ignored: vec![Ignored {
                    account: "telegram:work".to_owned(),
                    reason: "not mentioned".to_owned(),
                    count: 12,
                }],
            },
            audit_fault: Some("row 3 was changed".to_owned()),
            channels: vec![
                ChannelStatus {
                    account: "telegram:work".to_owned(),
                    fault: Some("409".to_owned()),
                },
                ChannelStatus { account: "terminal:local".to_owned(), fault: None },
            ],
            warnings: vec!["PROGRAMS RUN WITHOUT WALLS".to_owned()],
        };
        insta::assert_snapshot!(text(&status));
        let down = DaemonStatus { pid: None, channels: Vec::new(), ..status };
        assert!(text(&down).starts_with("daemon         not running\n"), "{}", text(&down));
    }
}
