//! Table functions over their arguments alone: GENERATE_SERIES and STRING_SPLIT. The types of their
//! columns follow from those of the arguments, so each asks [`ViewDef::for_arguments`] for the form
//! that fits. Rows are made in pieces.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use catalog::Db;
use logical::view::Argument;
use parking_lot::Mutex;
use types::{CancelCheck, DataType, Decimal, Len, SqlError, Value, msg, units};

use super::view::all_of;
use super::{RowSource, SystemView, ViewColumn, ViewDef, ViewResult, ViewRows};
use logical::view::{PIECE, PIECE_BYTES};
use session::state::SessionCore;

/// GENERATE_SERIES and STRING_SPLIT as they are found by name.
pub static GENERATE_SERIES: Series = Series { columns: &[("value", DataType::Int, true)] };
pub static STRING_SPLIT: Split =
    Split { columns: &[("value", DataType::NVarChar(Len::N(4000)), true)] };

/// Forms by the type of their first column, made at the first use of each and kept for the life of
/// the process: there are at most some thousand types that they can have.
static SERIES: LazyLock<Mutex<HashMap<DataType, &'static Series>>> = LazyLock::new(Mutex::default);
static SPLITS: LazyLock<Mutex<HashMap<(DataType, bool), &'static Split>>> =
    LazyLock::new(Mutex::default);

// ---- GENERATE_SERIES ----

/// GENERATE_SERIES(start, stop [, step]) of one type.
pub struct Series {
    columns: &'static [ViewColumn],
}

impl ViewDef for Series {
    fn right(&self) -> logical::rights::ViewRight {
        super::rights::needs(self.schema(), self.name())
    }

    fn name(&self) -> &'static str {
        "generate_series"
    }

    fn columns(&self) -> &'static [ViewColumn] {
        self.columns
    }

    fn arguments(&self) -> Option<usize> {
        Some(2)
    }

    fn optional_arguments(&self) -> usize {
        1
    }

    fn for_arguments(
        &self,
        args: &[Argument<'_>],
    ) -> Result<Option<&'static dyn ViewDef>, SqlError> {
        // NULL literals have no type of their own.
        let typed: Vec<DataType> =
            args.iter().filter(|arg| !arg.is_null()).map(|arg| arg.ty).collect();
        let ty =
            typed.iter().copied().try_fold(None, |all: Option<DataType>, ty| match (all, ty) {
                (None, _) if is_series(ty) => Some(Some(ty)),
                (
                    Some(DataType::Decimal { precision: a, scale: b, .. }),
                    DataType::Decimal { precision: c, scale: d, .. },
                ) => {
                    let scale = b.max(d);
                    let precision = ((a - b).max(c - d) + scale).min(38);
                    Some(Some(DataType::numeric(precision, scale)))
                }
                (Some(same), _) if same == ty => Some(Some(same)),
                _ => None,
            });
        let Some(ty) = ty else {
            return Err(SqlError::of(msg::GENERATE_SERIES_TYPES, []));
        };
        let ty = ty.unwrap_or(DataType::Int);
        let make = || -> &'static Series {
            Box::leak(Box::new(Series { columns: Box::leak(Box::new([("value", ty, true)])) }))
        };
        Ok(Some(*SERIES.lock().entry(ty).or_insert_with(make)))
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.open(super::session_of(session)?, db, args, keep)
    }
}

/// 8115: an argument that does not fit the type that all of them have.
fn overflow() -> SqlError {
    SqlError::of(msg::ARITHMETIC_OVERFLOW, [&"numeric", &"numeric"]).state(8)
}

/// Types that a series may have.
fn is_series(ty: DataType) -> bool {
    matches!(
        ty,
        DataType::TinyInt
            | DataType::SmallInt
            | DataType::Int
            | DataType::BigInt
            | DataType::Decimal { .. }
    )
}

impl SystemView for Series {
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult {
        all_of(self.open(session, db, args, &[0])?)
    }

