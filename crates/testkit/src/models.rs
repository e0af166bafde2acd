//! Fake models by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_protocol::model::{Model, Models, NoModel};

use crate::ScriptedModel;

/// The models of a test. Fallbacks are ignored.
#[derive(Debug, Default)]
pub struct FakeModels(pub BTreeMap<&'static str, Arc<ScriptedModel>>);

impl Models for FakeModels {
    fn model(&self, name: &str, _fallbacks: &[String]) -> Result<Arc<dyn Model>, NoModel> {
        let Some((provider, _)) = name.split_once('/') else {
            return Err(NoModel::Malformed(name.to_owned()));
        };
        match self.0.get(name) {
            Some(model) => Ok(model.clone()),
            None => Err(NoModel::NoProvider {
                provider: provider.to_owned(),
                known: self
                    .0
                    .keys()
                    .map(|name| name.split('/').next().unwrap().to_owned())
                    .collect(),
            }),
        }
    }

    fn configured(&self) -> Vec<String> {
        self.0.keys().map(|name| (*name).to_owned()).collect()
    }
}
