//! The configuration file of the fake daemon, in memory. The word `fault` in a text is a fault of its
//! line.

use async_trait::async_trait;
use avocet_protocol::daemon::{
    ConfigChange, ConfigCheck, ConfigDiff, ConfigEdit, ConfigFault, ConfigFile, ConfigFileError,
    ConfigForm, ConfigText, ShownConfig,
};

use super::FakeDaemon;

/// The digest of a text: its length.
fn digest(text: &str) -> String {
    format!("{:x}", text.len())
}

fn faults(text: &str) -> Vec<ConfigFault> {
    let lines = text.lines().zip(1..).filter(|(line, _)| line.contains("fault"));
    let fault = |(_, line)| ConfigFault {
        line: Some(line),
        key: Some("key".to_owned()),
        message: "`key`: it is a fault".to_owned(),
    };
    lines.map(fault).collect()
}

#[async_trait]
impl ConfigFile for FakeDaemon {
    async fn show(&self) -> Result<ShownConfig, ConfigFileError> {
        let text = self.config.lock().clone();
        let path = "/etc/avocet/config.toml".to_owned();
        Ok(ShownConfig { path, digest: digest(&text), text: ConfigText(text), is_writable: true })
    }

    async fn check(&self, ConfigText(text): ConfigText) -> Result<ConfigCheck, ConfigFileError> {
        Ok(ConfigCheck { faults: faults(&text), warnings: Vec::new() })
    }

    async fn describe_form(
        &self,
        ConfigText(text): ConfigText,
        edits: Vec<ConfigEdit>,
    ) -> Result<ConfigForm, ConfigFileError> {
        if let Some(edit) = edits.iter().find(|edit| edit.key == "fault") {
            return Err(ConfigFileError::BadEdit(format!("`{}`: it is a fault", edit.key)));
        }
        let added = edits.iter().map(|ConfigEdit { key, value, .. }| format!("{key} = {value}\n"));
        let text = added.fold(text, |text, line| text + &line);
        let check = ConfigCheck { faults: faults(&text), warnings: Vec::new() };
        let (groups, tables, additions) = (Vec::new(), Vec::new(), Vec::new());
        Ok(ConfigForm { text: ConfigText(text), check, groups, tables, additions })
    }

    async fn diff(&self) -> Result<ConfigDiff, ConfigFileError> {
        let ShownConfig { path, text: ConfigText(text), .. } = self.show().await?;
        let file = Some(format!("{text:?}"));
        let change =
            ConfigChange { key: "text".to_owned(), running: None, file, needs_restart: true };
        Ok(ConfigDiff { path, changes: vec![change] })
    }

    async fn save(
        &self,
        ConfigText(text): ConfigText,
        known: &str,
    ) -> Result<String, ConfigFileError> {
        let mut file = self.config.lock();
        match faults(&text) {
            faults if !faults.is_empty() => Err(ConfigFileError::Unusable(faults)),
            _ if text == "read-only" => Err(ConfigFileError::Failed("read-only".to_owned())),
            _ if digest(&file) != known => Err(ConfigFileError::Changed("the file".to_owned())),
            _ => {
                *file = text;
                Ok(digest(&file))
            }
        }
    }
}
