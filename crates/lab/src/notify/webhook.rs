//! A webhook: `{"text": ...}` by POST, which is what chat services show.

use std::time::Duration;
use ureq::http::Uri;

/// A webhook's address.
pub(super) struct Webhook(Uri);

impl Webhook {
    /// Of an `http` or `https` URL. Errors do not repeat the URL.
    pub fn new(url: &str) -> Result<Webhook, String> {
        let uri: Uri = url.parse().map_err(|e| format!("this is not a URL: {e}"))?;
        let authority = uri.authority().map_or("", |a| a.as_str());
        let host = uri.host().unwrap_or_default();
        // A port that is no number is in the authority alone.
        match authority.strip_suffix(host) {
            _ if host.is_empty() => Err("this is not a URL: it has no host".into()),
            None if uri.port_u16().is_none() => Err("this is not a URL: invalid port".into()),
            _ => Ok(Webhook(uri)),
        }
    }

    /// Scheme, host and port. The rest of the address is often the key to the hook.
    fn name(&self) -> String {
        let port = self.0.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!(
            "{}://{}{port}",
            self.0.scheme_str().unwrap_or_default(),
            self.0.host().unwrap_or_default()
        )
    }

    /// Posts the text.
    pub fn send(&self, text: &str) -> Result<(), String> {
        let body = serde_json::json!({ "text": text }).to_string();
        let config =
            ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(30))).build();
        ureq::Agent::new_with_config(config)
            .post(&self.0)
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
