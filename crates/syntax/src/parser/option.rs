//! Option lists: the one form for WITH (...), SET of a database, table hints and OPTION (...).

use super::types::literal_expr;
use super::{P, Parser};
use crate::ast::{Expr, ExprKind, Literal, OptionItem, OptionValue, Span};
use crate::lexer::{Tok, unquote};
use compact_str::CompactString;

/// Words that can follow a number in an option.
const UNITS: &[&str] = &[
    "SECONDS", "SECOND", "MINUTES", "MINUTE", "HOURS", "HOUR", "DAYS", "DAY", "WEEKS", "WEEK",
    "MONTHS", "MONTH", "YEARS", "YEAR", "PERCENT", "ROWS", "KB", "MB", "GB", "TB",
];

/// Options whose parentheses hold names, numbers and strings rather than options.
const VALUE_LISTS: &[&str] = &["INDEX", "FORCESEEK", "PARTITIONS", "ORDER", "USE HINT"];

/// Options whose value is a list of options: `CLEANUP_POLICY = (STALE_QUERY_THRESHOLD_DAYS = 30)`.
const LISTS: &[&str] = &["CLEANUP_POLICY", "QUERY_CAPTURE_POLICY"];

/// What stands after the words of a query hint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HintArgument {
    Nothing,
    /// `MAXDOP 1`, `FAST @n`.
    Value,
    /// `QUERYRULEOFF name`: the name as it is written.
    Name,
    /// `LABEL = 'x'`.
    Equals,
    /// `OPTIMIZE FOR (@x = 1)`.
    List,
    /// `TABLE HINT (t, NOLOCK)`: a table and its hints.
    Table,
}

/// The hints of T-SQL's reference. A word that leads to none of them is an error.
const HINTS: &[(&str, HintArgument)] = &[
    ("RECOMPILE", HintArgument::Nothing),
    ("HASH GROUP", HintArgument::Nothing),
    ("ORDER GROUP", HintArgument::Nothing),
    ("CONCAT UNION", HintArgument::Nothing),
    ("HASH UNION", HintArgument::Nothing),
    ("MERGE UNION", HintArgument::Nothing),
    ("LOOP JOIN", HintArgument::Nothing),
    ("MERGE JOIN", HintArgument::Nothing),
    ("HASH JOIN", HintArgument::Nothing),
    ("EXPAND VIEWS", HintArgument::Nothing),
    ("FORCE ORDER", HintArgument::Nothing),
    ("FORCE EXTERNALPUSHDOWN", HintArgument::Nothing),
    ("DISABLE EXTERNALPUSHDOWN", HintArgument::Nothing),
    ("FORCE SCALEOUTEXECUTION", HintArgument::Nothing),
    ("DISABLE SCALEOUTEXECUTION", HintArgument::Nothing),
    ("IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX", HintArgument::Nothing),
    ("KEEP PLAN", HintArgument::Nothing),
    ("KEEPFIXED PLAN", HintArgument::Nothing),
    ("NO_PERFORMANCE_SPOOL", HintArgument::Nothing),
    ("OPTIMIZE FOR UNKNOWN", HintArgument::Nothing),
    ("PARAMETERIZATION SIMPLE", HintArgument::Nothing),
    ("PARAMETERIZATION FORCED", HintArgument::Nothing),
    ("ROBUST PLAN", HintArgument::Nothing),
    ("DISABLE_OPTIMIZED_PLAN_FORCING", HintArgument::Nothing),
    ("FAST", HintArgument::Value),
    ("MAXDOP", HintArgument::Value),
    ("MAXRECURSION", HintArgument::Value),
    ("QUERYTRACEON", HintArgument::Value),
    ("QUERYRULEOFF", HintArgument::Name),
    ("USE PLAN", HintArgument::Value),
    ("FOR TIMESTAMP AS OF", HintArgument::Value),
    ("MAX_GRANT_PERCENT", HintArgument::Equals),
    ("MIN_GRANT_PERCENT", HintArgument::Equals),
    ("LABEL", HintArgument::Equals),
    ("OPTIMIZE FOR", HintArgument::List),
    ("USE HINT", HintArgument::List),
    ("TABLE HINT", HintArgument::Table),
];

