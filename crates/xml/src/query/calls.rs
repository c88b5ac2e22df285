//! Calls of functions: those of the list, casts by the name of a type, and what a query asks of its
//! surroundings. Guarantee: a function exists and has the arguments that it takes.

use messages as msg;

use super::types::{cast_of, casted};
use super::{External, Parser};
use crate::error::{PLACE, QueryError};
use crate::eval::functions;
use crate::path::Expr;

/// SQL Server's functions over values whose types an XML schema gives: there are no schemas here.
const OF_SCHEMAS: &[&str] =
    &["id", "expanded-QName", "local-name-from-QName", "namespace-uri-from-QName"];

impl Parser<'_> {
    /// A call, from its parenthesis on.
    pub(super) fn call(&mut self, prefix: &str, local: &str) -> Result<Expr, QueryError> {
        self.scan.expect("(")?;
        if prefix == "sql" {
            let name = self.literal()?;
            self.scan.expect(")")?;
            let external = match local {
                "variable" => External::Variable(name),
                "column" => External::Column(name),
                _ => return Err(self.unknown_function(prefix, local)),
            };
            let known =
                self.externals.iter().skip(self.inserted).position(|known| *known == external);
            let number = known.map(|at| at + self.inserted).unwrap_or_else(|| {
                self.externals.push(external);
                self.externals.len() - 1
            });
            return Ok(Expr::External(number));
        }
        let mut args = Vec::new();
        if !self.scan.at(")") {
            loop {
                args.push(self.single()?);
                if !self.scan.eat(",") {
                    break;
                }
            }
        }
        if !self.scan.eat(")") {
            return Err(QueryError::of(msg::XQUERY_COMMA_EXPECTED, [&PLACE]));
        }
        if let ("xs" | "xdt", Some(cast), [_]) = (prefix, cast_of(prefix, local), &args[..]) {
            return casted(cast, args.remove(0));
        }
        let function = functions::find(local).filter(|_| matches!(prefix, "" | "fn"));
        let Some((function, takes)) = function else {
            return Err(self.unknown_function(prefix, local));
        };
        if args.len() < *takes.start() {
            return Err(QueryError::of(msg::XQUERY_TOO_FEW_ARGUMENTS, [&PLACE, &local]));
        }
        if args.len() > *takes.end() {
            return Err(QueryError::of(msg::XQUERY_TOO_MANY_ARGUMENTS, [&PLACE, &local]));
        }
        if matches!(local, "position" | "last") && self.predicates == 0 {
            return Err(QueryError::of(msg::XQUERY_OUTSIDE_PREDICATE, [&PLACE, &local]));
        }
        Ok(Expr::Call(function, args))
    }

    /// 2395; 40517 for [`OF_SCHEMAS`].
    fn unknown_function(&self, prefix: &str, local: &str) -> QueryError {
        if matches!(prefix, "" | "fn") && OF_SCHEMAS.contains(&local) {
            return QueryError::unsupported(&format!("The XQuery function {local}()"));
        }
        match self.space(if prefix.is_empty() { "fn" } else { prefix }) {
            Ok(uri) => QueryError::of(msg::XQUERY_FUNCTION_UNKNOWN, [&PLACE, &uri, &local]),
            Err(error) => error,
        }
    }
}
