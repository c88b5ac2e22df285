//! The error log on standard error, for those who collect logs: as text, or a line of JSON for each
//! line.

use engine::catalog::errorlog::{Echo, LogLine};
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::sync::Arc;

/// Shows each line of the error log on standard error; a line that cannot be written is lost there,
/// the log's file has it.
pub fn echo(json: bool) -> Option<Echo> {
    Some(Echo(Arc::new(move |line| {
        let text = if json { as_json(line) } else { as_text(line) };
        let _ = writeln!(io::stderr(), "{text}");
    })))
}

fn as_text(line: &LogLine<'_>) -> String {
    format!("{} {:<10} {}", engine::catalog::clock::text(line.at), line.source, line.text)
}

/// `time`, `level`, `source` and `message`, with `error`, `severity`, `state` and `client` where
/// the line has them.
fn as_json(line: &LogLine<'_>) -> String {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("time", format!("{}Z", engine::catalog::clock::iso(line.at)).into());
    let error = number_after(line.text, "Error: ");
    put("level", if error.is_some() { "error" } else { "info" }.into());
    put("source", line.source.into());
    put("message", line.text.into());
    for (name, value) in [
        ("error", error),
        ("severity", error.and_then(|_| number_after(line.text, "Severity: "))),
        ("state", error.and_then(|_| number_after(line.text, "State: "))),
    ] {
        if let Some(value) = value {
            put(name, value.into());
        }
    }
    let client = line.text.split_once("[CLIENT: ").and_then(|(_, rest)| rest.split_once(']'));
    if let Some((client, _)) = client {
        put("client", client.into());
    }
    Value::Object(fields).to_string()
}

/// The number behind a word.
fn number_after(text: &str, word: &str) -> Option<i64> {
    let (_, rest) = text.split_once(word)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn lines_become_json() {
        let line = |source, text| {
            as_json(&LogLine { at: Duration::from_millis(1_767_580_245_678), source, text })
        };
        assert_eq!(
            line("Server", "Ringwood is \"ready\"."),
            r#"{"level":"info","message":"Ringwood is \"ready\".","source":"Server","time":"2026-01-05T02:30:45.678Z"}"#
        );
        let failed: Value =
            serde_json::from_str(&line("Logon", "Error: 18456, Severity: 14, State: 8.")).unwrap();
        assert_eq!(
            (&failed["error"], &failed["severity"], &failed["state"]),
            (&18456.into(), &14.into(), &8.into())
        );
        assert_eq!(failed["level"], "error");
        let client: Value =
            serde_json::from_str(&line("Logon", "Login failed. [CLIENT: ::1]")).unwrap();
        assert_eq!(client["client"], "::1");
        assert!(client.get("error").is_none());
    }
}
