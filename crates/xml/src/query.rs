//! The text of a query becomes a tree. Guarantees: names are in their namespaces (2229 for prefixes
//! that nobody declared); functions exist and have the arguments they take; nesting is bounded.

mod calls;
mod clauses;
mod constructor;
mod steps;
mod types;

use std::borrow::Cow;

use compact_str::CompactString;
use messages as msg;

use crate::MAX_DEPTH;
use crate::error::{PLACE, QueryError};
use crate::eval::{Evaluation, QueryAnswer};
use crate::item::Atom;
use crate::pace::Pace;
use crate::path::{Arithmetic, Axis, Compare, Expr, PathStep, Test};
use crate::read::is_xml;
use crate::scan::Scan;
use crate::tree::{Document, NodeRef};

use types::{cast_of, casted};

/// What a query asks of its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum External {
    /// sql:variable("@name")
    Variable(String),
    /// sql:column("name")
    Column(String),
}

/// A compiled query.
#[derive(Clone, Debug)]
pub struct Query {
    expr: Expr,
    externals: Vec<External>,
    variables: usize,
}

impl Query {
    /// Compiles a text.
    ///
    /// # Errors
    /// 2209 and its kin; 6306 there is no query.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let text = checked(text)?;
        let mut parser = Parser::new(&text);
        parser.prolog()?;
        let expr = parser.sequence()?;
        parser.end()?;
        Ok(Query { expr, externals: parser.externals, variables: parser.variables })
    }

    /// Runs it over a document from a node on. `externals`: a value for each of
    /// [`Query::externals`], none for NULL.
    ///
    /// # Errors
    /// 40517 what is not there; a sequence where one item must be.
    pub fn run<'d>(
        &self,
        document: &'d Document,
        from: NodeRef,
        externals: &'d [Option<Atom>],
        pace: &'d Pace<'d>,
    ) -> Result<QueryAnswer<'d>, QueryError> {
        Evaluation::new(document, from, externals, self.variables, pace).answer(&self.expr)
    }

    /// What it asks of its surroundings, in the order of the values that a run is given.
    pub fn externals(&self) -> &[External] {
        &self.externals
    }

    /// Whether it may give more than one item.
    pub fn is_many(&self) -> bool {
        self.expr.is_many()
    }
}

/// A query's text with ends of lines as XML has them.
///
/// # Errors
/// 2333 a character that no document has.
pub(crate) fn checked(text: &str) -> Result<Cow<'_, str>, QueryError> {
    if let Some(c) = text.chars().find(|c| !is_xml(*c)) {
        return Err(QueryError::of(
            msg::XQUERY_SOURCE_CHARACTER,
            [&PLACE, &format_args!("{:02x}", u32::from(c))],
        ));
    }
    if !text.contains('\r') {
        return Ok(text.into());
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n").into())
}

