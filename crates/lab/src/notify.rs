//! A message at the end of a run of studies, to a webhook: `{"text": ...}`, which is what chat services show, with the
//! meaning of each study or the error.

use crate::LabError;
use crate::results::Results;

/// The message.
fn text(outcome: &Result<Results, LabError>) -> String {
    match outcome {
        Ok(results) => {
            let mut text = format!("Ringwood lab: {} studies have ended.", results.studies.len());
            for study in &results.studies {
                text += &format!("\n{} ({}, {}): {}", study.study, study.target, study.device, study.meaning);
            }
            text
        }
        Err(error) => format!("Ringwood lab: the run has stopped. {error}\nIt can go on with --resume."),
    }
}

/// Sends how it went. Errors: the address cannot be reached or refuses.
#[cfg(feature = "notify")]
pub fn send(url: &str, outcome: &Result<Results, LabError>) -> Result<(), LabError> {
    let body = serde_json::json!({ "text": text(outcome) }).to_string();
    let config =
        ureq::Agent::config_builder().timeout_global(Some(std::time::Duration::from_secs(30))).build();
    ureq::Agent::new_with_config(config)
        .post(url)
        .header("Content-Type", "application/json")
        .send(body.as_str())
        .map(drop)
        .map_err(|e| LabError::Request(format!("{url}: {e}")))
}

/// This build has no HTTP client.
#[cfg(not(feature = "notify"))]
pub fn send(url: &str, outcome: &Result<Results, LabError>) -> Result<(), LabError> {
    Err(LabError::Request(format!("{url}: this build has no webhooks (feature notify); {}", text(outcome))))
}

#[cfg(all(test, feature = "notify"))]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};

    #[test]
    fn a_webhook_gets_the_message() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some((name, value)) = line.split_once(": ")
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            reader.get_mut().write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n").unwrap();
            String::from_utf8(body).unwrap()
        });
        send(&url, &Err(LabError::Request("the disk is full".into()))).unwrap();
        let body: serde_json::Value = serde_json::from_str(&server.join().unwrap()).unwrap();
        assert!(body["text"].as_str().unwrap().contains("the disk is full"), "{body}");
        let gone = send("http://127.0.0.1:1/", &Err(LabError::TimeLimit(1)));
        assert!(gone.is_err());
    }
}
