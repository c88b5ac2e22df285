//! The formats of files that `ringwood export` writes and `ringwood import` reads.

use std::path::Path;

/// A file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FileFormat {
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// JSON lines: an object per row
    Jsonl,
    /// Apache Parquet
    Parquet,
}

impl FileFormat {
    /// What was given, else what the name's ending says.
    pub fn of(given: Option<FileFormat>, path: &Path) -> Result<FileFormat, String> {
        if let Some(format) = given {
            return Ok(format);
        }
        let extension =
            path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Ok(FileFormat::Csv),
            "tsv" | "tab" => Ok(FileFormat::Tsv),
            "jsonl" | "ndjson" => Ok(FileFormat::Jsonl),
            "parquet" | "pq" => Ok(FileFormat::Parquet),
            _ => Err(format!(
                "{}: the name does not tell the format; give --format csv, tsv, jsonl or parquet",
                path.display()
            )),
        }
    }

    /// The character between the fields of a delimited format.
    pub fn delimiter(self) -> char {
        if self == FileFormat::Tsv { '\t' } else { ',' }
    }
}

/// A character given for `--delimiter`: one of ASCII that no field can begin with.
pub fn parse_delimiter(text: &str) -> Result<char, String> {
    let text = if text == "\\t" { "\t" } else { text };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None)
            if c.is_ascii() && !matches!(c, '"' | '\n' | '\r') && !c.is_ascii_alphanumeric() =>
        {
            Ok(c)
        }
        _ => Err("expected one ASCII character that is no letter, digit or quote".into()),
    }
}
