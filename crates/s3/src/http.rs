//! The way of `object_store`'s requests: `ureq` on threads that may block, so that no second HTTP
//! stack is needed. Guarantees: status codes are results, not errors; redirects are not followed
//! (they would need another signature); every request ends within its time limits.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use ureq::http::{Method, Request, request::Parts};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

const CONNECT: Duration = Duration::from_secs(15);
const ANSWER: Duration = Duration::from_secs(60);
const WHOLE: Duration = Duration::from_secs(300);
/// Longest answer: a range, or a document about parts.
const MAX_ANSWER: u64 = 64 << 20;

/// Connections to one endpoint.
#[derive(Clone, Debug)]
pub struct Http {
    agent: ureq::Agent,
}

impl Http {
    /// `certificates` in PEM replace the roots that browsers trust.
    pub fn new(certificates: &[Vec<u8>], tls: bool) -> Result<Http, ureq::Error> {
        let mut roots: Vec<Certificate<'static>> = Vec::new();
        for item in certificates.iter().flat_map(|pem| parse_pem(pem)) {
            if let PemItem::Certificate(certificate) = item? {
                roots.push(certificate);
            }
        }
        let roots = if roots.is_empty() { RootCerts::WebPki } else { RootCerts::from(roots) };
        let config = ureq::Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .https_only(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent("Ringwood")
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .timeout_global(Some(WHOLE))
            .build();
        Ok(Http { agent: config.new_agent() })
    }
}

impl HttpConnector for Http {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Http {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let agent = self.agent.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let sent = tokio::task::spawn_blocking(move || send(&agent, parts, &body)).await;
            sent.unwrap_or_else(|e| Err(HttpError::new(HttpErrorKind::Unknown, e)))
        })
    }
}

fn send(agent: &ureq::Agent, parts: Parts, body: &Bytes) -> Result<HttpResponse, HttpError> {
    let with_body = matches!(parts.method, Method::PUT | Method::POST);
    let answer = if with_body {
        agent.run(Request::from_parts(parts, &body[..]))
    } else {
        agent.run(Request::from_parts(parts, ()))
    };
    let (parts, mut body) = answer.map_err(failed)?.into_parts();
    let body = body.with_config().limit(MAX_ANSWER).read_to_vec().map_err(failed)?;
    Ok(HttpResponse::from_parts(parts, body.into()))
}

/// Which failures are worth another try is `object_store`'s to say, by their kind.
fn failed(e: ureq::Error) -> HttpError {
    use std::io::ErrorKind::{BrokenPipe, UnexpectedEof};
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, TimedOut};
    let kind = match &e {
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => HttpErrorKind::Connect,
        ureq::Error::Io(io) => match io.kind() {
            ConnectionRefused => HttpErrorKind::Connect,
            TimedOut => HttpErrorKind::Timeout,
            ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof => {
                HttpErrorKind::Interrupted
            }
            _ => HttpErrorKind::Unknown,
        },
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, e)
}