/// Whether `words` are a hint's first ones.
fn leads_to_hint(words: &str) -> bool {
    HINTS.iter().any(|(hint, _)| {
        hint.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

impl Parser<'_> {
    /// `WITH (a, b = 1)`, when it is there.
    pub(super) fn opt_with_options(&mut self) -> P<Vec<OptionItem>> {
        if self.at("WITH") && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            self.option_list()
        } else {
            Ok(Vec::new())
        }
    }

    /// `(a, b = 1, c ON)`.
    pub(super) fn option_list(&mut self) -> P<Vec<OptionItem>> {
        self.nest(|p| p.paren_list(Self::option))
    }

    /// One option: `NAME`, `NAME = value`, `NAME value`, each with an optional list after.
    pub(super) fn option(&mut self) -> P<OptionItem> {
        let start = self.peek().span;
        let name = self.option_name()?;
        if name == "MOVE TO" {
            return self.move_to(start);
        }
        if name == "RESAMPLE ON" {
            self.mark_foreign("RESAMPLE ON PARTITIONS");
        }
        if VALUE_LISTS.contains(&name.as_str()) && self.peek().kind == Tok::LParen {
            let nested = self.nest(|p| p.paren_list(Self::value_item))?;
            let mut item = self.option_node(name, OptionValue::None, nested, start);
            self.option_tail(&mut item)?;
            return Ok(item);
        }
        if self.at_tok(Tok::Eq) && self.peek_at(1).kind == Tok::LParen {
            // CLEANUP_POLICY = (STALE_QUERY_THRESHOLD_DAYS = 30)
            self.bump();
            let nested = self.nest(|p| p.paren_list(Self::nested_item))?;
            return Ok(self.option_node(name, OptionValue::None, nested, start));
        }
        let value =
            if matches!(name.as_str(), "HISTORY_TABLE" | "LEDGER_VIEW") && self.eat_tok(Tok::Eq) {
                self.name_value()?
            } else if self.eat_tok(Tok::Eq) {
                // The list is the value.
                let list = LISTS.contains(&name.as_str()) && self.at_tok(Tok::LParen);
                if list { OptionValue::None } else { self.option_value()? }
            } else if self.at_juxtaposed_value() {
                self.option_value()?
            } else {
                OptionValue::None
            };
        if name == "QUERY_STORE" && value == OptionValue::Word("CLEAR".into()) {
            self.eat("ALL");
        }
        let mut item = self.option_node(name, value, Vec::new(), start);
        self.option_tail(&mut item)?;
        item.span = self.since(start);
        Ok(item)
    }

    /// A variable is a name here too: `OPTIMIZE FOR (@x = 1)`.
    fn option_name(&mut self) -> P<CompactString> {
        if self.at_tok(Tok::Variable) {
            return self.variable();
        }
        if self.at_tok(Tok::Quoted) {
            return Ok(self.take_ident().value);
        }
        let name = self.upper_word()?;
        // The few options of two words.
        for (first, second) in [
            ("SERVER", "CERTIFICATE"),
            ("SERVER", "ASYMMETRIC"),
            ("EXECUTE", "AS"),
            ("EXEC", "AS"),
            ("MOVE", "TO"),
            ("NO", "CREDENTIAL"),
            ("RESAMPLE", "ON"),
        ] {
            if name == first && self.eat(second) {
                return Ok(CompactString::from(format!("{first} {second}")));
            }
        }
        Ok(name)
    }

    /// `MOVE TO filegroup | scheme(column)` of an index that is dropped.
    fn move_to(&mut self, start: Span) -> P<OptionItem> {
        let value = OptionValue::Word(self.ident_or_string()?.value);
        let nested =
            if self.at_tok(Tok::LParen) { self.paren_list(Self::value_item)? } else { Vec::new() };
        self.foreign_filestream()?;
        Ok(self.option_node("MOVE TO".into(), value, nested, start))
    }

    fn option_node(
        &self,
        name: CompactString,
        value: OptionValue,
        nested: Vec<OptionItem>,
        start: Span,
    ) -> OptionItem {
        OptionItem { name, value, unit: None, nested, span: self.since(start) }
    }

    /// Whether a value follows without `=`.
    fn at_juxtaposed_value(&self) -> bool {
        match self.kind() {
            Tok::Integer | Tok::Decimal | Tok::Str | Tok::NStr | Tok::Quoted | Tok::Binary => true,
            Tok::Word => self.peek_at(1).kind != Tok::Colon && !self.at("AFTER"),
            Tok::Reserved => self.at_any(&["ON", "OFF", "FULL", "PRIMARY", "ASC", "DESC"]),
            _ => false,
        }
    }

    pub(super) fn option_value(&mut self) -> P<OptionValue> {
        if self.eat("ON") {
            return Ok(OptionValue::On);
        }
        if self.eat("OFF") {
            return Ok(OptionValue::Off);
        }
        match self.kind() {
            Tok::Word | Tok::Reserved if !self.at("NULL") => {
                Ok(OptionValue::Word(self.upper_word()?))
            }
            Tok::Quoted => Ok(OptionValue::Word(self.take_ident().value)),
            _ => Ok(OptionValue::Expr(self.constant_or_variable()?)),
        }
    }

    /// The name of an object as it is written.
    fn name_value(&mut self) -> P<OptionValue> {
        let start = self.peek().span;
        let name = self.object_name()?;
        let kind = ExprKind::Column(super::function::column_of(name));
        Ok(OptionValue::Expr(Expr { kind, span: self.since(start) }))
    }

    /// Unit, nested list and the rare words after an option's value.
    fn option_tail(&mut self, item: &mut OptionItem) -> P<()> {
        if matches!(item.value, OptionValue::Expr(_)) {
            item.unit = self.opt_unit();
        }
        if self.at_tok(Tok::LParen) {
            item.nested = self.nest(|p| p.paren_list(Self::nested_item))?;
        } else if self.at("AFTER")
            && matches!(self.peek_at(1).kind, Tok::Str | Tok::NStr | Tok::Variable)
        {
            // STOPATMARK = 'mark' AFTER 'time'
            let start = self.bump().span;
            let value = OptionValue::Expr(self.constant_or_variable()?);
            item.nested.push(self.option_node("AFTER".into(), value, Vec::new(), start));
        } else if self.at_seq(&["ON", "PARTITIONS"]) {
            self.bump();
            item.nested.push(self.nest(Self::option)?);
        } else if item.name == "PASSWORD" {
            while self.at_any(&["MUST_CHANGE", "HASHED", "OLD_PASSWORD", "UNLOCK"]) {
                let nested = if self.at("OLD_PASSWORD") {
                    self.nest(Self::option)?
                } else {
                    self.table_hint()?
                };
                item.nested.push(nested);
            }
        } else if item.name == "QUERY_STORE" && self.at("ALL") {
            // QUERY_STORE CLEAR ALL
            item.nested.push(self.table_hint()?);
        } else if item.name == "ORDER" && self.eat("UNIQUE") {
            // ORDER (a, b) UNIQUE of a file that is read
            let start = self.at_index(self.pos.saturating_sub(1)).span;
            item.nested.push(self.option_node(
                "UNIQUE".into(),
                OptionValue::None,
                Vec::new(),
                start,
            ));
        }
        Ok(())
    }

    fn opt_unit(&mut self) -> Option<CompactString> {
        if self.eat_tok(Tok::Percent) {
            return Some("PERCENT".into());
        }
        if self.at_any(UNITS) { self.upper_word().ok() } else { None }
    }

    /// An option, or a bare constant, inside an option's parentheses.
    fn nested_item(&mut self) -> P<OptionItem> {
        if matches!(self.kind(), Tok::Word | Tok::Reserved | Tok::Quoted | Tok::Variable)
            && !self.at("NULL")
        {
            self.option()
        } else {
            self.value_item()
        }
    }

    /// A constant, or a name with an optional direction, as an option without a name; `3 TO 5` is
    /// an option called `TO`.
    fn value_item(&mut self) -> P<OptionItem> {
        let start = self.peek().span;
        let value = if self.at_ident() {
            let name = self.object_name()?;
            let span = self.since(start);
            let column = super::function::column_of(name);
            Expr { kind: ExprKind::Column(column), span }
        } else {
            self.constant_or_variable()?
        };
        let mut item =
            self.option_node(CompactString::default(), OptionValue::Expr(value), Vec::new(), start);
        if self.at_any(&["ASC", "DESC"]) {
            item.unit = self.upper_word().ok();
        } else if self.eat("TO") {
            item.name = "TO".into();
            let end = self.peek().span;
            let value = OptionValue::Expr(self.constant_or_variable()?);
            item.nested.push(self.option_node(CompactString::default(), value, Vec::new(), end));
        } else if self.at_tok(Tok::LParen) {
            item.nested = self.nest(|p| p.paren_list(Self::value_item))?;
        }
        item.span = self.since(start);
        Ok(item)
    }

    /// `WITH a, b = 1` without parentheses, as in BACKUP and DBCC, when it is there.
    pub(super) fn opt_with_bare_options(&mut self) -> P<Vec<OptionItem>> {
        if self.eat("WITH") { self.list(Self::option) } else { Ok(Vec::new()) }
    }

    /// `OPTION (...)` of a query, when it is there.
    pub(super) fn opt_query_options(&mut self) -> P<Vec<OptionItem>> {
        if self.eat("OPTION") { self.paren_list(Self::query_option) } else { Ok(Vec::new()) }
    }

    /// One query hint: its words, then perhaps a value or a list. Error 102 or 156 at the first
    /// word that is not one.
    fn query_option(&mut self) -> P<OptionItem> {
        let start = self.peek().span;
        let mut name = CompactString::default();
        while matches!(self.kind(), Tok::Word | Tok::Reserved) {
            let mut longer = name.clone();
            if !name.is_empty() {
                longer.push(' ');
            }
            longer.push_str(&self.text_of(self.peek()).to_ascii_uppercase());
            if !leads_to_hint(&longer) {
                return Err(self.unexpected());
            }
            name = longer;
            self.bump();
            // The word behind it is no part of the hint.
            if HINTS.contains(&(name.as_str(), HintArgument::Name)) {
                break;
            }
        }
        let Some((_, behind)) = HINTS.iter().find(|(hint, _)| *hint == name) else {
            return Err(self.unexpected());
        };
        let (mut value, mut nested) = (OptionValue::None, Vec::new());
        match behind {
            HintArgument::Nothing => {}
            HintArgument::Value => value = OptionValue::Expr(self.constant_or_variable()?),
            HintArgument::Name => value = OptionValue::Word(self.ident()?.value),
            HintArgument::Equals => {
                self.expect_tok(Tok::Eq)?;
                value = OptionValue::Expr(self.constant_or_variable()?);
            }
            HintArgument::Table => {
                self.expect_tok(Tok::LParen)?;
                nested.push(self.value_item()?);
                while self.eat_tok(Tok::Comma) {
                    nested.push(self.table_hint()?);
                }
                self.expect_tok(Tok::RParen)?;
            }
            HintArgument::List => {
                let values = VALUE_LISTS.contains(&name.as_str());
                nested = self.nest(|p| {
                    p.paren_list(if values { Self::value_item } else { Self::nested_item })
                })?;
            }
        }
        Ok(self.option_node(name, value, nested, start))
    }

    /// `'text'` as an expression.
    pub(super) fn string_expr(&mut self) -> P<Expr> {
        let token = self.peek();
        let national = token.kind == Tok::NStr;
        if !national && token.kind != Tok::Str {
            return Err(self.unexpected());
        }
        self.bump();
        let value = unquote(self.text_of(token));
        Ok(literal_expr(Literal::String { value, national }, token.span))
    }
}
