//! The filter of an index or of statistics: which rows have an entry in it, or are measured. A
//! conjunction of tests of single columns against constants, kept as data: what the rows of a table
//! are tested by needs no expression. Guarantees: `RowFilter::load` of what `RowFilter::kept` wrote
//! gives the same tests; an unknown result keeps a row out.

use std::fmt::Write as _;
use std::sync::Arc;

use syntax::ast::CompareOp;
use types::convert::{Mode, convert};
use types::{Collation, ColumnType, DataType, RowLayout, Value, ops};

use super::ColumnDef;
use crate::type_text::type_of_text;

/// Which rows of a table count.
#[derive(Clone, Debug)]
pub struct RowFilter {
    /// Under which number the catalog keeps its text.
    pub object_id: i32,
    /// As sys.indexes and sys.stats show it: in parentheses.
    pub text: Arc<str>,
    /// All of them hold.
    pub terms: Vec<FilterTerm>,
}

/// A test of a column.
#[derive(Clone, Debug)]
pub struct FilterTerm {
    /// Position in `TableDef::columns`.
    pub column: usize,
    pub collation: Collation,
    pub test: FilterTest,
}

/// What is tested.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterTest {
    IsNull,
    IsNotNull,
    Compare(CompareOp, Constant),
    In(Vec<Constant>),
}

/// A constant that a column is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    pub value: Value,
    /// The type that it has and in which it is compared.
    pub ty: DataType,
    /// The type of a column that is converted to be compared.
    pub converted: Option<DataType>,
}

impl Constant {
    /// The order of a column's value and this; `None` for NULL and for a value that cannot be
    /// compared.
    pub fn order(&self, value: &Value, collation: Collation) -> Option<std::cmp::Ordering> {
        match self.converted {
            None => ops::compare(value, &self.value, collation),
            Some(from) => {
                let value = convert(value, from, self.ty, 0, Mode::Implicit).ok()?;
                ops::compare(&value, &self.value, collation)
            }
        }
    }
}

impl FilterTerm {
    /// Whether the column's value satisfies it.
    pub fn holds(&self, value: &Value) -> bool {
        match &self.test {
            FilterTest::IsNull => value.is_null(),
            FilterTest::IsNotNull => !value.is_null(),
            _ if value.is_null() => false,
            FilterTest::Compare(op, constant) => {
                constant.order(value, self.collation).is_some_and(|order| op.holds(order))
            }
            FilterTest::In(list) => list
                .iter()
                .any(|one| one.order(value, self.collation) == Some(std::cmp::Ordering::Equal)),
        }
    }
}

impl RowFilter {
    /// Whether a row of the table is one of them.
    #[inline]
    pub fn admits(&self, values: &[Value]) -> bool {
        self.terms.iter().all(|term| values.get(term.column).is_some_and(|value| term.holds(value)))
    }

    /// Positions of the columns that it names.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().map(|term| term.column)
    }

    /// The same filter of a table whose columns have moved.
    pub fn moved(&self, to: impl Fn(usize) -> usize) -> RowFilter {
        let mut moved = self.clone();
        moved.terms.iter_mut().for_each(|term| term.column = to(term.column));
        moved
    }

    /// What the catalog keeps: the tests in a line, then the definition.
    pub fn kept(&self, columns: &[ColumnDef]) -> String {
        let mut out = String::new();
        for term in &self.terms {
            let _ = write!(out, "{}:", columns[term.column].column_id);
            match &term.test {
                FilterTest::IsNull => out.push('N'),
                FilterTest::IsNotNull => out.push('V'),
                FilterTest::Compare(op, constant) => {
                    let _ = write!(out, "{}", letter(*op));
                    write_constant(&mut out, constant);
                }
                FilterTest::In(list) => {
                    out.push('I');
                    list.iter().for_each(|constant| write_constant(&mut out, constant));
                }
            }
            out.push(' ');
        }
        out.push('\n');
        out.push_str(&self.text);
        out
    }

    /// From what the catalog keeps; `None` when that is damaged.
    pub fn load(object_id: i32, kept: &str, columns: &[ColumnDef]) -> Option<RowFilter> {
        let (line, text) = kept.split_once('\n')?;
        let term = |word: &str| {
            let (id, test) = word.split_once(':')?;
            let id: i32 = id.parse().ok()?;
            let column = columns.iter().position(|c| c.column_id == id)?;
            let constants = || -> Option<Vec<Constant>> {
                test.get(1..)?.split('|').skip(1).map(|c| constant(c, &columns[column])).collect()
            };
            let test = match test.get(..1)? {
                "N" => FilterTest::IsNull,
                "V" => FilterTest::IsNotNull,
                "I" => FilterTest::In(constants()?),
                letter => FilterTest::Compare(op_of(letter)?, constants()?.into_iter().next()?),
            };
            Some(FilterTerm { column, collation: columns[column].collation, test })
        };
        let terms: Option<Vec<FilterTerm>> = line.split_whitespace().map(term).collect();
        Some(RowFilter { object_id, text: text.into(), terms: terms? })
    }
}

/// The filter of statistics. Statistics belong to all versions of their table's definition, and a
/// column has another position in some: so it stays as it is kept, and is read over the columns of
/// a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsFilter {
    /// Under which number the catalog keeps it.
    pub object_id: i32,
    kept: Arc<str>,
}

impl StatisticsFilter {
    /// A filter over these columns.
    pub fn new(filter: &RowFilter, columns: &[ColumnDef]) -> StatisticsFilter {
        StatisticsFilter { object_id: filter.object_id, kept: filter.kept(columns).into() }
    }

