//! Model servers on this machine. They are looked for on 127.0.0.1 only.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use avocet_protocol::clock::within;
use futures_util::future::join_all;

use super::InitRun;
use super::additions::AddedProvider;

/// The timeout of a look at a port.
const LIMIT: Duration = Duration::from_secs(2);

/// A kind of server and its usual port.
const SERVERS: [(&str, &str, &str, u16); 3] = [
    ("ollama", "Ollama", "ollama", 11434),
    ("llamacpp", "llama.cpp", "openai", 8080),
    ("lmstudio", "LM Studio", "openai", 1234),
];

/// The ports of Ollama, llama.cpp and LM Studio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LocalPorts([u16; 3]);

impl Default for LocalPorts {
    fn default() -> Self {
        Self(SERVERS.map(|(_, _, _, port)| port))
    }
}

impl fmt::Display for LocalPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([ollama, llama, studio]) = self;
        write!(f, "{ollama},{llama},{studio}")
    }
}

impl FromStr for LocalPorts {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "it is not a list of three ports";
        let ports = text.split(',').map(|port| port.parse().map_err(|_| WRONG));
        let ports: Vec<u16> = ports.collect::<Result<_, _>>()?;
        ports.try_into().map(Self).map_err(|_| WRONG)
    }
}

/// A server that answers with its models.
#[derive(Debug, Clone)]
pub(super) struct LocalServer {
    pub(super) label: &'static str,
    pub(super) port: u16,
    pub(super) provider: AddedProvider,
    pub(super) models: Vec<String>,
}

impl InitRun<'_> {
    /// Asks the usual ports of this machine for models. Servers without models are left out.
    pub(super) async fn local_servers(&self) -> Vec<LocalServer> {
        let LocalPorts(ports) = self.args.local_ports;
        let looks = SERVERS.iter().zip(ports).map(async |((name, label, kind, _), port)| {
            let path = if *kind == "openai" { "/v1" } else { "" };
            let provider = AddedProvider {
                name: (*name).to_owned(),
                kind: (*kind).to_owned(),
                base_url: Some(format!("http://127.0.0.1:{port}{path}")),
                api_key: None,
            };
            let asked = within(self.context.clock.as_ref(), LIMIT, self.offered(&provider)).await;
            let models: Vec<String> =
                asked.ok()?.ok()?.into_iter().map(|model| model.name).collect();
            (!models.is_empty()).then_some(LocalServer { label, port, provider, models })
        });
        join_all(looks).await.into_iter().flatten().collect()
    }
}
