//! The settings of the session: shown to the editor, changed by it, and followed.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, SessionUpdate, SetSessionConfigOptionResponse,
    SetSessionModeResponse,
};
use avocet_gateway::{ClientError, RpcError, SetSessionOption, ShowOptions};

use super::EditorSession;
use crate::editor::{failed, invalid};
use crate::options::{OptionResponder, ShownOptions};

impl EditorSession {
    /// Reads the settings for the answer to the request that opens the session.
    pub(crate) async fn read_options(&mut self) -> &ShownOptions {
        if let Some(options) = self.current_options().await {
            self.options = options;
        }
        &self.options
    }

    /// Tells the editor the settings that have changed: by a command of the chat, or elsewhere.
    pub(super) async fn follow_options(&mut self) {
        let Some(options) = self.current_options().await else { return };
        self.show_changes(options, true);
    }

    /// Changes a setting for the editor.
    pub(super) async fn set_option(
        &mut self,
        option: String,
        value: String,
        responder: OptionResponder,
    ) {
        let changed = self.change_option(option, value).await;
        let responded = match (changed, responder) {
            (Err(error), responder) => responder.refuse_change(error),
            (Ok(options), OptionResponder::Config(responder)) => {
                self.show_changes(options, false);
                let all = self.options.config_options().unwrap_or_default();
                responder.respond(SetSessionConfigOptionResponse::new(all))
            }
            (Ok(options), OptionResponder::Mode(responder)) => {
                let responded = responder.respond(SetSessionModeResponse::new());
                self.show_changes(options, true);
                responded
            }
        };
        drop(responded);
    }

    async fn change_option(
        &mut self,
        option: String,
        value: String,
    ) -> Result<ShownOptions, Error> {
        let client = self.connected().await.map_err(failed)?;
        let set = SetSessionOption { session: self.place.session.clone(), option, value };
        match self.call::<SetSessionOption>(&client, &set).await {
            Ok(options) => Ok(ShownOptions(options)),
            Err(ClientError::Refused(RpcError { code: RpcError::PARAMS, message, .. })) => {
                Err(invalid(message))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Returns the present settings; `None` if they cannot be read.
    async fn current_options(&mut self) -> Option<ShownOptions> {
        let client = self.client.clone()?;
        let show = ShowOptions { session: self.place.session.clone() };
        match self.call::<ShowOptions>(&client, &show).await {
            Ok(options) => Some(ShownOptions(options)),
            // The loss of the connection ends the prompt.
            Err(ClientError::Lost) => None,
            Err(error) => {
                let session = &self.place.session;
                tracing::warn!(%error, %session, "cannot read the settings of the session");
                None
            }
        }
    }

    /// Keeps the settings, and sends what has changed: the options if `with_options`, and the mode.
    fn show_changes(&mut self, options: ShownOptions, with_options: bool) {
        let before = std::mem::replace(&mut self.options, options);
        if before == self.options {
            return;
        }
        if with_options {
            let all = self.options.config_options().unwrap_or_default();
            let update = ConfigOptionUpdate::new(all);
            self.editor.update(SessionUpdate::ConfigOptionUpdate(update));
        }
        if let Some(mode) = self.options.mode().filter(|mode| before.mode() != Some(*mode)) {
            let update = CurrentModeUpdate::new(mode.to_owned());
            self.editor.update(SessionUpdate::CurrentModeUpdate(update));
        }
    }
}
