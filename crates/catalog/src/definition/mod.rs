//! The text of an expression as SQL Server keeps it in DEFAULT and CHECK constraints and computed
//! columns: `([a]>(0))`, `(getdate())`, `((5)+(1))`. Tools read these texts.
//! Guarantees: a text means what was written, but that each value of an IN list is compared by its
//! own type, as in SQL Server, not by one of the whole list; reading it gives the same text again.
//! What has no form here (queries, windows, escapes of ODBC) gives none, and stays as it was
//! written.

mod forms;

use syntax::ast::{
    BinaryOp, ColumnRef, CompareOp, Expr, ExprKind, Ident, Literal, ObjectName, UnaryOp,
};

use crate::constraint::parse_condition;
use crate::load::parse_expression;
use crate::names::quote;

/// How tight an expression binds, weakest first, as the parser has it.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const ADD: u8 = 5;
const MULTIPLY: u8 = 6;
const COMPLEMENT: u8 = 7;
const POSTFIX: u8 = 8;
const PRIMARY: u8 = 9;

/// BETWEEN and IN write their operand again for each comparison: a text that grows beyond this many
/// times what was written, and [`ROOM`], stays as it was.
const GROWTH: usize = 8;
const ROOM: usize = 1024;

/// Bytes of stack for the functions below over a tree as high as the parser lets through: three of
/// them call each other at each level.
const DEEPEST: usize = if cfg!(debug_assertions) { 4 << 20 } else { 1 << 20 };

/// The text of a value is part of one row of a system table: a longer one stays as it was written.
const OF_ROW: usize = 3000;

/// The text of a value, with the parentheses around it. None: it stays as it was written.
pub fn of_value(expr: &Expr, written: usize) -> Option<String> {
    let text = format!("({})", write(expr, ADD, written)?);
    if text.len() > OF_ROW {
        return None;
    }
    let again = parse_expression(&text).ok().and_then(|read| write(&read, ADD, text.len()))?;
    (text.get(1..text.len() - 1) == Some(again.as_str())).then_some(text)
}

/// The text of a condition, with the parentheses around it. None: it stays as it was written.
pub fn of_condition(expr: &Expr, written: usize) -> Option<String> {
    let text = format!("({})", write(expr, OR, written)?);
    let again = parse_condition(&text).ok().and_then(|read| write(&read, OR, text.len()))?;
    (text.get(1..text.len() - 1) == Some(again.as_str())).then_some(text)
}

fn write(expr: &Expr, least: u8, written: usize) -> Option<String> {
    let most = written.saturating_mul(GROWTH).saturating_add(ROOM);
    let mut writer = Writer { out: String::new(), most };
    stack::with(DEEPEST, || writer.expr(expr, least))?;
    Some(writer.out)
}

struct Writer {
    out: String,
    /// Bytes that the text may have.
    most: usize,
}

/// Whether it is a number with a minus before it, which is written as one.
fn is_negative_number(op: UnaryOp, operand: &Expr) -> bool {
    let number = matches!(
        operand.kind,
        ExprKind::Literal(
            Literal::Integer(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Money(_)
        )
    );
    op == UnaryOp::Minus && number
}

/// How tight the text of an expression binds.
fn level(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Or(_) => OR,
        ExprKind::And(_) => AND,
        ExprKind::Between { negated: false, .. } => AND,
        ExprKind::InList { list, negated: false, .. } if list.len() > 1 => OR,
        ExprKind::InList { list, .. } if list.len() == 1 => COMPARE,
        ExprKind::Not(_)
        | ExprKind::Between { .. }
        | ExprKind::InList { .. }
        | ExprKind::Like { negated: true, .. } => NOT,
        ExprKind::Compare { .. }
        | ExprKind::IsNull { .. }
        | ExprKind::IsDistinct { .. }
        | ExprKind::Like { .. } => COMPARE,
        ExprKind::Binary { op, .. } => level_of(*op),
        ExprKind::Unary { op, operand } if is_negative_number(*op, operand) => PRIMARY,
        ExprKind::Unary { op: UnaryOp::BitNot, .. } => COMPLEMENT,
        ExprKind::Unary { .. } => ADD,
        ExprKind::Collate { .. } | ExprKind::AtTimeZone { .. } => POSTFIX,
        _ => PRIMARY,
    }
}

fn level_of(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo => MULTIPLY,
        _ => ADD,
    }
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Concat => "||",
    }
}

fn comparison(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
    }
}

/// Each function writes what it is named after; none: it has no form here.
impl Writer {
    fn push(&mut self, text: &str) -> Option<()> {
        self.out.push_str(text);
        (self.out.len() <= self.most).then_some(())
    }

