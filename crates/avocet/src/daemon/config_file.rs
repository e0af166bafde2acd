//! The configuration file for clients of the daemon: shows it, checks another text, and replaces it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::daemon::{
    ConfigCheck, ConfigDiff, ConfigEdit, ConfigFile, ConfigFileError, ConfigForm, ConfigText, Live,
    ShownConfig,
};
use avocet_supervise::run_blocking;
use tokio::sync::Mutex;

use crate::components::config_file::{
    check_config_text, fault_of_failure, read_config_file, save_config_text,
};
use crate::components::config_form::{ConfigTables, describe_config};
use crate::components::config_text::{apply_edit, values_of_text};
use crate::components::places::config_place;
use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::daemon::reload::pending_changes;
use crate::environment::absolute_path;
use crate::exit::Failure;

/// The configuration file of a running daemon.
#[derive(Debug)]
pub(crate) struct DaemonConfigFile {
    context: CommandContext,
    /// The configuration in use.
    running: Live<Configuration>,
    /// The file, or the place where it would be; `None` without a home directory.
    path: Option<PathBuf>,
    /// Held while the file is compared and replaced.
    saving: Mutex<()>,
}

impl DaemonConfigFile {
    pub(crate) fn new(
        context: &CommandContext,
        running: Live<Configuration>,
    ) -> Result<Arc<Self>, Failure> {
        let path = running.now().document.path().map(Path::to_owned);
        let path = path.or_else(|| config_place(&context.cli));
        let path = path.as_deref().map(absolute_path).transpose()?;
        Ok(Arc::new(Self { context: context.clone(), running, path, saving: Mutex::default() }))
    }

    fn path(&self) -> Result<PathBuf, ConfigFileError> {
        self.path.clone().ok_or_else(|| {
            ConfigFileError::Failed(
                "there is no home directory, so the configuration file has no place; start the \
                    daemon with --config FILE"
                    .to_owned(),
            )
        })
    }

    /// Runs blocking work on the file.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CommandContext, &Path) -> Result<T, ConfigFileError> + Send + 'static,
    ) -> Result<T, ConfigFileError> {
        let (context, path) = (self.context.clone(), self.path()?);
        let done = run_blocking(move || work(&context, &path)).await;
        done.unwrap_or_else(|panicked| Err(ConfigFileError::Failed(panicked.to_string())))
    }
}

#[async_trait]
impl ConfigFile for DaemonConfigFile {
    async fn show(&self) -> Result<ShownConfig, ConfigFileError> {
        self.on_disk(|_, path| read_config_file(path)).await
    }

    async fn check(&self, ConfigText(text): ConfigText) -> Result<ConfigCheck, ConfigFileError> {
        self.on_disk(move |context, path| check_config_text(context, path, text)).await
    }

    async fn describe_form(
        &self,
        ConfigText(text): ConfigText,
        edits: Vec<ConfigEdit>,
    ) -> Result<ConfigForm, ConfigFileError> {
        self.on_disk(move |context, path| {
            let form_of = |text: &str| {
                // The check names the place where the text is no TOML.
                values_of_text(text).as_ref().map(describe_config).unwrap_or_default()
            };
            let before = form_of(&text);
            let mut edits = edits.into_iter().map(|edit| before.typed_edit(edit));
            let edited = edits.try_fold(text, |text, edit| apply_edit(&text, &edit));
            let text = edited.map_err(ConfigFileError::BadEdit)?;
            let check = check_config_text(context, path, text.clone())?;
            let ConfigTables { groups, tables, additions } = form_of(&text);
            Ok(ConfigForm { text: ConfigText(text), check, groups, tables, additions })
        })
        .await
    }

    async fn diff(&self) -> Result<ConfigDiff, ConfigFileError> {
        let running = self.running.now();
        self.on_disk(move |context, path| {
            let changes = pending_changes(context, &running);
            let changes = changes
                .map_err(|failure| ConfigFileError::Unusable(vec![fault_of_failure(&failure)]))?;
            Ok(ConfigDiff { path: path.display().to_string(), changes })
        })
        .await
    }

    async fn save(
        &self,
        ConfigText(text): ConfigText,
        known: &str,
    ) -> Result<String, ConfigFileError> {
        let _saving = self.saving.lock().await;
        let known = known.to_owned();
        self.on_disk(move |context, path| save_config_text(context, path, &text, &known)).await
    }
}
