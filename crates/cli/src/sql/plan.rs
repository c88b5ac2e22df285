//! Plans drawn for somebody who reads: `\plan` shows how a batch would run, `\profile` runs it and
//! shows what each operator did. The engine gives plans as rows (SHOWPLAN_ALL, STATISTICS PROFILE);
//! this file only draws them. What the session had set is set again at the end, whatever the batch
//! did.

use super::target::SqlTarget;
use engine::{ColumnInfo, ResultRows, Sink, SqlError, Value};
use std::fmt::Write as _;

/// Cells of a bar that stands for all of a statement's cost.
const BAR: usize = 8;

/// A statement or an operator, as the engine's rows tell it.
#[derive(Clone, Debug, Default)]
struct Operator {
    /// Number of the operator that it feeds; 0 for a statement.
    parent: i64,
    number: i64,
    name: String,
    /// What the planner expects: rows of one execution, executions, seconds of it alone and with
    /// all below.
    rows: Option<f64>,
    executions: Option<f64>,
    own: f64,
    total: f64,
    /// What was counted.
    counted: Option<(i64, i64)>,
}

/// Takes the rows of plans out of what a batch gives.
#[derive(Default)]
struct Plans {
    /// Places of the columns in the current result set; `None`: rows of the batch itself.
    places: Option<PlanPlaces>,
    statements: Vec<(String, Vec<Operator>)>,
    errors: Vec<SqlError>,
    messages: Vec<SqlError>,
}

#[derive(Clone, Copy)]
struct PlanPlaces {
    /// Column of `StmtText`; the others follow it in the order of SHOWPLAN_ALL.
    text: usize,
    counted: bool,
}

impl Sink for Plans {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), SqlError> {
        let named =
            |at: usize, name: &str| columns.get(at).is_some_and(|column| column.name == name);
        let shows = |at| named(at, "StmtText") && named(at + 4, "PhysicalOp");
        self.places = if shows(0) {
            Some(PlanPlaces { text: 0, counted: false })
        } else if named(0, "Rows") && named(1, "Executes") && shows(2) {
            Some(PlanPlaces { text: 2, counted: true })
        } else {
            None
        };
        Ok(())
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            let Some(places) = self.places else { return Ok(()) };
            let at = |column: usize| row.get(places.text + column).unwrap_or(&Value::Null);
            let number = |column| at(column).as_i64().unwrap_or(0);
            let real = |column: usize| match at(column) {
                Value::Real(n) => Some(f64::from(*n)),
                _ => None,
            };
            let text = |column: usize| at(column).as_str().unwrap_or_default();
            if at(4).is_null() {
                self.statements.push((text(0).trim().to_owned(), Vec::new()));
                return Ok(());
            }
            let mut name = text(4).to_owned();
            let more: Vec<&str> = [5, 6]
                .map(text)
                .into_iter()
                .filter(|part| !part.is_empty() && *part != name)
                .collect();
            if !more.is_empty() {
                let _ = write!(name, " ({})", more.join(", "));
            }
            let counted = match (places.counted, row) {
                (true, [Value::BigInt(rows), Value::BigInt(executions), ..]) => {
                    Some((*rows, *executions))
                }
                _ => None,
            };
            let operator = Operator {
                number: number(2),
                parent: number(3),
                name,
                rows: real(8),
                executions: real(17),
                own: real(9).unwrap_or(0.0) + real(10).unwrap_or(0.0),
                total: real(12).unwrap_or(0.0),
                counted,
            };
            if let Some((_, operators)) = self.statements.last_mut() {
                operators.push(operator);
            }
            Ok(())
        })
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.messages.push(message.clone());
        Ok(())
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.errors.push(error.clone());
        Ok(())
    }
}

/// What came of a batch that was to be drawn.
pub struct DrawnPlan {
    pub text: String,
    pub errors: Vec<SqlError>,
    /// What the batch said while it ran.
    pub messages: Vec<SqlError>,
}

/// The plans of a batch, as text. `measured`: the batch runs, its rows are counted and not shown.
pub fn draw(session: &mut SqlTarget, batch: &str, measured: bool) -> DrawnPlan {
    let option = if measured { "statistics profile" } else { "showplan_all" };
    let mut plans = Plans::default();
    session.execute(&format!("set {option} on"), &mut plans);
    if plans.errors.is_empty() {
        session.execute(batch, &mut plans);
    }
    session.execute(&format!("set {option} off"), &mut plans);
    let mut text = String::new();
    for (statement, operators) in &plans.statements {
        one(statement, operators, measured, &mut text);
    }
    DrawnPlan { text, errors: plans.errors, messages: plans.messages }
}

