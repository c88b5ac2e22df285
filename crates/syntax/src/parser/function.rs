//! Operands: constants, variables, columns, function calls, windows.

use super::{P, Parser};
use crate::ast::{
    ColumnRef, Expr, ExprKind, Frame, FrameBound, FunctionCall, Ident, Identity, ObjectName,
    OrderItem, Over,
};
use crate::lexer::Tok;

/// Reserved words that are functions when a parenthesis follows.
const RESERVED_FUNCTIONS: &[&str] = &[
    "COALESCE",
    "NULLIF",
    "LEFT",
    "RIGHT",
    "USER",
    "CURRENT_USER",
    "SESSION_USER",
    "SYSTEM_USER",
    "SCHEMA",
];

/// Reserved words that are functions without parentheses.
const NILADIC: &[&str] =
    &["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER"];

/// The column that a dotted name means.
pub(super) fn column_of(name: ObjectName) -> ColumnRef {
    let ObjectName { server, database, schema, name } = name;
    let qualifier = schema.map(|table| {
        Box::new(ObjectName { server: None, database: server, schema: database, name: table })
    });
    ColumnRef { qualifier, name }
}

/// A call of `name` with nothing said yet.
pub(super) fn call_of(name: ObjectName) -> FunctionCall {
    FunctionCall {
        name,
        args: Vec::new(),
        distinct: false,
        star: false,
        niladic: false,
        odbc: false,
        ignore_nulls: false,
        within_group: Vec::new(),
        over: None,
        prolog: Default::default(),
    }
}

