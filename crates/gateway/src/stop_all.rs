//! The methods that stop everything, and let it go on. If no daemon runs, the program's own commands call
//! them directly.

use avocet_methods::{NoParams, ResumeEverything, StopEverything};
use avocet_protocol::store::StopControl;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;

impl<'a> From<MethodCall<'a>> for &'a dyn StopControl {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.stop.as_ref()
    }
}

impl RunMethod for StopEverything {
    type Ports<'a> = &'a dyn StopControl;

    async fn run(stop: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&stop.stop_everything().await.map_err(unavailable)?)
    }
}

impl RunMethod for ResumeEverything {
    type Ports<'a> = &'a dyn StopControl;

    async fn run(stop: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&stop.resume_everything().await.map_err(unavailable)?)
    }
}
