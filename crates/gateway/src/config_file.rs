//! The methods about the configuration file. Its text stays out of the log. The redactor leaves the
//! text as it is, because an operator who saves a redacted text would lose the secrets.

use avocet_methods::{
    CheckConfig, DiffConfig, FormConfig, NoParams, SaveConfig, SavedConfig, ShowConfig,
};
use avocet_protocol::daemon::{ConfigFile, ConfigFileError};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::wire::RpcError;

impl<'a> From<MethodCall<'a>> for &'a dyn ConfigFile {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.config.as_ref()
    }
}

impl RunMethod for ShowConfig {
    type Ports<'a> = &'a dyn ConfigFile;

    async fn run(file: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&file.show().await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for DiffConfig {
    type Ports<'a> = &'a dyn ConfigFile;

    async fn run(file: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&file.diff().await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for CheckConfig {
    type Ports<'a> = &'a dyn ConfigFile;

    async fn run(file: Self::Ports<'_>, Self { text }: Self) -> Answered<Self> {
        Reply::with_whole(&file.check(text).await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for FormConfig {
    type Ports<'a> = &'a dyn ConfigFile;

    async fn run(file: Self::Ports<'_>, Self { text, edits }: Self) -> Answered<Self> {
        Reply::with_whole(&file.describe_form(text, edits).await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for SaveConfig {
    type Ports<'a> = &'a dyn ConfigFile;

    async fn run(file: Self::Ports<'_>, Self { text, digest }: Self) -> Answered<Self> {
        let digest = file.save(text, &digest).await.map_err(|error| refusal(&error))?;
        Reply::with_whole(&SavedConfig { digest })
    }
}

fn refusal(error: &ConfigFileError) -> RpcError {
    let code = match error {
        ConfigFileError::Changed(_) => RpcError::CONFLICT,
        ConfigFileError::Unusable(_)
        | ConfigFileError::BadEdit(_)
        | ConfigFileError::TooLong(_) => RpcError::PARAMS,
        ConfigFileError::Failed(_) => RpcError::UNAVAILABLE,
    };
    RpcError::new(code, error.to_string())
}
