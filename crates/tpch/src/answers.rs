//! The published answers of scale factor 1, and whether a result is one of them. Amounts may differ
//! by 0.01 where the answer was rounded, averages by as much; text is compared without the blanks
//! at its end.

use tpchgen::q_and_a::answers_sf1::answer;

/// How a result differs from the published one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAnswer {
    /// 1 to 22.
    pub query: usize,
    pub what: String,
}

impl std::fmt::Display for WrongAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Q{}: {}", self.query, self.what)
    }
}

/// The answer of Q17 in the specification's answer set (version 3). The generator's text has
/// 348406.02, of an engine that rounds the average in between.
const Q17: &str = "avg_yearly\n348406.05\n";
/// The generator's text of Q11 has only the first four digits of the part keys, its first column.
const CUT: (usize, usize) = (11, 0);

/// Compares the rows of a query (1 to 22), as text, with the published answer for scale factor 1.
///
/// # Errors
/// The first difference.
pub fn check(query: usize, rows: &[Vec<String>]) -> Result<(), WrongAnswer> {
    let wrong = |what: String| Err(WrongAnswer { query, what });
    let number = i32::try_from(query).unwrap_or_default();
    let text = match query {
        17 => Some(Q17),
        _ => answer(number),
    };
    let Some(text) = text else { return wrong("there is no published answer".into()) };
    let mut published = text.lines().filter(|line| !line.trim().is_empty()).skip(1);
    let mut count = 0;
    for line in &mut published {
        let expected: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(row) = rows.get(count) else {
            return wrong(format!("{} rows, the answer has more", rows.len()));
        };
        count += 1;
        if row.len() != expected.len() {
            return wrong(format!("{} columns instead of {}", row.len(), expected.len()));
        }
        for (column, (own, other)) in row.iter().zip(&expected).enumerate() {
            let cut = (query, column) == CUT && own.trim().starts_with(other);
            if !cut && !same(own.trim(), other) {
                return wrong(format!("row {count}: '{own}' instead of '{other}'"));
            }
        }
    }
    if rows.len() > count {
        return wrong(format!("{} rows instead of {count}", rows.len()));
    }
    Ok(())
}

/// Compares the rows of two engines; rows that are equal in what the query orders by may come in
/// another order.
///
/// # Errors
/// The first difference.
pub fn same_rows(first: &[Vec<String>], second: &[Vec<String>]) -> Result<(), String> {
    if first.len() != second.len() {
        return Err(format!("{} and {} rows", first.len(), second.len()));
    }
    let sorted = |rows: &[Vec<String>]| {
        let mut rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.trim().to_string()).collect())
            .collect();
        rows.sort();
        rows
    };
    for (a, b) in sorted(first).iter().zip(&sorted(second)) {
        if a.len() != b.len() || !a.iter().zip(b).all(|(a, b)| same(a, b)) {
            return Err(format!("{a:?} and {b:?}"));
        }
    }
    Ok(())
}

fn same(own: &str, published: &str) -> bool {
    if own == published {
        return true;
    }
    match (own.parse::<f64>(), published.parse::<f64>()) {
        // The answers show two decimals.
        (Ok(a), Ok(b)) => (a - b).abs() <= 0.0101_f64.max(b.abs() * 1e-9),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_cell_by_cell() {
        let row = |n: &str| vec![vec![n.to_string()]];
        assert_eq!(check(6, &row("123141078.2283")), Ok(()));
        assert!(check(6, &row("123141079.25")).is_err());
        assert!(check(6, &[]).is_err() && check(23, &[]).is_err());
        assert!(check(6, &[row("123141078.23"), row("1")].concat()).is_err());
        assert_eq!(check(17, &row("348406.054285")), Ok(()));
        assert!(check(17, &row("348406.07")).is_err());
    }
}
