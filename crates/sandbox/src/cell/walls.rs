//! Finds out which sandbox layers this system provides, by building them.

use std::fmt;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::launch::{Cell, CellError, ProgramEnd, ProgramRequest};
use super::network::Reached;
use super::plan::Rights;

/// Timeout of building a sandbox once.
const PROBING: Duration = Duration::from_secs(10);

/// The sandbox layers that this system provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walls {
    /// Namespaces, which exclude all outside files, processes and networks; or the reason why they
    /// fail.
    pub namespaces: Result<(), String>,
    /// Landlock and the filter of system calls, or the reason why they fail. They are the first
    /// layer without namespaces, and the second one with them.
    pub landlock: Result<(), String>,
}

/// The protection around a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Namespaces, and the other layers if they are available.
    Namespaces,
    /// Landlock and the filter of system calls alone.
    Landlock,
    /// Limits only, without a sandbox layer.
    Nothing,
}

impl Walls {
    /// Builds each layer around an empty program.
    pub async fn probe(cell: &Cell) -> Self {
        let probe = |namespaces| {
            let cell = Cell { namespaces, walled: true, ..cell.clone() };
            async move {
                let order = ProgramRequest {
                    program: ["/bin/sh", "-c", ":"].map(str::to_owned).to_vec(),
                    directory: "/".into(),
                    limit: PROBING,
                    output: 0,
                    cancel: CancellationToken::new(),
                    reached: Reached::default(),
                    rights: Rights::default(),
                };
                match cell.run(order).await {
                    Ok(ran) if ran.ended == ProgramEnd::Code(0) => Ok(()),
                    Ok(ran) => {
                        Err(format!("a program that does nothing ended with {:?}", ran.ended))
                    }
                    Err(CellError::Wall(why) | CellError::Program(why) | CellError::Start(why)) => {
                        Err(why)
                    }
                }
            }
        };
        let (namespaces, landlock) = tokio::join!(probe(true), probe(false));
        Self { namespaces, landlock }
    }

    /// Returns the best available protection.
    #[must_use]
    pub fn best(&self) -> Behind {
        match (&self.namespaces, &self.landlock) {
            (Ok(()), _) => Behind::Namespaces,
            (Err(_), Ok(())) => Behind::Landlock,
            (Err(_), Err(_)) => Behind::Nothing,
        }
    }

    /// Returns `true` if programs can run in a sandbox at all.
    #[must_use]
    pub fn hold(&self) -> bool {
        self.best() != Behind::Nothing
    }
}

impl fmt::Display for Walls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, wall) in [("namespaces", &self.namespaces), ("Landlock", &self.landlock)] {
            match wall {
                Ok(()) => writeln!(f, "{name}: yes")?,
                Err(why) => writeln!(f, "{name}: no, {why}")?,
            }
        }
        Ok(())
    }
}