impl Parser<'_> {
    /// One operand without sign or operators. `conditions` says whether EXISTS and its kin may
    /// stand here.
    pub(super) fn operand(&mut self, conditions: bool) -> P<Expr> {
        let token = self.peek();
        if let Some(literal) = self.opt_literal() {
            return Ok(literal);
        }
        match token.kind {
            Tok::Variable => {
                let name = self.variable()?;
                let kind = if name.starts_with("@@") {
                    ExprKind::GlobalVariable(name)
                } else {
                    ExprKind::Variable(name)
                };
                Ok(Expr { kind, span: token.span })
            }
            Tok::LParen => self.parenthesised(Self::scalar),
            Tok::LBrace => self.nest(Self::odbc_escape),
            Tok::Reserved => self.reserved_operand(conditions),
            Tok::Word => self.word_operand(),
            Tok::Quoted => self.named_operand(),
            Tok::Dot | Tok::DoubleColon => self.named_operand(),
            _ => Err(self.unexpected()),
        }
    }

    /// Operands that begin with a reserved word.
    fn reserved_operand(&mut self, conditions: bool) -> P<Expr> {
        let start = self.peek().span;
        if self.at("CASE") {
            return self.nest(Self::case);
        }
        if self.at("CONVERT") || self.at("TRY_CONVERT") {
            return self.nest(Self::convert);
        }
        if conditions && self.eat("EXISTS") {
            let query = self.parenthesised_query()?;
            return Ok(self.node(ExprKind::Exists(query), start));
        }
        let call = self.peek_at(1).kind == Tok::LParen;
        if conditions && call && self.eat("UPDATE") {
            self.expect_tok(Tok::LParen)?;
            let column = self.ident()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(self.node(ExprKind::ColumnUpdated(column), start));
        }
        if conditions && call && self.at_any(&["CONTAINS", "FREETEXT"]) {
            let mut function = call_of(ObjectName::bare(self.take_ident()));
            self.nest(|p| p.full_text_arguments(&mut function))?;
            return Ok(self.node(ExprKind::FullText(Box::new(function)), start));
        }
        if call && self.at("IDENTITY") {
            self.bump();
            self.bump();
            let target = Box::new(self.type_name()?);
            let identity = match self.eat_tok(Tok::Comma) {
                true => self.seed_and_increment()?,
                false => {
                    Identity { seed: "1".into(), increment: "1".into(), not_for_replication: false }
                }
            };
            self.expect_tok(Tok::RParen)?;
            return Ok(
                self.node(ExprKind::Identity { target, identity: Box::new(identity) }, start)
            );
        }
        if call && self.at_any(RESERVED_FUNCTIONS) {
            let name = ObjectName::bare(self.take_ident());
            return self.call(name);
        }
        if self.at_any(NILADIC) {
            let mut function = call_of(ObjectName::bare(self.take_ident()));
            function.niladic = true;
            return Ok(self.node(ExprKind::Function(Box::new(function)), start));
        }
        if self.at_any(&["IDENTITYCOL", "ROWGUIDCOL"]) {
            let column = ColumnRef { qualifier: None, name: self.take_ident() };
            return Ok(self.node(ExprKind::Column(column), start));
        }
        Err(self.unexpected())
    }

    /// Operands that begin with an ordinary word: the functions with a syntax of their own, then
    /// names.
    fn word_operand(&mut self) -> P<Expr> {
        let start = self.peek().span;
        if self.at("MATCH") && self.peek_at(1).kind == Tok::LParen {
            return self.foreign_match();
        }
        if self.at_seq(&["NEXT", "VALUE", "FOR"]) {
            self.expect_seq(&["NEXT", "VALUE", "FOR"])?;
            let sequence = Box::new(self.object_name()?);
            let over =
                if self.at("OVER") { self.nest(Self::opt_over)?.map(Box::new) } else { None };
            return Ok(self.node(ExprKind::NextValueFor { sequence, over }, start));
        }
        if self.peek_at(1).kind == Tok::LParen {
            if self.at("CAST") || self.at("TRY_CAST") {
                return self.nest(Self::cast);
            }
            if self.at("PARSE") || self.at("TRY_PARSE") {
                return self.nest(Self::parse_function);
            }
            if self.at("IIF") {
                return self.nest(Self::iif);
            }
            if self.at("TRIM") {
                return self.nest(Self::trim);
            }
            if self.at("JSON_OBJECT") || self.at("JSON_ARRAY") {
                return self.nest(Self::json_constructor);
            }
        }
        self.named_operand()
    }

    /// A column, or a call of a function that may have a schema.
    fn named_operand(&mut self) -> P<Expr> {
        let start = self.peek().span;
        if self.eat_tok(Tok::DoubleColon) {
            let name = self.object_name()?;
            return self.call(name);
        }
        let mut name = self.object_name()?;
        if self.at_tok(Tok::DoubleColon) && self.is_ident(1) && name.database.is_none() {
            self.bump();
            let member = self.ident()?;
            let args = if self.at_tok(Tok::LParen) { Some(self.arguments()?) } else { None };
            return Ok(
                self.node(ExprKind::StaticMember { of_type: Box::new(name), member, args }, start)
            );
        }
        if self.at_tok(Tok::LParen) {
            return self.call(name);
        }
        if self.at_tok(Tok::Dot) && self.peek_at(1).kind == Tok::Reserved {
            for word in ["IDENTITYCOL", "ROWGUIDCOL"] {
                if self.at_word(1, word) {
                    self.bump();
                    let column = self.take_ident();
                    name = self.shift_name(name, Some(column))?;
                    break;
                }
            }
        }
        Ok(self.node(ExprKind::Column(column_of(name)), start))
    }

    /// `(a, b)` as arguments; `()` is none.
    pub(super) fn arguments(&mut self) -> P<Vec<Expr>> {
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::RParen) {
            return Ok(Vec::new());
        }
        let args = self.nest(|p| p.list(Self::scalar_or_default))?;
        self.expect_tok(Tok::RParen)?;
        Ok(args)
    }

    /// The call of `name`, from its parenthesis on.
    fn call(&mut self, name: ObjectName) -> P<Expr> {
        let start = name.span();
        let mut function = call_of(name);
        if function.name.schema.is_some() {
            function.prolog.clone_from(&self.prolog);
        }
        self.expect_tok(Tok::LParen)?;
        if self.at_tok(Tok::Star) && self.peek_at(1).kind == Tok::RParen {
            self.bump();
            function.star = true;
        } else if !self.at_tok(Tok::RParen) {
            function.distinct = self.eat("DISTINCT");
            if !function.distinct {
                self.eat("ALL");
            }
            function.args = self.nest(|p| p.list(Self::scalar_or_default))?;
        }
        self.expect_tok(Tok::RParen)?;
        self.call_tail(&mut function)?;
        Ok(self.node(ExprKind::Function(Box::new(function)), start))
    }

    /// What may stand after a call: the order of a group, NULLs, a window.
    fn call_tail(&mut self, function: &mut FunctionCall) -> P<()> {
        if self.at_seq(&["WITHIN", "GROUP"]) {
            self.expect_seq(&["WITHIN", "GROUP"])?;
            self.expect_tok(Tok::LParen)?;
            function.within_group = self.nest(Self::order_by)?;
            self.expect_tok(Tok::RParen)?;
        }
        function.ignore_nulls = self.eat_seq(&["IGNORE", "NULLS"]);
        if !function.ignore_nulls {
            self.eat_seq(&["RESPECT", "NULLS"]);
        }
        if self.at("OVER") {
            function.over = self.nest(Self::opt_over)?;
        }
        Ok(())
    }

    /// `CONTAINS(column | * | (a, b), 'text' [, LANGUAGE n])`: the columns become arguments before
    /// the text.
    fn full_text_arguments(&mut self, function: &mut FunctionCall) -> P<()> {
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::Star) {
            function.star = true;
        } else if self.eat_tok(Tok::LParen) {
            if self.eat_tok(Tok::Star) {
                function.star = true;
            } else {
                function.args = self.list(Self::scalar)?;
            }
            self.expect_tok(Tok::RParen)?;
        } else {
            function.args.push(self.scalar()?);
        }
        self.expect_tok(Tok::Comma)?;
        function.args.push(self.scalar()?);
        if self.eat_tok(Tok::Comma) {
            self.expect("LANGUAGE")?;
            function.args.push(self.scalar()?);
        }
        self.expect_tok(Tok::RParen).map(|_| ())
    }

    fn cast(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let or_null = self.at("TRY_CAST");
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let operand = self.boxed_scalar()?;
        self.expect("AS")?;
        let target = Box::new(self.type_name()?);
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(ExprKind::Cast { operand, target, or_null }, start))
    }

    fn convert(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let or_null = self.at("TRY_CONVERT");
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let target = Box::new(self.type_name()?);
        self.expect_tok(Tok::Comma)?;
        let operand = self.boxed_scalar()?;
        let style = if self.eat_tok(Tok::Comma) { Some(self.boxed_scalar()?) } else { None };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(ExprKind::Convert { target, operand, style, or_null }, start))
    }

    fn parse_function(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let or_null = self.at("TRY_PARSE");
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let operand = self.boxed_scalar()?;
        self.expect("AS")?;
        let target = Box::new(self.type_name()?);
        let culture = if self.eat("USING") { Some(self.boxed_scalar()?) } else { None };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(ExprKind::Parse { operand, target, culture, or_null }, start))
    }

    /// `IIF(condition, a, b)`.
    fn iif(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let mut function = call_of(ObjectName::bare(self.ident()?));
        self.expect_tok(Tok::LParen)?;
        function.args.push(self.condition()?);
        for _ in 0..2 {
            self.expect_tok(Tok::Comma)?;
            function.args.push(self.scalar()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(ExprKind::Function(Box::new(function)), start))
    }

    /// `TRIM([LEADING | TRAILING | BOTH] [c FROM] s)` becomes `LTRIM`, `RTRIM` or `TRIM` with `s[,
    /// c]`.
    fn trim(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let mut name = self.ident()?;
        self.expect_tok(Tok::LParen)?;
        if self.at_any(&["LEADING", "TRAILING", "BOTH"])
            && !self.one_of_ahead(&[Tok::RParen, Tok::Dot])
        {
            let side = self.upper_word()?;
            name.value = match side.as_str() {
                "LEADING" => "LTRIM".into(),
                "TRAILING" => "RTRIM".into(),
                _ => name.value,
            };
        }
        let mut function = call_of(ObjectName::bare(name));
        function.args.push(self.scalar()?);
        if self.eat("FROM") {
            function.args.insert(0, self.scalar()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(ExprKind::Function(Box::new(function)), start))
    }

    /// `JSON_OBJECT([name : value, ...] [NULL | ABSENT ON NULL])`: names and values are the
    /// arguments in turn; `JSON_ARRAY([value, ...])` has the same end. NULLs stay in an object and
    /// are left out of an array unless it says otherwise.
    fn json_constructor(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let object = self.at("JSON_OBJECT");
        let mut function = call_of(ObjectName::bare(self.ident()?));
        function.ignore_nulls = !object;
        self.expect_tok(Tok::LParen)?;
        while !self.at_tok(Tok::RParen)
            && !self.at_seq(&["NULL", "ON"])
            && !self.at_seq(&["ABSENT", "ON"])
        {
            if !function.args.is_empty() {
                self.expect_tok(Tok::Comma)?;
            }
            function.args.push(self.scalar()?);
            if object {
                self.expect_tok(Tok::Colon)?;
                function.args.push(self.scalar()?);
            }
        }
        if self.eat_seq(&["NULL", "ON", "NULL"]) {
            function.ignore_nulls = false;
        } else if self.eat_seq(&["ABSENT", "ON", "NULL"]) {
            function.ignore_nulls = true;
        }
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(ExprKind::Function(Box::new(function)), start))
    }

    fn one_of_ahead(&self, kinds: &[Tok]) -> bool {
        kinds.contains(&self.peek_at(1).kind)
    }

    // ---- windows ----

    /// `OVER w` or `OVER (...)`, when it is there.
    fn opt_over(&mut self) -> P<Option<Over>> {
        if !self.eat("OVER") {
            return Ok(None);
        }
        if self.at_ident() {
            let window = Some(self.ident()?);
            return Ok(Some(Over { window, ..Over::default() }));
        }
        self.window_spec().map(Some)
    }

    /// `([name] [PARTITION BY ...] [ORDER BY ...] [frame])`.
    pub(super) fn window_spec(&mut self) -> P<Over> {
        self.expect_tok(Tok::LParen)?;
        let mut over = Over::default();
        let keyword = self.at_seq(&["PARTITION", "BY"])
            || (self.at_any(&["ROWS", "RANGE"]) && self.peek_at(1).kind != Tok::RParen);
        if self.at_ident() && !keyword {
            over.window = Some(self.ident()?);
        }
        if self.eat_seq(&["PARTITION", "BY"]) {
            over.partition_by = self.list(Self::scalar)?;
        }
        if self.at("ORDER") {
            over.order_by = self.order_by()?;
        }
        if self.at_any(&["ROWS", "RANGE"]) {
            over.frame = Some(self.frame()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(over)
    }

    fn frame(&mut self) -> P<Frame> {
        let range = self.upper_word()? == "RANGE";
        if self.eat("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect("AND")?;
            return Ok(Frame { range, start, end: Some(self.frame_bound()?) });
        }
        Ok(Frame { range, start: self.frame_bound()?, end: None })
    }

    fn frame_bound(&mut self) -> P<FrameBound> {
        if self.eat_seq(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat("UNBOUNDED") {
            if self.eat("PRECEDING") {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect("FOLLOWING")?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let offset = Box::new(self.operand(false)?);
        if self.eat("PRECEDING") {
            return Ok(FrameBound::Preceding(offset));
        }
        self.expect("FOLLOWING")?;
        Ok(FrameBound::Following(offset))
    }

    /// `ORDER BY a, b DESC`.
    pub(super) fn order_by(&mut self) -> P<Vec<OrderItem>> {
        self.expect_seq(&["ORDER", "BY"])?;
        self.list(|p| {
            let expr = p.scalar()?;
            let descending = p.eat("DESC");
            if !descending {
                p.eat("ASC");
            }
            Ok(OrderItem { expr, descending })
        })
    }

    /// A column of one part or more, as a target of an assignment.
    pub(super) fn column(&mut self) -> P<ColumnRef> {
        Ok(column_of(self.object_name()?))
    }

    /// The last part of a column's dotted name, where the rest has no meaning.
    pub(super) fn last_ident(&mut self) -> P<Ident> {
        Ok(self.object_name()?.name)
    }
}
