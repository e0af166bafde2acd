//! Which walls this system gives: found out by building them.

use std::fmt;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::launch::{Cell, CellError, Ended, Order};
use super::network::Reached;
use super::plan::Rights;

/// How long building the walls once may take.
const PROBING: Duration = Duration::from_secs(10);

/// Which walls this system gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walls {
    /// Namespaces: files, processes and networks that are not in them do not exist; else why not.
    pub namespaces: Result<(), String>,
    /// Landlock and the filter of system calls, which are the walls where there are no namespaces, and
    /// second ones where there are; else why not.
    pub landlock: Result<(), String>,
}

/// What a program is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Namespaces, and what else there is.
    Namespaces,
    /// Landlock and the filter of system calls alone.
    Landlock,
    /// Limits, which are no wall.
    Nothing,
}

impl Walls {
    /// Builds the walls around a program that does nothing.
    pub async fn probe(cell: &Cell) -> Self {
        let probe = |namespaces| {
            let cell = Cell { namespaces, walled: true, ..cell.clone() };
            async move {
                let order = Order {
                    program: ["/bin/sh", "-c", ":"].map(str::to_owned).to_vec(),
                    directory: "/".into(),
                    limit: PROBING,
                    output: 0,
                    cancel: CancellationToken::new(),
                    reached: Reached::default(),
                    rights: Rights::default(),
                };
                match cell.run(order).await {
                    Ok(ran) if ran.ended == Ended::Code(0) => Ok(()),
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

    /// The best of them.
    #[must_use]
    pub fn best(&self) -> Behind {
        match (&self.namespaces, &self.landlock) {
            (Ok(()), _) => Behind::Namespaces,
            (Err(_), Ok(())) => Behind::Landlock,
            (Err(_), Err(_)) => Behind::Nothing,
        }
    }

    /// Whether programs can be run behind walls at all.
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
