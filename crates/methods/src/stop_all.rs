//! The methods that stop everything, and let it go on.

use crate::{NoParams, Touches};

/// `stop_all`: ends all turns and jobs, and lets messages and schedules wait. The result is `false` if
/// everything is stopped already.
#[derive(Debug)]
pub enum StopEverything {}

/// `resume_all`: ends the stop. The result is `false` if nothing is stopped.
#[derive(Debug)]
pub enum ResumeEverything {}

method!(ResumeEverything = "resume_all": NoParams => bool, Operator, Touches::Everything, outside_libraries);
method!(StopEverything = "stop_all": NoParams => bool, Operator, Touches::Everything, outside_libraries);
