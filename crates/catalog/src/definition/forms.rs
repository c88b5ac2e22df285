//! The forms of conditions, CASE, conversions and calls.
//! Guarantee: what is left out, or has words of its own, has no form.

use syntax::ast::{Expr, ExprKind, FunctionCall, TypeName, TypeParam};
use types::datetime::DatePart;

use super::{ADD, OR, POSTFIX, PRIMARY, Writer, comparison};
use crate::names::quote;

/// Functions whose first argument is the name of a part of a date.
const OF_PARTS: &[&str] =
    &["dateadd", "datediff", "datediff_big", "datename", "datepart", "datetrunc", "date_bucket"];

/// Each function writes what it is named after; none: it has no form here.
impl Writer {
    /// BETWEEN and IN are written as what they stand for.
    pub(super) fn test(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            ExprKind::Compare { op, left, right } => {
                self.expr(left, ADD)?;
                self.push(comparison(*op))?;
                self.expr(right, ADD)
            }
            ExprKind::IsNull { operand, negated } => {
                self.expr(operand, ADD)?;
                self.push(if *negated { " IS NOT NULL" } else { " IS NULL" })
            }
            ExprKind::IsDistinct { left, right, negated } => {
                self.expr(left, ADD)?;
                self.push(if *negated { " IS NOT DISTINCT FROM " } else { " IS DISTINCT FROM " })?;
                self.expr(right, ADD)
            }
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.push(if *negated { "NOT " } else { "" })?;
                self.expr(operand, ADD)?;
                self.push(" like ")?;
                self.expr(pattern, ADD)?;
                let Some(escape) = escape else { return Some(()) };
                self.push(" escape ")?;
                self.expr(escape, ADD)
            }
            ExprKind::Between { operand, low, high, negated } => {
                self.push(if *negated { "NOT (" } else { "" })?;
                let operand = self.aside(operand)?;
                self.push(&operand)?;
                self.push(">=")?;
                self.expr(low, ADD)?;
                self.push(" AND ")?;
                self.push(&operand)?;
                self.push("<=")?;
                self.expr(high, ADD)?;
                self.push(if *negated { ")" } else { "" })
            }
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            _ => None,
        }
    }

    /// The last element comes first, as in SQL Server.
    fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) -> Option<()> {
        let operand = self.aside(operand)?;
        if let [one] = list {
            self.push(&operand)?;
            self.push(if negated { "<>" } else { "=" })?;
            return self.expr(one, ADD);
        }
        self.push(if negated { "NOT (" } else { "" })?;
        for (at, element) in list.iter().rev().enumerate() {
            self.push(if at > 0 { " OR " } else { "" })?;
            self.push(&operand)?;
            self.push("=")?;
            self.expr(element, ADD)?;
        }
        self.push(if negated { ")" } else { "" })
    }

    /// The text of an operand that is written several times.
    fn aside(&mut self, operand: &Expr) -> Option<String> {
        let from = self.out.len();
        self.expr(operand, ADD)?;
        Some(self.out.split_off(from))
    }

    pub(super) fn case(&mut self, expr: &Expr) -> Option<()> {
        let ExprKind::Case { operand, branches, otherwise } = &expr.kind else { return None };
        self.push("case")?;
        if let Some(operand) = operand {
            self.push(" ")?;
            self.expr(operand, ADD)?;
        }
        let least = if operand.is_some() { ADD } else { OR };
        for branch in branches {
            self.push(" when ")?;
            self.expr(&branch.when, least)?;
            self.push(" then ")?;
            self.expr(&branch.then, ADD)?;
        }
        if let Some(otherwise) = otherwise {
            self.push(" else ")?;
            self.expr(otherwise, ADD)?;
        }
        self.push(" end")
    }

    /// CAST is a CONVERT without a style.
    pub(super) fn conversion(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            ExprKind::Cast { operand, target, or_null: false } => {
                self.push("CONVERT(")?;
                self.type_name(target)?;
                self.push(",")?;
                self.expr(operand, ADD)?;
            }
            ExprKind::Convert { target, operand, style, or_null } => {
                self.push(if *or_null { "TRY_CONVERT(" } else { "CONVERT(" })?;
                self.type_name(target)?;
                self.push(",")?;
                self.expr(operand, ADD)?;
                if let Some(style) = style {
                    self.push(",")?;
                    self.expr(style, ADD)?;
                }
            }
            ExprKind::Cast { operand, target, or_null: true } => {
                self.push("TRY_CAST(")?;
                self.expr(operand, ADD)?;
                self.push(" AS ")?;
                self.type_name(target)?;
            }
            ExprKind::Parse { operand, target, culture, or_null } => {
                self.push(if *or_null { "TRY_PARSE(" } else { "PARSE(" })?;
                self.expr(operand, ADD)?;
                self.push(" AS ")?;
                self.type_name(target)?;
                if let Some(culture) = culture {
                    self.push(" USING ")?;
                    self.expr(culture, ADD)?;
                }
            }
            _ => return None,
        }
        self.push(")")
    }

    fn type_name(&mut self, ty: &TypeName) -> Option<()> {
        let bare =
            ty.name.schema.is_none() && ty.name.database.is_none() && ty.name.server.is_none();
        let own = ty.name.name.value.to_lowercase();
        match own.as_str() {
            _ if !bare || ty.name.name.quoted => self.name(&ty.name)?,
            "integer" => self.push("[int]")?,
            "dec" => self.push("[decimal]")?,
            "character" => self.push("[char]")?,
            "rowversion" => self.push("[timestamp]")?,
            own => self.push(&quote(own))?,
        }
        if ty.params.is_empty() {
            return Some(());
        }
        for (at, param) in ty.params.iter().enumerate() {
            self.push(if at > 0 { "," } else { "(" })?;
            match param {
                TypeParam::Int(n) => self.push(&n.to_string())?,
                TypeParam::Max => self.push("max")?,
                TypeParam::Name(_) => return None,
            }
        }
        self.push(")")
    }

    pub(super) fn suffixed(&mut self, expr: &Expr) -> Option<()> {
        match &expr.kind {
            ExprKind::Collate { operand, collation } => {
                self.expr(operand, POSTFIX)?;
                self.push(" collate ")?;
                self.push(&collation.value)
            }
            ExprKind::AtTimeZone { operand, zone } => {
                self.expr(operand, POSTFIX)?;
                self.push(" AT TIME ZONE ")?;
                self.expr(zone, PRIMARY)
            }
            ExprKind::Method { target, method, args, prolog } if prolog.is_empty() => {
                self.push("(")?;
                self.expr(target, ADD)?;
                self.push(").")?;
                self.push(&quote(&method.value))?;
                self.arguments(args)
            }
            ExprKind::StaticMember { of_type, member, args } => {
                self.name(of_type)?;
                self.push("::")?;
                self.push(&quote(&member.value))?;
                args.as_ref().map_or(Some(()), |args| self.arguments(args))
            }
            _ => None,
        }
    }

    fn arguments(&mut self, args: &[Expr]) -> Option<()> {
        self.push("(")?;
        for (at, arg) in args.iter().enumerate() {
            self.push(if at > 0 { "," } else { "" })?;
            match arg.kind {
                ExprKind::Default => self.push("default")?,
                // Of IIF.
                _ if arg.is_condition() => self.expr(arg, OR)?,
                _ => self.expr(arg, ADD)?,
            }
        }
        self.push(")")
    }

    /// Functions of the system in lower case, others by their quoted names.
    pub(super) fn call(&mut self, call: &FunctionCall) -> Option<()> {
        let plain = !call.distinct
            && !call.star
            && !call.odbc
            && !call.ignore_nulls
            && call.within_group.is_empty()
            && call.over.is_none()
            && call.prolog.is_empty();
        if !plain {
            return None;
        }
        if call.name.schema.is_some() || call.name.name.quoted {
            self.name(&call.name)?;
            return self.arguments(&call.args);
        }
        let name = call.name.name.value.to_lowercase();
        let name = match name.as_str() {
            // The standard's names.
            "current_timestamp" if call.niladic => "getdate",
            "user" | "current_user" | "session_user" if call.niladic => "user_name",
            "system_user" if call.niladic => "suser_sname",
            // Words of their own stand between the arguments, or no parentheses behind the name.
            "json_object" | "json_array" => return None,
            _ if call.niladic => return self.push(&name),
            name => name,
        };
        self.push(name)?;
        match call.args.as_slice() {
            [text, from] if name == "trim" => {
                self.push("(")?;
                self.expr(from, ADD)?;
                self.push(" FROM ")?;
                self.expr(text, ADD)?;
                self.push(")")
            }
            [Expr { kind: ExprKind::Column(part), .. }, rest @ ..]
                if OF_PARTS.contains(&name) && part.qualifier.is_none() && !part.name.quoted =>
            {
                let known = DatePart::from_name(&part.name.value).map(DatePart::name);
                self.push("(")?;
                self.push(known.unwrap_or(&part.name.value))?;
                for arg in rest {
                    self.push(",")?;
                    self.expr(arg, ADD)?;
                }
                self.push(")")
            }
            args => self.arguments(args),
        }
    }
}
