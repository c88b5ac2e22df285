//! What benchmarks share that compare ways to do the same: their command lines, rounds in which the
//! ways take turns, medians, and rows for people or as lines of JSON. It knows nothing of the
//! engine, so that benchmarks of other crates have it too.
#![allow(dead_code)] // each program uses its part

use std::error::Error;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// What a benchmark gives, or why it ended.
pub type Done<T> = Result<T, Box<dyn Error>>;

/// A command line.
pub struct Arguments {
    given: Vec<(String, String)>,
    /// Lines of JSON are wanted.
    pub json: bool,
}

impl Arguments {
    /// Reads the command line; `known` are the options that have a value. `--help` prints `help`
    /// and ends the program.
    pub fn read(help: &str, known: &[&str]) -> Done<Arguments> {
        let mut arguments = Arguments { given: Vec::new(), json: false };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => arguments.json = true,
                "--help" | "-h" => {
                    println!("{help}");
                    std::process::exit(0);
                }
                name if known.contains(&name) => {
                    let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
                    arguments.given.push((name.to_owned(), value));
                }
                other => {
                    return Err(format!("unknown argument {other}; --help tells of all").into());
                }
            }
        }
        Ok(arguments)
    }

    /// The value of an option.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option, or the usual one.
    pub fn number<T: FromStr>(&self, name: &str, usual: T) -> Done<T> {
        match self.text(name) {
            None => Ok(usual),
            Some(text) => {
                text.parse().map_err(|_| format!("{name} {text}: not such a number").into())
            }
        }
    }

    /// Values of an option with commas between them, or the usual ones.
    pub fn numbers<T: FromStr + Clone>(&self, name: &str, usual: &[T]) -> Done<Vec<T>> {
        let Some(text) = self.text(name) else { return Ok(usual.to_vec()) };
        let parsed = text.split(',').map(|part| part.trim().parse::<T>());
        parsed
            .collect::<Result<Vec<T>, _>>()
            .map_err(|_| format!("{name} {text}: not such numbers").into())
    }
}

/// The middle one; not a number of none.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What `N` ways took, round by round.
pub struct Turns<const N: usize>([Vec<f64>; N]);

/// Measures `N` ways in turns; each round begins with another one. The round before the first only
/// warms caches up.
pub fn in_turns<const N: usize>(
    rounds: usize,
    mut measure: impl FnMut(usize) -> Done<f64>,
) -> Done<Turns<N>> {
    let mut figures: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=rounds {
        for turn in 0..N {
            let way = (round + turn) % N;
            let figure = measure(way)?;
            if round > 0 {
                figures[way].push(figure);
            }
        }
    }
    Ok(Turns(figures))
}

impl<const N: usize> Turns<N> {
    /// Of a way.
    pub fn median(&self, way: usize) -> f64 {
        median(self.0[way].clone())
    }

    /// How many times as much as `than` a way took: the median of the rounds' ratios.
    pub fn ratio(&self, way: usize, than: usize) -> f64 {
        median(self.0[way].iter().zip(&self.0[than]).map(|(a, b)| a / b).collect())
    }
}

/// Seconds of a call: the mean of as many as take `least` together, one at least.
pub fn seconds<E>(least: Duration, mut call: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let begin = Instant::now();
    let mut calls = 0_u32;
    loop {
        call()?;
        calls += 1;
        let took = begin.elapsed();
        if took >= least {
            return Ok(took.as_secs_f64() / f64::from(calls));
        }
    }
}

/// Rows of one kind: a table whose head comes before its first row, or a line of JSON each.
pub struct Rows {
    json: bool,
    kind: &'static str,
    /// Names and widths.
    labels: &'static [(&'static str, usize)],
    /// Names and digits behind the point.
    figures: &'static [(&'static str, usize)],
    begun: bool,
}

impl Rows {
    /// `labels` have names and widths, `figures` names and digits behind the point.
    pub fn new(
        json: bool,
        kind: &'static str,
        labels: &'static [(&'static str, usize)],
        figures: &'static [(&'static str, usize)],
    ) -> Rows {
        Rows { json, kind, labels, figures, begun: false }
    }

    /// Prints a row. What is not a number is not there.
    pub fn row(&mut self, labels: &[&str], figures: &[f64]) {
        if self.json {
            println!("{}", self.as_json(labels, figures));
            return;
        }
        if !self.begun {
            let names: Vec<&str> = self.labels.iter().map(|(name, _)| *name).collect();
            println!(
                "{}",
                self.line(&names, self.figures.iter().map(|(name, _)| (*name).to_owned()))
            );
            self.begun = true;
        }
        let shown =
            figures.iter().zip(self.figures.iter().copied()).map(|(figure, (_, digits))| {
                if figure.is_nan() { "-".to_owned() } else { format!("{figure:.digits$}") }
            });
        println!("{}", self.line(labels, shown));
    }

    fn line(&self, labels: &[&str], figures: impl Iterator<Item = String>) -> String {
        let left = labels.iter().zip(self.labels.iter().copied());
        let mut parts: Vec<String> =
            left.map(|(label, (_, width))| format!("{label:<width$}")).collect();
        parts.extend(figures.zip(self.figures.iter().copied()).map(|(figure, (name, _))| {
            let width = name.len().max(9);
            format!("{figure:>width$}")
        }));
        parts.join("  ")
    }

    fn as_json(&self, labels: &[&str], figures: &[f64]) -> String {
        let key = |name: &str| name.replace(' ', "_");
        let mut fields = vec![format!("\"kind\":\"{}\"", self.kind)];
        for (label, (name, _)) in labels.iter().zip(self.labels.iter().copied()) {
            fields.push(format!("\"{}\":{label:?}", key(name)));
        }
        for (figure, (name, digits)) in figures.iter().zip(self.figures.iter().copied()) {
            let shown =
                if figure.is_finite() { format!("{figure:.digits$}") } else { "null".to_owned() };
            fields.push(format!("\"{}\":{shown}", key(name)));
        }
        format!("{{{}}}", fields.join(","))
    }
}
