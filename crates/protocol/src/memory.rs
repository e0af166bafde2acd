//! The ports that search, mirror and consolidate the memory. Its rows are in `store`.

mod consolidate;
mod mirror;
mod recall;

pub use consolidate::{
    Consolidate, ConsolidateError, ConsolidateRequest, ConsolidationReport, ReportedEdit,
    ReportedMemory,
};
pub use mirror::{MemoryMirror, MirrorReport};
pub use recall::{Recall, RecalledMemory};