    fn open(
        &self,
        _session: &mut SessionCore,
        _db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let ty = self.columns[0].1;
        let scale = if let DataType::Decimal { scale, .. } = ty { scale } else { 0 };
        let digits = |value: &Value| match value {
            Value::Null => Ok(None),
            Value::Decimal(d) => {
                d.rescale(38, scale).map(|d| Some(d.mantissa())).ok_or_else(overflow)
            }
            other => Ok(other.as_i64().map(i128::from)),
        };
        let given = |at: usize| args.get(at).map_or(Ok(None), digits);
        // Any NULL: no rows.
        let (Some(start), Some(stop)) = (given(0)?, given(1)?) else {
            return Ok(Box::new(Numbers::none(keep)));
        };
        let one = 10_i128.pow(u32::from(scale));
        let step = match args.get(2) {
            None if start <= stop => one,
            None => -one,
            Some(step) => match digits(step)? {
                None => return Ok(Box::new(Numbers::none(keep))),
                Some(0) => {
                    return Err(SqlError::of(
                        msg::ARGUMENT_VALUE_INVALID,
                        [&0, &3, &"generate_series"],
                    ));
                }
                Some(step) => step,
            },
        };
        Ok(Box::new(Numbers { next: Some(start), stop, step, ty, width: keep.len() }))
    }
}

/// The rest of a series.
struct Numbers {
    /// `None` when it has ended.
    next: Option<i128>,
    stop: i128,
    /// Not 0.
    step: i128,
    ty: DataType,
    /// 1, or 0 where nobody looks at the column.
    width: usize,
}

impl Numbers {
    fn none(keep: &[usize]) -> Numbers {
        Numbers { next: None, stop: 0, step: 1, ty: DataType::Int, width: keep.len() }
    }

    fn value(&self, n: i128) -> Value {
        // It lies between start and stop, which are of the type.
        match self.ty {
            DataType::TinyInt => Value::TinyInt(n as u8),
            DataType::SmallInt => Value::SmallInt(n as i16),
            DataType::Int => Value::Int(n as i32),
            DataType::BigInt => Value::BigInt(n as i64),
            DataType::Decimal { precision, scale, .. } => {
                Decimal::new(n, precision, scale).map_or(Value::Null, Value::Decimal)
            }
            _ => Value::Null,
        }
    }
}

impl RowSource for Numbers {
    fn next(&mut self, out: &mut ViewRows, _: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        while let Some(n) = self.next
            && out.len() < PIECE
        {
            if if self.step > 0 { n > self.stop } else { n < self.stop } {
                self.next = None;
                break;
            }
            out.push((0..self.width).map(|_| self.value(n)));
            self.next = n.checked_add(self.step);
        }
        Ok(!out.is_empty())
    }
}

// ---- STRING_SPLIT ----

/// STRING_SPLIT(string, separator [, enable_ordinal]): parts as long as the string, with their
/// places when they are asked for.
pub struct Split {
    columns: &'static [ViewColumn],
}

impl ViewDef for Split {
    fn right(&self) -> logical::rights::ViewRight {
        super::rights::needs(self.schema(), self.name())
    }

