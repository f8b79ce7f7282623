//! Azure OpenAI: chat completions of a deployment.

use std::sync::Arc;

use super::{
    http::Server,
    model::{Endpoint, Provider, Settings},
    openai::Chat,
};
use crate::{ErrorKind, ModelError};

/// Models `azure/DEPLOYMENT`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Azure;

const PREFIX: &str = "azure/";

impl Provider for Azure {
    fn forms(&self) -> Vec<String> {
        vec!["azure/DEPLOYMENT".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model.strip_prefix(PREFIX).is_some_and(|rest| !rest.is_empty())
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let deployment = model.strip_prefix(PREFIX).unwrap_or(model);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !deployment.chars().all(is_name) {
            let text = format!("`{deployment}` is not the name of an Azure deployment");
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let needed = |name: &str, offline: &str| match settings.variable(&[name]) {
            Some((_, value)) => Ok(value),
            None if settings.is_offline => Ok(offline.to_owned()),
            None => {
                let text = format!("model `{model}` needs the variable {name}");
                Err(ModelError::new(ErrorKind::Config, text))
            }
        };
        let base = match &settings.base_url {
            Some(base) => base.clone(),
            None => needed("AZURE_API_BASE", "http://localhost")?,
        };
        let version = needed("AZURE_API_VERSION", "offline")?;
        if !version.chars().all(is_name) {
            let text = "AZURE_API_VERSION is not a version such as 2024-10-21";
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let key = settings.key(model, &["AZURE_API_KEY"])?;
        let path =
            format!("/openai/deployments/{deployment}/chat/completions?api-version={version}");
        Ok(Arc::new(Chat {
            provider: "azure",
            model: deployment.to_owned(),
            path,
            max_tokens: "max_completion_tokens",
            server: Server::new(&base, key, ("api-key", ""), settings)?,
        }))
    }
}