pub(crate) struct Parser<'t> {
    pub scan: Scan<'t>,
    /// Prefix, URI; the innermost last.
    pub spaces: Vec<(CompactString, CompactString)>,
    pub externals: Vec<External>,
    /// The first so many of them are what a change inserts, and stand for nothing else.
    pub inserted: usize,
    /// A section of character data may stand for a text, as in what a change inserts.
    pub cdata: bool,
    /// Variables in sight and their numbers.
    names: Vec<(String, usize)>,
    pub variables: usize,
    depth: usize,
    /// Predicates around what is read.
    predicates: usize,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str) -> Parser<'t> {
        let known = [
            ("xml", crate::read::XML),
            ("xs", "http://www.w3.org/2001/XMLSchema"),
            ("xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("fn", "http://www.w3.org/2004/07/xpath-functions"),
            ("xdt", "http://www.w3.org/2004/07/xpath-datatypes"),
            ("sql", "urn:schemas-microsoft-com:xml-sql"),
        ];
        Parser {
            scan: Scan::new(text),
            spaces: known.iter().map(|(prefix, uri)| ((*prefix).into(), (*uri).into())).collect(),
            externals: Vec::new(),
            inserted: 0,
            cdata: false,
            names: Vec::new(),
            variables: 0,
            depth: 0,
            predicates: 0,
        }
    }

    /// The end of the text. Error: 2209.
    pub fn end(&mut self) -> Result<(), QueryError> {
        if self.scan.is_end() { Ok(()) } else { Err(self.scan.syntax()) }
    }

    /// Declarations of namespaces. Error: 6306 nothing stands behind them.
    pub fn prolog(&mut self) -> Result<(), QueryError> {
        loop {
            if self.scan.eat_words(&["declare", "namespace"]) {
                let Some(("", prefix)) = self.scan.name() else { return Err(self.scan.syntax()) };
                self.scan.expect("=")?;
                let uri = self.literal()?;
                self.spaces.push((prefix.into(), uri.into()));
            } else if self.scan.eat_words(&["declare", "default", "element", "namespace"]) {
                let uri = self.literal()?;
                self.spaces.push((CompactString::default(), uri.into()));
            } else if self.scan.is_end() {
                return Err(QueryError::of(msg::XML_QUERY_EMPTY, []));
            } else {
                return Ok(());
            }
            self.scan.expect(";")?;
        }
    }

    fn literal(&mut self) -> Result<String, QueryError> {
        match self.scan.string()? {
            Some(text) => Ok(text),
            None => Err(QueryError::of(msg::XQUERY_STRING_EXPECTED, [&PLACE])),
        }
    }

    /// The namespace of a prefix; the empty one's is that of elements. Error: 2229.
    pub fn space(&self, prefix: &str) -> Result<CompactString, QueryError> {
        match self.spaces.iter().rev().find(|space| space.0 == prefix) {
            Some(space) => Ok(space.1.clone()),
            None if prefix.is_empty() => Ok(CompactString::default()),
            None => Err(QueryError::of(msg::XQUERY_NAMESPACE_UNKNOWN, [&PLACE, &prefix])),
        }
    }

    pub fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        if self.depth >= MAX_DEPTH {
            return Err(QueryError::unsupported("An XQuery so deeply nested"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// `a, b, c`
    pub fn sequence(&mut self) -> Result<Expr, QueryError> {
        let first = self.single()?;
        if !self.scan.at(",") {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.scan.eat(",") {
            list.push(self.single()?);
        }
        Ok(Expr::Sequence(list))
    }

    pub fn single(&mut self) -> Result<Expr, QueryError> {
        self.nested(|p| {
            let start = p.scan.at;
            let word = p.scan.name().map(|(_, word)| word);
            let next = {
                p.scan.space();
                p.scan.peek()
            };
            p.scan.at = start;
            match (word, next) {
                (Some("for" | "let"), Some('$')) => p.flwor(),
                (Some(word @ ("some" | "every")), Some('$')) => p.quantified(word == "every"),
                (Some("if"), Some('(')) => p.conditional(),
                (Some("typeswitch"), Some('(')) => Err(QueryError::not_spoken("typeswitch")),
                (Some(word @ ("validate" | "ordered" | "unordered")), Some('{')) => {
                    Err(QueryError::not_spoken(word))
                }
                _ => p.or(),
            }
        })
    }

    fn or(&mut self) -> Result<Expr, QueryError> {
        let mut list = vec![self.and()?];
        while self.scan.eat_word("or") {
            list.push(self.and()?);
        }
        Ok(if list.len() > 1 { Expr::Or(list) } else { list.remove(0) })
    }

    fn and(&mut self) -> Result<Expr, QueryError> {
        let mut list = vec![self.comparison()?];
        while self.scan.eat_word("and") {
            list.push(self.comparison()?);
        }
        Ok(if list.len() > 1 { Expr::And(list) } else { list.remove(0) })
    }

    fn comparison(&mut self) -> Result<Expr, QueryError> {
        use Compare as C;
        let left = self.additive()?;
        if self.scan.at_word("to") {
            return Err(QueryError::not_spoken("to"));
        }
        let signs = [
            ("!=", C::NotEqual),
            ("<<", C::Before),
            (">>", C::After),
            ("<=", C::LessEqual),
            (">=", C::GreaterEqual),
            ("=", C::Equal),
            ("<", C::Less),
            (">", C::Greater),
        ];
        let words = [
            ("eq", C::Equal),
            ("ne", C::NotEqual),
            ("lt", C::Less),
            ("le", C::LessEqual),
            ("gt", C::Greater),
            ("ge", C::GreaterEqual),
            ("is", C::Is),
        ];
        let sign = signs.iter().find(|(sign, _)| self.scan.eat(sign)).map(|(_, op)| *op);
        let op = sign
            .or_else(|| words.iter().find(|(word, _)| self.scan.eat_word(word)).map(|(_, op)| *op));
        match op {
            None => Ok(left),
            Some(op) => Ok(Expr::Compare(op, Box::new(left), Box::new(self.additive()?))),
        }
    }

    fn additive(&mut self) -> Result<Expr, QueryError> {
        let mut left = self.multiplicative()?;
        loop {
            let op = if self.scan.eat("+") {
                Arithmetic::Add
            } else if self.scan.eat("-") {
                Arithmetic::Subtract
            } else {
                return Ok(left);
            };
            left = Expr::Arithmetic(op, Box::new(left), Box::new(self.multiplicative()?));
            self.deepen()?;
        }
    }

    /// Chains of operators are trees as deep as they are long; so are those of clauses.
    fn deepen(&mut self) -> Result<(), QueryError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(QueryError::unsupported("An XQuery with so many operators"))
        } else {
            Ok(())
        }
    }

    fn multiplicative(&mut self) -> Result<Expr, QueryError> {
        let mut left = self.union()?;
        loop {
            let op = if self.scan.eat("*") {
                Arithmetic::Multiply
            } else if self.scan.eat_word("div") {
                Arithmetic::Divide
            } else if self.scan.eat_word("idiv") {
                Arithmetic::IntegerDivide
            } else if self.scan.eat_word("mod") {
                Arithmetic::Modulo
            } else {
                return Ok(left);
            };
            left = Expr::Arithmetic(op, Box::new(left), Box::new(self.union()?));
            self.deepen()?;
        }
    }

    fn union(&mut self) -> Result<Expr, QueryError> {
        let mut left = self.unary()?;
        while self.scan.eat("|") || self.scan.eat_word("union") {
            left = Expr::Union(Box::new(left), Box::new(self.unary()?));
            self.deepen()?;
        }
        if self.scan.eat_words(&["cast", "as"]) {
            let Some((prefix, local)) = self.scan.name() else { return Err(self.scan.syntax()) };
            self.scan.eat("?");
            return match cast_of(prefix, local) {
                Some(cast) => casted(cast, left),
                None => Err(QueryError::unsupported("This type in XQuery's cast")),
            };
        }
        let others: [(&[&str], &str); 5] = [
            (&["castable", "as"], "castable as"),
            (&["treat", "as"], "treat as"),
            (&["intersect"], "intersect"),
            (&["except"], "except"),
            (&["instance", "of"], "instance of"),
        ];
        match others.iter().find(|(words, _)| self.scan.eat_words(words)) {
            Some((_, "instance of")) => Err(QueryError::unsupported("XQuery's instance of")),
            Some((_, syntax)) => Err(QueryError::not_spoken(syntax)),
            None => Ok(left),
        }
    }

    fn unary(&mut self) -> Result<Expr, QueryError> {
        if self.scan.eat("-") {
            return self.nested(|p| Ok(Expr::Negate(Box::new(p.unary()?))));
        }
        self.scan.eat("+");
        self.path()
    }

    fn primary(&mut self) -> Result<Expr, QueryError> {
        if let Some(text) = self.scan.string()? {
            return Ok(Expr::Literal(Atom::Text(text)));
        }
        if let Some(n) = self.scan.number() {
            return Ok(Expr::Literal(Atom::Number(n)));
        }
        if self.scan.eat(".") {
            return Ok(Expr::Context);
        }
        if self.scan.eat("$") {
            let Some((_, name)) = self.scan.name() else { return Err(self.scan.syntax()) };
            let found = self.names.iter().rev().find(|(known, _)| known == name);
            let missing = || QueryError::of(msg::XQUERY_VARIABLE_NOT_FOUND, [&PLACE, &name]);
            return found.map(|(_, number)| Expr::Variable(*number)).ok_or_else(missing);
        }
        if self.scan.eat("(") {
            if self.scan.eat(")") {
                return Ok(Expr::Sequence(Vec::new()));
            }
            let inner = self.nested(Self::sequence)?;
            self.scan.expect(")")?;
            // One item in parentheses is itself, but a path goes on from all that it gives.
            return Ok(inner);
        }
        if self.scan.at("<") {
            return self.nested(|p| p.constructor());
        }
        if self.is_computed() {
            return self.computed();
        }
        let Some((prefix, local)) = self.scan.name() else { return Err(self.scan.syntax()) };
        if !self.scan.at("(") {
            return Err(self.scan.syntax());
        }
        self.call(prefix, local)
    }
}

fn anywhere() -> PathStep {
    PathStep::Axis { axis: Axis::DescendantOrSelf, test: Test::Any, predicates: Vec::new() }
}