/// Draws a statement.
fn one(statement: &str, operators: &[Operator], measured: bool, out: &mut String) {
    let first_line = statement.lines().next().unwrap_or_default();
    let more = if statement.lines().nth(1).is_some() { " ..." } else { "" };
    let _ = writeln!(out, "{first_line}{more}");
    if operators.is_empty() {
        let _ = writeln!(out, "  no operators\n");
        return;
    }
    // A change has no estimate of its own: what all operators cost is the whole.
    let whole: f64 = operators.iter().map(|operator| operator.own).sum();
    let header = if measured {
        "cost alone        rows   expected       runs"
    } else {
        "cost alone    expected"
    };
    let _ = writeln!(out, "{header}");
    for (at, operator) in operators.iter().enumerate() {
        let share = if whole > 0.0 { operator.own / whole } else { 0.0 };
        let _ = write!(out, "{} {:>3.0}% ", bar(share), share * 100.0);
        let expected = operator.rows.map(|rows| rows * operator.executions.unwrap_or(1.0).max(1.0));
        let expected = expected.map_or("-".into(), |rows| grouped(rows.round()));
        if measured {
            let of = |n: Option<i64>| n.map_or("-".into(), |n| grouped(n as f64));
            let (rows, runs) = (operator.counted.map(|c| c.0), operator.counted.map(|c| c.1));
            let _ = write!(out, "{:>12} {expected:>10} {:>10}  ", of(rows), of(runs));
        } else {
            let _ = write!(out, "{expected:>9}  ");
        }
        let _ = writeln!(out, "{}{}", branches(operators, at), operator.name);
    }
    let total = operators.iter().map(|operator| operator.total).fold(whole, f64::max);
    let _ = writeln!(out, "about {} by the planner's estimate\n", seconds(total));
}

/// The lines of the tree in front of an operator: its ancestors that have more inputs, and its own
/// branch.
fn branches(operators: &[Operator], at: usize) -> String {
    let mut parts = Vec::new();
    let mut here = at;
    loop {
        let parent = operators[here].parent;
        let Some(above) = operators[..here].iter().rposition(|operator| operator.number == parent)
        else {
            break;
        };
        let last = !operators[here + 1..].iter().any(|operator| operator.parent == parent);
        parts.push(match (here == at, last) {
            (true, true) => "└─ ",
            (true, false) => "├─ ",
            (false, true) => "   ",
            (false, false) => "│  ",
        });
        here = above;
    }
    parts.iter().rev().copied().collect()
}

fn bar(share: f64) -> String {
    let cells = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    format!("{}{}", "█".repeat(cells), " ".repeat(BAR - cells))
}

/// A whole number with commas between thousands.
fn grouped(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 && digit.is_ascii_digit() && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn seconds(n: f64) -> String {
    match n {
        n if n < 1e-3 => format!("{:.1} us", n * 1e6),
        n if n < 1.0 => format!("{:.1} ms", n * 1e3),
        n => format!("{n:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(number: i64, parent: i64, name: &str, own: f64) -> Operator {
        Operator {
            number,
            parent,
            name: name.into(),
            own,
            rows: Some(1234.0),
            ..Operator::default()
        }
    }

    #[test]
    fn a_tree_is_drawn_with_its_branches() {
        let operators = [
            operator(2, 1, "Sort", 1.0),
            operator(3, 2, "Join", 1.0),
            operator(4, 3, "Scan a", 2.0),
            operator(5, 4, "Deep", 0.0),
            operator(6, 3, "Scan b", 4.0),
        ];
        let mut out = String::new();
        one("select 1\nfrom t", &operators, false, &mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], "select 1 ...");
        assert_eq!(lines[2], "█         12%     1,234  Sort");
        assert_eq!(lines[3], "█         12%     1,234  └─ Join");
        assert_eq!(lines[4], "██        25%     1,234     ├─ Scan a");
        assert_eq!(lines[5], "           0%     1,234     │  └─ Deep");
        assert_eq!(lines[6], "████      50%     1,234     └─ Scan b");
    }

    #[test]
    fn numbers_are_grouped() {
        for (n, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (1000.0, "1,000"),
            (-1000.0, "-1,000"),
            (1234567.0, "1,234,567"),
        ] {
            assert_eq!(grouped(n), text);
        }
    }
}
