//! What texts cost as UTF-16: their length, a part of them, turned round, and in a code page with
//! best fit. Texts of ASCII, of Latin letters, of what code page 1252 lacks, and of characters of
//! two units, short and long ones. Nanoseconds for each text, least of several rounds.
//! `./bench texts [ROUNDS]`

use std::hint::black_box;
use std::time::Instant;

use ringwood_types::{CodePage, units};

/// Units of the texts.
const LENGTHS: [usize; 3] = [8, 64, 4_000];
/// Units that are looked at for a figure.
const UNITS: usize = 4_000_000;

/// A kind of text, which begins again at its end.
const TEXTS: [(&str, &str); 4] = [
    ("ASCII", "The quick brown fox jumps over the lazy dog. "),
    ("Latin", "Über zwölf Boxkämpfer jagt Viktor quer übers große Sylt. "),
    ("lacking", "Zażółć gęślą jaźń, ﬁne ½ ≤ ﬀ Łódź. "),
    ("pairs", "a🙂b🎉c𝒟"),
];

type UnitsFn = fn(&str, &mut Vec<u8>) -> usize;

/// What is done with a text.
const WORKS: [(&str, UnitsFn); 5] = [
    ("length", |text, _| units::utf16_len(text)),
    ("part", |text, _| units::cut(text, 3, units::utf16_len(text) - 2).len()),
    ("reverse", |text, _| {
        let apart = units::apart(text);
        units::joined(apart.chars().rev().collect()).len()
    }),
    ("to 1252", |text, bytes| {
        bytes.clear();
        CodePage::Latin.encode(text, bytes);
        bytes.len()
    }),
    ("as 1252", |text, _| CodePage::Latin.replaced(text).map_or(0, |other| other.len())),
];

/// A text of about so many units.
fn text_of(part: &str, length: usize) -> String {
    let mut text = String::new();
    let mut chars = part.chars().cycle();
    while units::utf16_len(&text) < length {
        text.extend(chars.next());
    }
    text
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(7);
    print!("{:<10}{:>8}", "text", "units");
    WORKS.iter().for_each(|(name, _)| print!("{name:>12}"));
    println!();
    let mut bytes = Vec::new();
    for (name, part) in TEXTS {
        for length in LENGTHS {
            let text = text_of(part, length);
            let times = (UNITS / length).max(1);
            print!("{name:<10}{length:>8}");
            for (_, work) in WORKS {
                let mut least = f64::MAX;
                for _ in 0..rounds {
                    let start = Instant::now();
                    for _ in 0..times {
                        black_box(work(black_box(&text), &mut bytes));
                    }
                    least = least.min(start.elapsed().as_secs_f64() * 1e9 / times as f64);
                }
                print!("{least:>12.1}");
            }
            println!();
        }
    }
}
