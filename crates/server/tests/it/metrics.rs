//! Metrics over HTTP: what is counted, the format, and clients that misbehave.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{Client, TestServer};
use tds::prelogin::Encryption;

fn http(address: SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

fn scrape(address: SocketAddr) -> String {
    let answer = http(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("application/openmetrics-text"),
        "{head}"
    );
    assert!(head.contains(&format!("Content-Length: {}", body.len())));
    assert!(body.ends_with("# EOF\n"));
    body.to_owned()
}

/// The value of a metric with these labels.
fn value(text: &str, metric: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{metric} is not in\n{text}")).parse().unwrap()
}

fn server() -> (TestServer, SocketAddr) {
    let server = TestServer::with(|o| o.metrics = Some("127.0.0.1:0".parse().unwrap()));
    let address = server.server.as_ref().unwrap().metrics_address().unwrap();
    (server, address)
}

#[test]
fn what_happens_is_counted() {
    let (server, address) = server();
    let before = scrape(address);
    let mut client = server.client();
    for text in [
        "create database d",
        "use d create table t (i int)",
        "insert d.dbo.t values (1)",
        "checkpoint",
    ] {
        client.run(text);
    }
    assert_eq!(client.batch("select 1 / 0").error_numbers(), [8134]);
    assert!(Client::connect(server.address, Encryption::NotSupported, "sa", "wrong", "").is_err());
    let after = scrape(address);
    let more = |metric: &str| value(&after, metric) - value(&before, metric);
    assert_eq!(more("ringwood_requests_total"), 5.0);
    assert_eq!(more("ringwood_batches_total"), 5.0);
    assert_eq!(more("ringwood_connections_accepted_total"), 2.0);
    assert_eq!(more("ringwood_errors_total{severity=\"16\"}"), 1.0);
    assert_eq!(more("ringwood_logins_total{result=\"success\"}"), 1.0);
    assert_eq!(more("ringwood_logins_total{result=\"failure\"}"), 1.0);
    assert!(
        more("ringwood_received_bytes_total") > 500.0 && more("ringwood_sent_bytes_total") > 500.0
    );
    assert!(more("ringwood_compilations_total") >= 4.0);
    assert!(value(&after, "ringwood_sessions") >= 1.0);
    assert!(value(&after, "ringwood_resident_memory_bytes") > 1e6);
    let of = |metric: &str| value(&after, &format!("{metric}{{database=\"d\"}}"));
    assert_eq!(of("ringwood_database_online"), 1.0);
    assert!(of("ringwood_log_vlfs") >= 2.0 && of("ringwood_log_used_bytes") > 0.0);
    assert!(
        of("ringwood_write_transactions_total") >= 2.0 && of("ringwood_checkpoints_total") >= 1.0
    );
    let file = "{database=\"d\",file=\"d_log\",type=\"log\"}";
    assert!(value(&after, &format!("ringwood_file_writes_total{file}")) > 0.0);
    // The histogram's classes are cumulative and end with the count.
    let classes: Vec<f64> = after
        .lines()
        .filter(|line| {
            line.starts_with("ringwood_log_flush_seconds_bucket") && line.contains("database=\"d\"")
        })
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(classes.len() == 20 && classes.is_sorted(), "{classes:?}");
    assert_eq!(*classes.last().unwrap(), of("ringwood_log_flush_seconds_count"));
    assert!(
        of("ringwood_log_flush_seconds_count") > 0.0 && of("ringwood_log_flush_seconds_sum") > 0.0
    );
}

/// Every metric is told of once, with its type, before its values, and no value comes twice.
#[test]
fn the_format_is_sound() {
    let (server, address) = server();
    let mut client = server.client();
    client.run("create database [a \"b\\c]");
    assert!(!scrape(address).contains("ringwood_request_phase"), "nobody has asked");
    client.run("dbcc traceon (15001, -1) with no_infomsgs");
    // It is counted when it has been answered: that of the first one is there with the second's.
    client.run("select 1");
    client.run("select 1");
    let text = scrape(address);
    let (run, processor) =
        ("ringwood_request_phase_seconds_sum", "ringwood_request_phase_cpu_seconds_total");
    let of = |metric: &str| value(&text, &format!("{metric}{{phase=\"RUN\"}}"));
    assert!(of(processor) <= of(run) && of(run) > 0.0, "{text}");
    let (mut types, mut seen) =
        (std::collections::HashMap::new(), std::collections::HashSet::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} comes twice");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
            assert!(seen.insert(name.to_owned()), "{line} comes twice");
            let family = name.split('{').next().unwrap();
            let family = ["_total", "_bucket", "_count", "_sum"]
                .iter()
                .find_map(|end| family.strip_suffix(end))
                .unwrap_or(family);
            assert!(types.contains_key(family), "{family} has no type");
            assert!(family.starts_with("ringwood_"));
        }
    }
    assert!(seen.len() > 150, "{}", seen.len());
    assert!(text.contains("database=\"a \\\"b\\\\c\""), "{text}");
}

#[test]
fn clients_that_misbehave_hold_nobody_up() {
    let (server, address) = server();
    assert!(http(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(http(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    assert!(http(address, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    let head = http(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"));
    // They ask for nothing, or never end to ask.
    let mut silent: Vec<TcpStream> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
    silent[0].write_all(b"GET /met").unwrap();
    let begun = Instant::now();
    scrape(address);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    drop(silent);
    let mut server = server;
    server.stop();
    assert!(TcpStream::connect(address).is_err());
}