    /// What the catalog has kept; `None` where that is no filter of these columns.
    pub fn load(object_id: i32, kept: &str, columns: &[ColumnDef]) -> Option<StatisticsFilter> {
        RowFilter::load(object_id, kept, columns)?;
        Some(StatisticsFilter { object_id, kept: kept.into() })
    }

    /// What the catalog keeps.
    pub fn kept(&self) -> &str {
        &self.kept
    }

    /// As sys.stats shows it.
    pub fn text(&self) -> &str {
        self.kept.split_once('\n').map_or("", |(_, text)| text)
    }

    /// The tests of the columns of a version of the table; `None` where it has lost one.
    pub fn over(&self, columns: &[ColumnDef]) -> Option<RowFilter> {
        RowFilter::load(self.object_id, &self.kept, columns)
    }

    /// column_ids that it names.
    pub fn columns(&self) -> impl Iterator<Item = i32> {
        let tests = self.kept.split_once('\n').map_or("", |(tests, _)| tests);
        tests.split_whitespace().filter_map(|word| word.split_once(':')?.0.parse().ok())
    }
}

const OPS: [(CompareOp, &str); 6] = [
    (CompareOp::Equal, "="),
    (CompareOp::NotEqual, "!"),
    (CompareOp::Less, "<"),
    (CompareOp::LessEqual, "l"),
    (CompareOp::Greater, ">"),
    (CompareOp::GreaterEqual, "g"),
];

fn letter(op: CompareOp) -> &'static str {
    OPS.iter().find(|(known, _)| *known == op).map_or("=", |(_, letter)| letter)
}

fn op_of(letter: &str) -> Option<CompareOp> {
    OPS.iter().find(|(_, known)| *known == letter).map(|(op, _)| *op)
}

fn layout(ty: DataType) -> RowLayout {
    RowLayout::new(&[ColumnType { ty, nullable: true, collation: Collation::BIN2 }])
}

/// `|type,bytes of a row of one column`, with a `*` where the column is converted.
fn write_constant(out: &mut String, constant: &Constant) {
    let mut row = Vec::new();
    // A value has its type: it was a constant of the statement, or read from here.
    let _ = layout(constant.ty).encode(std::slice::from_ref(&constant.value), &mut row);
    let converted = if constant.converted.is_some() { "*" } else { "" };
    let _ = write!(out, "|{converted}{};", constant.ty.to_string().replace(' ', ""));
    for byte in row {
        let _ = write!(out, "{byte:02x}");
    }
}

fn constant(text: &str, column: &ColumnDef) -> Option<Constant> {
    let (ty, hex) = text.split_once(';')?;
    let (converted, ty) = match ty.strip_prefix('*') {
        Some(ty) => (Some(column.ty), ty),
        None => (None, ty),
    };
    let ty = type_of_text(ty).ok()?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let row: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let value = layout(ty).decode_column(&row?, 0).ok()?;
    Some(Constant { value, ty, converted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Len;

    fn term(column: usize, test: FilterTest) -> FilterTerm {
        FilterTerm { column, collation: Collation::DEFAULT, test }
    }

    #[test]
    fn filters_survive_the_catalog() {
        let columns = [
            ColumnDef::of_type(4, DataType::SmallInt),
            ColumnDef::of_type(7, DataType::VarChar(Len::N(10))),
            ColumnDef::of_type(9, DataType::Bit),
        ];
        let text = |s: &str| Constant {
            value: Value::str(s),
            ty: DataType::NVarChar(Len::N(9)),
            converted: None,
        };
        let half = types::Decimal::parse("5.5").unwrap();
        let number = Constant {
            value: Value::Decimal(half),
            ty: DataType::numeric(2, 1),
            converted: Some(DataType::SmallInt),
        };
        let terms = vec![
            term(0, FilterTest::Compare(CompareOp::Greater, number)),
            term(1, FilterTest::In(vec![text("a b|;"), text("ü\n")])),
            term(2, FilterTest::IsNotNull),
        ];
        let filter = RowFilter { object_id: 5, text: "(a\nb)".into(), terms };
        let loaded = RowFilter::load(5, &filter.kept(&columns), &columns).unwrap();
        assert_eq!(&*loaded.text, "(a\nb)");
        for (a, b) in filter.terms.iter().zip(&loaded.terms) {
            assert_eq!((a.column, &a.test), (b.column, &b.test));
        }
        let row = |n, s: &str, bit| [Value::SmallInt(n), Value::str(s), bit];
        assert!(loaded.admits(&row(6, "A B|;", Value::Bit(false))));
        assert!(!loaded.admits(&row(5, "a b|;", Value::Bit(false))), "5 is not above 5.5");
        assert!(!loaded.admits(&row(6, "other", Value::Bit(false))));
        assert!(!loaded.admits(&row(6, "a b|;", Value::Null)));
        assert!(RowFilter::load(5, "4:?|int;00\n()", &columns).is_none());
        let of_statistics = StatisticsFilter::new(&filter, &columns);
        assert_eq!(of_statistics.text(), "(a\nb)");
        assert_eq!(of_statistics.columns().collect::<Vec<_>>(), [4, 7, 9]);
        assert_eq!(
            StatisticsFilter::load(5, of_statistics.kept(), &columns),
            Some(of_statistics.clone())
        );
        let moved = of_statistics.over(&columns[1..]);
        assert!(moved.is_none(), "the first column is gone");
        assert!(of_statistics.over(&columns).unwrap().admits(&row(6, "A B|;", Value::Bit(false))));
        assert!(RowFilter::load(5, "5:N\n()", &columns).is_none(), "no such column");
    }
}