    /// An expression, in parentheses where it binds weaker than `least`.
    fn expr(&mut self, expr: &Expr, least: u8) -> Option<()> {
        if level(expr) >= least {
            return self.bare(expr);
        }
        self.push("(")?;
        self.bare(expr)?;
        self.push(")")
    }

    fn bare(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Column(column) => self.column(column),
            ExprKind::GlobalVariable(name) => self.push(&name.to_lowercase()),
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { .. } => self.chain(expr),
            ExprKind::Function(call) => self.call(call),
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) => self.junction(expr),
            ExprKind::Case { .. } => self.case(expr),
            ExprKind::Cast { .. } | ExprKind::Convert { .. } | ExprKind::Parse { .. } => {
                self.conversion(expr)
            }
            ExprKind::NextValueFor { sequence, over: None } => {
                self.push("NEXT VALUE FOR ")?;
                self.name(sequence)
            }
            ExprKind::Collate { .. }
            | ExprKind::AtTimeZone { .. }
            | ExprKind::Method { .. }
            | ExprKind::StaticMember { .. } => self.suffixed(expr),
            _ => self.test(expr),
        }
    }

    fn literal(&mut self, literal: &Literal) -> Option<()> {
        let text = match literal {
            Literal::Null => "NULL".to_string(),
            Literal::Integer(n) => format!("({n})"),
            Literal::Decimal(digits) | Literal::Float(digits) => format!("({digits})"),
            Literal::Money(digits) => format!("(${digits})"),
            Literal::String { value, national } => {
                format!("{}'{}'", if *national { "N" } else { "" }, value.replace('\'', "''"))
            }
            Literal::Binary(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("0x{digits}")
            }
        };
        self.push(&text)
    }

    /// A name, in brackets where it is one that a user may have given.
    fn ident(&mut self, ident: &Ident) -> Option<()> {
        let fixed =
            ident.value.starts_with('$') || ident.is("IDENTITYCOL") || ident.is("ROWGUIDCOL");
        match fixed && !ident.quoted {
            true => self.push(&ident.value),
            false => self.push(&quote(&ident.value)),
        }
    }

    fn name(&mut self, name: &ObjectName) -> Option<()> {
        let parts = [&name.server, &name.database, &name.schema];
        for (at, part) in parts.iter().enumerate() {
            match part {
                Some(part) => {
                    self.ident(part)?;
                    self.push(".")?;
                }
                // Between two dots.
                None if parts[..at].iter().any(|outer| outer.is_some()) => self.push(".")?,
                None => {}
            }
        }
        self.ident(&name.name)
    }

    fn column(&mut self, column: &ColumnRef) -> Option<()> {
        if let Some(table) = &column.qualifier {
            self.name(table)?;
            self.push(".")?;
        }
        self.ident(&column.name)
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Option<()> {
        match (op, &operand.kind) {
            (UnaryOp::Minus, ExprKind::Literal(Literal::Integer(n))) => {
                self.push(&format!("(-{n})"))
            }
            (
                UnaryOp::Minus,
                ExprKind::Literal(Literal::Decimal(digits) | Literal::Float(digits)),
            ) => self.push(&format!("(-{digits})")),
            (UnaryOp::Minus, ExprKind::Literal(Literal::Money(digits))) => {
                self.push(&format!("(-${digits})"))
            }
            (UnaryOp::BitNot, _) => {
                self.push("~")?;
                self.expr(operand, COMPLEMENT)
            }
            (UnaryOp::Minus | UnaryOp::Plus, _) => {
                self.push(if op == UnaryOp::Minus { "-" } else { "+" })?;
                self.expr(operand, MULTIPLY)
            }
        }
    }

    /// Operators one behind the other: `a + b - c` nests to the left as deep as it is long.
    fn chain(&mut self, expr: &Expr) -> Option<()> {
        let mut first = expr;
        let mut rest = Vec::new();
        while let ExprKind::Binary { op, left, right } = &first.kind {
            rest.push((*op, right));
            let tight = level_of(*op);
            first = left;
            if level(left) < tight {
                break;
            }
        }
        let least = rest.last().map_or(ADD, |(op, _)| level_of(*op));
        self.expr(first, least)?;
        for (op, right) in rest.into_iter().rev() {
            self.push(symbol(op))?;
            self.expr(right, level_of(op) + 1)?;
        }
        Some(())
    }

    fn junction(&mut self, expr: &Expr) -> Option<()> {
        let (list, word, least) = match &expr.kind {
            ExprKind::And(list) => (list.as_slice(), " AND ", AND),
            ExprKind::Or(list) => (list.as_slice(), " OR ", OR),
            ExprKind::Not(operand) => {
                self.push("NOT ")?;
                return self.expr(operand, NOT);
            }
            _ => return None,
        };
        for (at, operand) in list.iter().enumerate() {
            if at > 0 {
                self.push(word)?;
            }
            self.expr(operand, least)?;
        }
        Some(())
    }
}