    fn name(&self) -> &'static str {
        "string_split"
    }

    fn columns(&self) -> &'static [ViewColumn] {
        self.columns
    }

    fn arguments(&self) -> Option<usize> {
        Some(2)
    }

    fn optional_arguments(&self) -> usize {
        1
    }

    fn for_arguments(
        &self,
        args: &[Argument<'_>],
    ) -> Result<Option<&'static dyn ViewDef>, SqlError> {
        for (at, arg) in args.iter().take(2).enumerate() {
            if !arg.ty.is_string() && !arg.is_null() {
                return Err(SqlError::of(
                    msg::ARGUMENT_TYPE,
                    [&arg.ty, &(at + 1), &"string_split"],
                ));
            }
        }
        let ordinal = match args.get(2).map(|arg| arg.constant) {
            None => false,
            Some(Some(Value::Null)) => false,
            Some(Some(value)) if matches!(value.as_i64(), Some(0 | 1)) => value.as_i64() == Some(1),
            Some(Some(value)) if value.as_i64().is_some() => {
                let n = value.as_i64().unwrap_or_default();
                return Err(SqlError::of(msg::ARGUMENT_VALUE_INVALID, [&n, &3, &"string_split"]));
            }
            Some(_) => {
                return Err(SqlError::of(msg::STRING_SPLIT_ORDINAL, []));
            }
        };
        if let Some((at, arg)) =
            args.iter().take(2).enumerate().find(|(_, arg)| arg.ty.is_old_lob())
        {
            return Err(expr::functions::invalid_argument(arg.ty, at + 1, "string_split"));
        }
        let length = match args[0].ty {
            DataType::VarChar(length) | DataType::NVarChar(length) => length,
            other => other.length().and_then(|n| u16::try_from(n).ok()).map_or(Len::N(1), Len::N),
        };
        let unicode = args.iter().take(2).any(|arg| arg.ty.is_unicode());
        let ty = match (unicode, length) {
            (true, Len::N(n)) => DataType::NVarChar(Len::N(n.min(4000))),
            (true, _) => DataType::NVarChar(Len::Max),
            (false, length) => DataType::VarChar(length),
        };
        let make = || -> &'static Split {
            let value = ("value", ty, false);
            let columns: &'static [ViewColumn] = if ordinal {
                Box::leak(Box::new([value, ("ordinal", DataType::BigInt, false)]))
            } else {
                Box::leak(Box::new([value]))
            };
            Box::leak(Box::new(Split { columns }))
        };
        Ok(Some(*SPLITS.lock().entry((ty, ordinal)).or_insert_with(make)))
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.open(super::session_of(session)?, db, args, keep)
    }
}

impl SystemView for Split {
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult {
        let keep: Vec<usize> = (0..self.columns.len()).collect();
        all_of(self.open(session, db, args, &keep)?)
    }

    fn open(
        &self,
        _session: &mut SessionCore,
        _db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let text = args.first().and_then(Value::as_str);
        let separator = args.get(1).and_then(Value::as_str);
        let mut letters = separator.unwrap_or_default().chars();
        let (Some(separator), None) = (letters.next(), letters.next()) else {
            return Err(SqlError::of(
                msg::PARAMETER_OF_TYPE_EXPECTED,
                [&"separator", &"nchar(1)/nvarchar(1)"],
            )
            .state(11));
        };
        // Half of a character also parts where it is half of one of the text.
        let halves = units::lone(separator).is_some() && text.is_some_and(units::may_have_pairs);
        let own = |text: &str| -> Box<str> {
            if halves { units::apart(text).into() } else { text.into() }
        };
        let (rest, keep) = (text.map(|text| (own(text), 0)), keep.to_vec());
        Ok(Box::new(SplitParts { rest, separator, halves, done: 0, keep }))
    }
}

/// The rest of a text that is split.
struct SplitParts {
    /// The text, and where its next part begins; `None` when there are no more.
    rest: Option<(Box<str>, usize)>,
    separator: char,
    /// Its characters were taken apart.
    halves: bool,
    /// Parts that were given.
    done: i64,
    keep: Vec<usize>,
}

impl RowSource for SplitParts {
    fn next(&mut self, out: &mut ViewRows, _: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        let mut bytes = 0;
        while let Some((text, from)) = &mut self.rest
            && out.len() < PIECE
            && bytes < PIECE_BYTES
        {
            let rest = &text[*from..];
            let end = rest.find(self.separator);
            self.done += 1;
            let part = &rest[..end.unwrap_or(rest.len())];
            bytes += part.len();
            let part =
                if self.halves { units::joined(part.to_owned()).into() } else { part.into() };
            let whole = [Value::Str(part), Value::BigInt(self.done)];
            out.push(self.keep.iter().map(|at| whole[*at].clone()));
            match end {
                Some(end) => *from += end + self.separator.len_utf8(),
                None => self.rest = None,
            }
        }
        Ok(!out.is_empty())
    }
}
