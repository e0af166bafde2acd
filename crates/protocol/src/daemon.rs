//! The daemon's own state: its configuration file, its status, its health, its measurements.

mod config_file;
mod config_form;
mod health;
mod live;
mod meter;
mod status;

pub use config_file::{
    ConfigChange, ConfigCheck, ConfigDiff, ConfigFault, ConfigFile, ConfigFileError, ConfigForm,
    ConfigText, MAX_CONFIG_BYTES, ShownConfig,
};
pub use config_form::{
    ConfigEdit, FormAddition, FormChoice, FormField, FormGroup, FormInput, FormTable,
};
pub use health::{Check, CheckState, Checkup, LastExchanges, LastFailure};
pub use live::Live;
pub use meter::{EventMeter, METRIC_FAMILIES, MetricFamily, MetricForm, MetricLabels, MetricValue};
pub use status::{
    ChannelStatus, DaemonStatus, DiskStatus, Ignored, LogCheck, LogStatus, ProviderStatus, Report,
    RolledBack, TelemetryStatus, WaitingChat,
};
