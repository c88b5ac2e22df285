//! A webhook: `{"text": ...}` by POST, which is what chat services show.

use std::time::Duration;
use url::Url;

/// A webhook's address.
pub(super) struct Webhook(Url);

impl Webhook {
    /// Of an `http` or `https` URL, which has a host by its scheme.
    pub fn new(url: Url) -> Webhook {
        Webhook(url)
    }

    /// Scheme, host and port. The rest of the address is often the key to the hook.
    fn name(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Posts the text.
    pub fn send(&self, text: &str) -> Result<(), String> {
        let body = serde_json::json!({ "text": text }).to_string();
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).build();
        ureq::Agent::new_with_config(config)
            .post(self.0.as_str())
            .header("Content-Type", "application/json")
            .send(body.as_str())
            .map(drop)
            .map_err(|e| format!("{}: {}", self.name(), without_address(&e)))
    }
}

/// The error without the address that some of them repeat.
fn without_address(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "this address cannot be used".into(),
        other => other.to_string(),
    }
}
