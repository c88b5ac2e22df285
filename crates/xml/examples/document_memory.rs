//! What a document costs: bytes of memory for each byte of its text, and the time to read, ask and
//! write it.
//!
//! `./bench document-memory`

use std::time::Instant;

use ringwood_xml::{NodeRef, Pace, Query, TextSource, Whitespace, read};

fn main() {
    let rows = |text: &str, count: usize| format!("<r>{}</r>", text.repeat(count));
    let texts = [
        ("empty elements", rows("<a/>", 2_000_000), "/r/a"),
        (
            "rows",
            rows("<row id=\"1234567\"><name>somebody</name><price>12.50</price></row>", 200_000),
            "/r/row/name",
        ),
        ("attributes", rows("<row a=\"1\" b=\"22\" c=\"333\" d=\"4444\"/>", 300_000), "//@c"),
        ("text", rows("word word word word word word word word word word ", 200_000), "/r/text()"),
    ];
    let pace = Pace::new(&|| true);
    println!(
        "{:16} {:>8} {:>10} {:>8} {:>8} {:>8}",
        "text", "MB", "bytes/byte", "read ms", "ask ms", "write ms"
    );
    for (name, text, query) in texts {
        let begin = Instant::now();
        let document = read(&text, TextSource::Wide, Whitespace::Dropped, &pace).expect(name);
        let read_ms = begin.elapsed().as_millis();
        let begin = Instant::now();
        let compiled = Query::parse(query).expect(name);
        let found = compiled.run(&document, NodeRef::ROOT, &[], &pace).expect(name).nodes().len();
        let ask_ms = begin.elapsed().as_millis();
        let begin = Instant::now();
        let written = document.text(&pace).len();
        let write_ms = begin.elapsed().as_millis();
        assert!(found > 0 && written > 0);
        println!(
            "{name:16} {:8.1} {:10.1} {read_ms:8} {ask_ms:8} {write_ms:8}",
            text.len() as f64 / 1e6,
            document.heap_bytes() as f64 / text.len() as f64
        );
    }
}
