//! What is said, and a webhook of the tests' own that hears it.

use super::Address;
use crate::LabError;
use crate::results::Results;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

fn stopped() -> Result<Results, LabError> {
    Err(LabError::Request("the disk is full".into()))
}

#[test]
fn a_webhook_gets_the_message() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
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
        reader
            .get_mut()
            .write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
            .unwrap();
        String::from_utf8(body).unwrap()
    });
    Address::parse(&url).unwrap().send(&stopped()).unwrap();
    let body: serde_json::Value = serde_json::from_str(&server.join().unwrap()).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("Ringwood lab: the run has stopped.\nthe disk is full\n"), "{text}");
    let gone = Address::parse("http://me:s3cret@127.0.0.1:1/key").unwrap().send(&stopped());
    let gone = gone.unwrap_err().to_string();
    assert!(gone.starts_with("http://127.0.0.1:1: "), "{gone}");
    assert!(!gone.contains("s3cret") && !gone.contains("key"), "{gone}");
}

#[test]
fn the_subject_counts_studies_and_the_text_says_what_they_mean() {
    let mut results = crate::report::tests::sample();
    assert_eq!(super::subject(&Ok(results.clone())), "Ringwood lab: 1 study has ended");
    let again = results.studies[0].clone();
    results
        .studies
        .push(crate::results::StudyResult { device: "ssd-512e".into(), ..again.clone() });
    results.studies.push(crate::results::StudyResult { study: "log-growth".into(), ..again });
    let outcome = Ok(results);
    assert_eq!(super::subject(&outcome), "Ringwood lab: 2 studies have ended");
    assert!(
        super::details(&outcome).contains("vlf-count (ringwood, ssd-512e): Nothing & <less>.\n")
    );
}

#[test]
fn wrong_addresses_are_refused_and_not_repeated() {
    for (url, why) in [
        ("example.org/s3cret", "not a URL"),
        ("https://", "not a URL"),
        ("https:///s3cret", "not a URL"),
        ("http://example.org:99999/s3cret", "not a URL"),
        ("ftp://me:s3cret@example.org/", "must begin with http://, https://, smtp:// or smtps://"),
    ] {
        let error = Address::parse(url).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("--notify: ") && error.contains(why), "{url}: {error}");
        assert!(!error.contains("s3cret"), "{url}: {error}");
    }
}
