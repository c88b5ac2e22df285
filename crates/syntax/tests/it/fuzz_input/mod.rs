//! Makes T-SQL-like text from a seed, for the fuzz test and the fuzzer: token soup, and valid
//! scripts with random damage. The same seed always gives the same text.

use fastrand::Rng;

/// The valid scripts that are damaged.
const SCRIPTS: &[&str] = &[
    include_str!("../../data/database.sql"),
    include_str!("../../data/table.sql"),
    include_str!("../../data/query.sql"),
    include_str!("../../data/modify.sql"),
    include_str!("../../data/flow.sql"),
    include_str!("../../data/module.sql"),
    include_str!("../../data/study-vlf-count-schema.sql"),
    include_str!("../../data/study-log-growth-databases.sql"),
];

/// Pieces that are not words of the scripts.
const PIECES: &[&str] = &[
    "'",
    "''",
    "'x'",
    "N'y'",
    "\"",
    "\"q\"",
    "[",
    "]",
    "[q]",
    "]]",
    "/*",
    "*/",
    "--",
    "\n",
    "\r\n",
    "(",
    ")",
    "((",
    "))",
    "{",
    "}",
    ",",
    ";",
    ":",
    "::",
    ".",
    "..",
    "...",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "||",
    "^",
    "~",
    "=",
    "<>",
    "!=",
    "!<",
    "!",
    "+=",
    "@",
    "@@",
    "@v",
    "@@ROWCOUNT",
    "#",
    "#t",
    "##t",
    "$",
    "$1.5",
    "$action",
    "0x",
    "0xG",
    "0xABC",
    "1",
    "1.",
    ".5",
    "1e",
    "1e+",
    "1.5e-3",
    "99999999999999999999999999999999999999999",
    "ü",
    "€",
    "\u{0}",
    "\u{feff}",
    "é́",
    "\\\n",
    "?",
    "`",
    "\u{2028}",
    "😀",
    "GO",
    "\nGO 5\n",
    "$(x)",
];

/// One text of at most some kilobytes.
pub fn text(seed: u64) -> String {
    let mut rng = Rng::with_seed(seed);
    match rng.u8(0..4) {
        0 => soup(&mut rng),
        1 => splice(&mut rng),
        _ => damaged(&mut rng),
    }
}

fn script(rng: &mut Rng) -> &'static str {
    SCRIPTS[rng.usize(0..SCRIPTS.len())]
}

/// A word of a random script, or a piece.
fn token(rng: &mut Rng) -> &'static str {
    if rng.u8(0..4) == 0 {
        return PIECES[rng.usize(0..PIECES.len())];
    }
    let script = script(rng);
    let start = char_boundary(script, rng.usize(0..script.len()));
    let rest = script[start..].trim_start_matches(|c: char| !c.is_whitespace()).trim_start();
    rest.split_whitespace().next().unwrap_or("SELECT")
}

fn soup(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.usize(1..80) {
        text.push_str(token(rng));
        if rng.u8(0..5) != 0 {
            text.push(' ');
        }
    }
    text
}

fn char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// A random run of lines of a script.
fn lines(rng: &mut Rng) -> String {
    let all: Vec<&str> = script(rng).split_inclusive('\n').collect();
    let start = rng.usize(0..all.len());
    let end = (start + rng.usize(1..6)).min(all.len());
    all[start..end].concat()
}

/// The first half of one statement and the second half of another.
fn splice(rng: &mut Rng) -> String {
    let (first, second) = (lines(rng), lines(rng));
    let cut = char_boundary(&first, rng.usize(0..=first.len()));
    let from = char_boundary(&second, rng.usize(0..=second.len()));
    format!("{}{}", &first[..cut], &second[from..])
}

/// Lines of a script with tokens dropped, doubled, swapped, replaced or nested, or cut anywhere.
fn damaged(rng: &mut Rng) -> String {
    let mut text = lines(rng);
    for _ in 0..rng.usize(1..6) {
        let at = char_boundary(&text, rng.usize(0..=text.len()));
        match rng.u8(0..6) {
            0 => text.insert_str(at, token(rng)),
            1 => text.insert_str(at, &format!(" {} ", token(rng))),
            2 => text.truncate(at),
            3 => {
                let end = char_boundary(&text, (at + rng.usize(0..12)).min(text.len()));
                text.replace_range(at..end, "");
            }
            4 => {
                let end = char_boundary(&text, (at + rng.usize(0..40)).min(text.len()));
                let piece = text[at..end].to_owned();
                text.insert_str(at, &piece.repeat(rng.usize(1..30)));
            }
            _ => {
                let end = char_boundary(&text, (at + rng.usize(0..12)).min(text.len()));
                text.replace_range(at..end, token(rng));
            }
        }
    }
    text
}

/// Parses one text as a client would, and checks what must hold of every answer.
pub fn check(text: &str) -> bool {
    let mut good = false;
    for batch in ringwood_syntax::split_batches(text) {
        match ringwood_syntax::parse(batch.text) {
            Ok(statements) => {
                good = true;
                let mut last = 0;
                for statement in &statements {
                    let span = statement.span;
                    assert!(span.start >= last && span.end > span.start, "{span:?} after {last}");
                    assert!(
                        !span.text(batch.text).is_empty(),
                        "{span:?} is not a piece of the batch"
                    );
                    last = span.end;
                }
                drop(format!("{statements:?}"));
            }
            Err(error) => {
                let lines = batch.text.bytes().filter(|byte| *byte == b'\n').count() + 1;
                assert!(error.line >= 1 && error.line as usize <= lines, "{error}");
                assert!(error.severity == 15 && !error.message.is_empty(), "{error}");
            }
        }
    }
    let _ = ringwood_syntax::Scanner::default().after(text);
    good
}
