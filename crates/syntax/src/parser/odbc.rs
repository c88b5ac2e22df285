//! ODBC escapes: `{d '...'}` and its kin, `{fn f(x)}`, `{escape 'c'}` behind LIKE. A function that
//! T-SQL has under another name becomes a call of that one, one that it has not an expression of
//! others, as ODBC's reference on scalar functions describes it. Guarantees: an argument stands
//! once in what it becomes; what is wrapped around it is counted in the height of the tree.

use super::function::{call_of, column_of};
use super::types::literal_expr;
use super::{P, Parser};
use crate::ast::{
    BinaryOp, Expr, ExprKind, Ident, Literal, ObjectName, OdbcKind, Span, TypeName, TypeParam,
};
use crate::lexer::Tok;

/// Functions, and what T-SQL calls them. The others of ODBC have the same name in T-SQL.
const RENAMED: &[(&str, &str)] = &[
    ("ATAN2", "ATN2"),
    ("CHARACTER_LENGTH", "LEN"),
    ("CHAR_LENGTH", "LEN"),
    ("DATABASE", "DB_NAME"),
    ("IFNULL", "ISNULL"),
    ("INSERT", "STUFF"),
    ("LCASE", "LOWER"),
    ("LENGTH", "LEN"),
    ("LOCATE", "CHARINDEX"),
    ("NOW", "GETDATE"),
    ("OCTET_LENGTH", "DATALENGTH"),
    ("REPEAT", "REPLICATE"),
    ("UCASE", "UPPER"),
];

/// Functions of a date or time: T-SQL's function, and the part that is its first argument.
const PARTS: &[(&str, &str, &str)] = &[
    ("DAYNAME", "DATENAME", "weekday"),
    ("DAYOFMONTH", "DATEPART", "day"),
    ("DAYOFYEAR", "DATEPART", "dayofyear"),
    ("HOUR", "DATEPART", "hour"),
    ("MINUTE", "DATEPART", "minute"),
    ("MONTHNAME", "DATENAME", "month"),
    ("QUARTER", "DATEPART", "quarter"),
    ("SECOND", "DATEPART", "second"),
    ("WEEK", "DATEPART", "week"),
];

/// The fields of EXTRACT, which are parts of dates in T-SQL, too.
const FIELDS: [&str; 6] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"];

/// Intervals of TIMESTAMPADD and TIMESTAMPDIFF, and the part of a date that each counts.
const INTERVALS: &[(&str, &str)] = &[
    ("SQL_TSI_FRAC_SECOND", "nanosecond"),
    ("SQL_TSI_SECOND", "second"),
    ("SQL_TSI_MINUTE", "minute"),
    ("SQL_TSI_HOUR", "hour"),
    ("SQL_TSI_DAY", "day"),
    ("SQL_TSI_WEEK", "week"),
    ("SQL_TSI_MONTH", "month"),
    ("SQL_TSI_QUARTER", "quarter"),
    ("SQL_TSI_YEAR", "year"),
];

/// The types of CONVERT that T-SQL calls by another name than `SQL_` and its own.
const TYPES: &[(&str, &str)] = &[
    ("DOUBLE", "float"),
    ("GUID", "uniqueidentifier"),
    ("INTEGER", "int"),
    ("LONGVARBINARY", "image"),
    ("LONGVARCHAR", "text"),
    ("TIMESTAMP", "datetime"),
    ("TYPE_DATE", "date"),
    ("TYPE_TIME", "time"),
    ("TYPE_TIMESTAMP", "datetime"),
    ("WCHAR", "nchar"),
    ("WLONGVARCHAR", "ntext"),
    ("WVARCHAR", "nvarchar"),
];

/// Types of T-SQL that `SQL_` may stand before.
const SAME_TYPES: [&str; 15] = [
    "BIGINT",
    "BINARY",
    "BIT",
    "CHAR",
    "DATE",
    "DECIMAL",
    "FLOAT",
    "INT",
    "NUMERIC",
    "REAL",
    "SMALLINT",
    "TIME",
    "TINYINT",
    "VARBINARY",
    "VARCHAR",
];

/// Most digits of a fraction of a second.
const MOST_DIGITS: i64 = 7;

/// The type of T-SQL that a type of CONVERT means; nothing for another word.
fn type_called(word: &str) -> Option<String> {
    let word = word.to_ascii_uppercase();
    let bare = word.strip_prefix("SQL_")?;
    let renamed = TYPES.iter().find(|(odbc, _)| *odbc == bare).map(|(_, own)| (*own).to_string());
    let same = || SAME_TYPES.contains(&bare).then(|| bare.to_ascii_lowercase());
    // Intervals are no types of T-SQL, which says so.
    Some(renamed.or_else(same).unwrap_or(word))
}

