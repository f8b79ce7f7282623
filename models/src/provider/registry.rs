//! The providers by the names of their models.

use std::sync::Arc;

use super::{
    anthropic::Anthropic,
    azure::Azure,
    command::Command,
    fake::FakeFile,
    gemini::Gemini,
    model::{Endpoint, Provider, Settings},
    openai,
    replay::Replay,
};
use crate::{ErrorKind, ModelError};

/// Registered providers.
#[derive(Clone, Debug)]
pub struct Providers(Vec<Arc<dyn Provider>>);

impl Default for Providers {
    fn default() -> Self {
        let mut providers = Self(Vec::new());
        for server in openai::SERVERS {
            providers.register(server);
        }
        providers.register(Azure);
        providers.register(Anthropic);
        providers.register(Gemini);
        providers.register(Command);
        providers.register(FakeFile);
        providers.register(Replay);
        providers
    }
}

impl Providers {
    /// Registers a provider. Of two that take a name, the later one is asked.
    pub fn register(&mut self, provider: impl Provider + 'static) {
        self.0.push(Arc::new(provider));
    }

    /// Returns true if a provider takes the name of this model.
    pub fn accept(&self, model: &str) -> bool {
        self.0.iter().any(|provider| provider.accepts(model.trim()))
    }

    /// Prepares calls to a model. The name decides which provider is asked, unless there is a base URL: then the server is
    /// OpenAI-compatible, except for the names of the providers with a format of their own.
    ///
    /// # Errors
    ///
    /// No provider takes the name, or its settings are not sufficient.
    pub fn connect(
        &self,
        model: &str,
        settings: &Settings,
    ) -> Result<Arc<dyn Endpoint>, ModelError> {
        let model = model.trim();
        if let Some(provider) = self.0.iter().rev().find(|provider| provider.accepts(model)) {
            return provider.connect(model, settings);
        }
        if settings.base_url.is_some() && !model.is_empty() {
            return openai::COMPATIBLE.connect(model, settings);
        }
        for (prefix, what) in
            [("bedrock/", "Bedrock"), ("vertex_ai/", "Vertex AI"), ("projects/", "Vertex AI")]
        {
            if model.starts_with(prefix) {
                let text = format!(
                    "model `{model}`: {what} is not supported yet; use a proxy with `base_url` of `judge`"
                );
                return Err(ModelError::new(ErrorKind::Config, text));
            }
        }
        let forms: Vec<String> = self.0.iter().flat_map(|provider| provider.forms()).collect();
        let text = format!(
            "model `{model}` is of no known provider; known are {}, or any name with `base_url` of `judge`",
            forms.join(", ")
        );
        Err(ModelError::new(ErrorKind::Config, text))
    }
}
