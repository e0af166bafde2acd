//! Finds out which sandbox layers this system provides, by building them.

use std::fmt;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::launch::ProgramSandbox;
use super::network::ReachedHosts;
use super::plan::{Isolation, ProgramRights};
use super::request::{ProgramEnd, ProgramRequest, SandboxError};

/// Timeout of building a sandbox once.
const PROBING: Duration = Duration::from_secs(10);

/// The sandbox layers that this system provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxLayers {
    /// Namespaces, which exclude all outside files, processes and networks; or the reason why they
    /// fail.
    pub namespaces: Result<(), String>,
    /// Landlock and the filter of system calls, or the reason why they fail. They are the first
    /// layer without namespaces, and the second one with them.
    pub landlock: Result<(), String>,
}

impl SandboxLayers {
    /// Builds each layer around an empty program.
    pub async fn probe_layers(sandbox: &ProgramSandbox) -> Self {
        let (namespaces, landlock) = tokio::join!(
            try_isolation(sandbox, Isolation::Namespaces),
            try_isolation(sandbox, Isolation::Landlock)
        );
        Self { namespaces, landlock }
    }

    /// Returns the best available isolation.
    #[must_use]
    pub fn best_isolation(&self) -> Isolation {
        match (&self.namespaces, &self.landlock) {
            (Ok(()), _) => Isolation::Namespaces,
            (Err(_), Ok(())) => Isolation::Landlock,
            (Err(_), Err(_)) => Isolation::LimitsOnly,
        }
    }
}

async fn try_isolation(sandbox: &ProgramSandbox, isolation: Isolation) -> Result<(), String> {
    let sandbox = ProgramSandbox { isolation, ..sandbox.clone() };
    let request = ProgramRequest {
        program: ["/bin/sh", "-c", ":"].map(str::to_owned).to_vec(),
        directory: "/".into(),
        limit: PROBING,
        output: 0,
        cancel: CancellationToken::new(),
        reached: ReachedHosts::default(),
        rights: ProgramRights::default(),
    };
    match sandbox.run(request).await {
        Ok(ran) if ran.ended == ProgramEnd::Code(0) => Ok(()),
        Ok(ran) => Err(format!("a program that does nothing ended with {:?}", ran.ended)),
        // The layer's own text: the callers name the doctor themselves.
        Err(SandboxError::Layer(why)) => Err(why),
        Err(error) => Err(error.to_string()),
    }
}

impl fmt::Display for SandboxLayers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, layer) in [("namespaces", &self.namespaces), ("Landlock", &self.landlock)] {
            match layer {
                Ok(()) => writeln!(f, "{name}: yes")?,
                Err(why) => writeln!(f, "{name}: no, {why}")?,
            }
        }
        Ok(())
    }
}