fn named(word: &str, span: Span) -> ObjectName {
    ObjectName::bare(Ident { value: word.into(), quoted: false, span })
}

/// A part of a date, as an argument.
fn part(word: &str, span: Span) -> Expr {
    Expr { kind: ExprKind::Column(column_of(named(word, span))), span }
}

impl Parser<'_> {
    /// `{fn f(x)}`, `{d '...'}`.
    pub(super) fn odbc_escape(&mut self) -> P<Expr> {
        let start = self.expect_tok(Tok::LBrace)?.span;
        let expr = if self.eat("FN") {
            self.odbc_function()?
        } else {
            let kind = if self.eat("D") {
                OdbcKind::Date
            } else if self.eat("T") {
                OdbcKind::Time
            } else if self.eat("TS") {
                OdbcKind::Timestamp
            } else {
                self.expect("GUID")?;
                OdbcKind::Guid
            };
            let text = self.string()?;
            self.node(ExprKind::OdbcLiteral { kind, text }, start)
        };
        self.expect_tok(Tok::RBrace)?;
        Ok(Expr { span: self.since(start), ..expr })
    }

    /// `ESCAPE 'c'` or `{escape 'c'}` behind the pattern of LIKE, when it is there.
    pub(super) fn opt_escape(&mut self) -> P<Option<Box<Expr>>> {
        if self.at_tok(Tok::LBrace) && self.at_word(1, "ESCAPE") {
            self.bump();
            self.bump();
            let escape = self.boxed_scalar()?;
            self.expect_tok(Tok::RBrace)?;
            return Ok(Some(escape));
        }
        if self.eat("ESCAPE") { self.boxed_scalar().map(Some) } else { Ok(None) }
    }

    /// Behind `fn`.
    fn odbc_function(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let called = self.peek_at(1).kind == Tok::LParen;
        let word = match self.kind() {
            Tok::Word | Tok::Reserved => start.text(self.text).to_ascii_uppercase(),
            _ => String::new(),
        };
        if let Some((_, own)) = RENAMED.iter().find(|(name, _)| called && *name == word) {
            self.bump();
            let args = self.arguments()?;
            return Ok(self.calls(own, args, start));
        }
        if let Some((_, own, of)) = PARTS.iter().find(|(name, ..)| called && *name == word) {
            self.bump();
            let mut args = self.arguments()?;
            args.insert(0, part(of, start));
            return Ok(self.calls(own, args, start));
        }
        match word.as_str() {
            "CURDATE" | "CURRENT_DATE" | "CURTIME" | "CURRENT_TIME" | "CURRENT_TIMESTAMP" => {
                self.odbc_clock(&word, start)
            }
            "CONVERT" if called => self.odbc_convert(start),
            "BIT_LENGTH" | "DAYOFWEEK" | "EXTRACT" | "MOD" | "POSITION" | "TIMESTAMPADD"
            | "TIMESTAMPDIFF" | "TRUNCATE"
                if called =>
            {
                self.odbc_expression(&word, start)
            }
            _ => {
                let mut inner = self.operand(false)?;
                match &mut inner.kind {
                    ExprKind::Function(call) => call.odbc = true,
                    ExprKind::Convert { .. } | ExprKind::Cast { .. } => {}
                    _ => return Err(self.unexpected()),
                }
                Ok(inner)
            }
        }
    }

    /// A function that becomes an expression, from its name on.
    fn odbc_expression(&mut self, word: &str, start: Span) -> P<Expr> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let made = match word {
            "EXTRACT" => {
                let field = self.peek().span;
                if !self.at_any(&FIELDS) {
                    return Err(self.unexpected());
                }
                let of = part(&self.upper_word()?, field);
                self.expect("FROM")?;
                let args = vec![of, self.nest(Self::scalar)?];
                self.calls("DATEPART", args, start)
            }
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => {
                let interval = INTERVALS.iter().find(|(name, _)| self.at(name));
                let Some((_, of)) = interval else { return Err(self.unexpected()) };
                let mut args = vec![part(of, self.bump().span)];
                for _ in 0..2 {
                    self.expect_tok(Tok::Comma)?;
                    args.push(self.nest(Self::scalar)?);
                }
                self.calls(if word == "TIMESTAMPADD" { "DATEADD" } else { "DATEDIFF" }, args, start)
            }
            _ => {
                let first = self.nest(Self::scalar)?;
                self.odbc_computed(word, first, start)?
            }
        };
        self.expect_tok(Tok::RParen)?;
        Ok(made)
    }

    /// What a function computes from its first argument, and from its second one if it has that.
    fn odbc_computed(&mut self, word: &str, first: Expr, start: Span) -> P<Expr> {
        let number = |n: i64| literal_expr(Literal::Integer(n), start);
        match word {
            "BIT_LENGTH" => {
                let bytes = self.calls("DATALENGTH", vec![first], start);
                self.odbc_binary(BinaryOp::Multiply, bytes, number(8), start)
            }
            // 1 is Sunday, whatever the first day of the week is.
            "DAYOFWEEK" => {
                let day = self.calls("DATEPART", vec![part("weekday", start), first], start);
                let first =
                    Expr { kind: ExprKind::GlobalVariable("@@DATEFIRST".into()), span: start };
                let day = self.odbc_binary(BinaryOp::Add, day, first, start)?;
                let day = self.odbc_binary(BinaryOp::Subtract, day, number(1), start)?;
                let day = self.odbc_binary(BinaryOp::Modulo, day, number(7), start)?;
                self.odbc_binary(BinaryOp::Add, day, number(1), start)
            }
            "POSITION" => {
                self.expect("IN")?;
                let args = vec![first, self.nest(Self::scalar)?];
                Ok(self.calls("CHARINDEX", args, start))
            }
            _ => {
                self.expect_tok(Tok::Comma)?;
                let second = self.nest(Self::scalar)?;
                if word == "MOD" {
                    return self.odbc_binary(BinaryOp::Modulo, first, second, start);
                }
                debug_assert_eq!(word, "TRUNCATE");
                Ok(self.calls("ROUND", vec![first, second, number(1)], start))
            }
        }
    }

    /// `CONVERT(x, SQL_type)`; T-SQL's own form, with the type before the value, is let pass.
    fn odbc_convert(&mut self, start: Span) -> P<Expr> {
        let before = self.pos;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let value = self.nest(Self::scalar)?;
        let of = self.peek_at(1);
        let to = Some(of).filter(|of| self.at_tok(Tok::Comma) && of.kind == Tok::Word);
        let Some(to) = to.and_then(|of| type_called(self.text_of(of))) else {
            // A type stands first: a few tokens were taken for a value and are read again. What is
            // no type fails there at once, so that reading twice cannot multiply with the depth.
            self.pos = before;
            return self.operand(false);
        };
        self.bump();
        self.bump();
        self.expect_tok(Tok::RParen)?;
        Ok(self.odbc_converted(&to, Vec::new(), value, None, start))
    }

    /// The date as text `yyyy-mm-dd`, the time as text `hh:mi:ss.fff` or with so many digits as it
    /// says; both as a moment.
    fn odbc_clock(&mut self, word: &str, start: Span) -> P<Expr> {
        self.bump();
        let mut digits = 3;
        let mut said = false;
        if self.eat_tok(Tok::LParen) {
            said =
                self.at_tok(Tok::Integer) && matches!(word, "CURRENT_TIME" | "CURRENT_TIMESTAMP");
            if said {
                let place = self.peek();
                digits = self.integer()?;
                if !(0..=MOST_DIGITS).contains(&digits) {
                    return Err(crate::error::SyntaxError::near(
                        place.span.line,
                        self.text_of(place),
                    ));
                }
            }
            self.expect_tok(Tok::RParen)?;
        }
        let now = self.calls("GETDATE", Vec::new(), start);
        let with = |digits: i64| vec![TypeParam::Int(digits)];
        Ok(match word {
            "CURDATE" | "CURRENT_DATE" => {
                self.odbc_converted("varchar", with(10), now, Some(23), start)
            }
            "CURRENT_TIMESTAMP" if !said => now,
            "CURRENT_TIMESTAMP" => {
                let now = self.odbc_converted("datetime2", with(3), now, None, start);
                self.odbc_converted("datetime2", with(digits), now, None, start)
            }
            _ => {
                let now = self.odbc_converted("time", with(3), now, None, start);
                let now = self.odbc_converted("time", with(digits), now, None, start);
                self.odbc_converted("varchar", with(16), now, Some(121), start)
            }
        })
    }

    fn odbc_converted(
        &self,
        to: &str,
        params: Vec<TypeParam>,
        operand: Expr,
        style: Option<i64>,
        start: Span,
    ) -> Expr {
        let target = Box::new(TypeName { name: named(to, start), params, span: start });
        let style = style.map(|style| Box::new(literal_expr(Literal::Integer(style), start)));
        let kind = ExprKind::Convert { target, operand: Box::new(operand), style, or_null: false };
        self.node(kind, start)
    }

    /// A call of a function of T-SQL.
    fn calls(&self, name: &str, args: Vec<Expr>, start: Span) -> Expr {
        let mut call = call_of(named(name, start));
        (call.args, call.odbc) = (args, true);
        self.node(ExprKind::Function(Box::new(call)), start)
    }

    /// An operation around what has been read.
    fn odbc_binary(&mut self, op: BinaryOp, left: Expr, right: Expr, start: Span) -> P<Expr> {
        self.deepen()?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(self.node(ExprKind::Binary { op, left, right }, start))
    }
}
