//! CREATE and ALTER SECURITY POLICY.

use super::{P, Parser};
use crate::ast::{
    BlockOperation, PredicateCall, PredicateChange, PredicateVerb, SecurityPolicy, StmtKind,
};
use crate::lexer::Tok;

impl Parser<'_> {
    /// From the name on.
    pub(super) fn security_policy(&mut self, alter: bool) -> P<StmtKind> {
        let name = self.object_name()?;
        let mut changes = Vec::new();
        while let Some(verb) = self.predicate_verb(alter) {
            changes.push(self.predicate_change(verb)?);
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        let options = self.opt_with_options()?;
        let not_for_replication = self.eat_seq(&["NOT", "FOR", "REPLICATION"]);
        if changes.is_empty() && (!alter || (options.is_empty() && !not_for_replication)) {
            return Err(self.unexpected());
        }
        let policy = SecurityPolicy { alter, name, changes, options, not_for_replication };
        Ok(StmtKind::SecurityPolicy(Box::new(policy)))
    }

    fn predicate_verb(&mut self, alter: bool) -> Option<PredicateVerb> {
        if self.eat("ADD") {
            Some(PredicateVerb::Add)
        } else if alter && self.eat("ALTER") {
            Some(PredicateVerb::Alter)
        } else if alter && self.eat("DROP") {
            Some(PredicateVerb::Drop)
        } else {
            None
        }
    }

    fn predicate_change(&mut self, verb: PredicateVerb) -> P<PredicateChange> {
        let block = self.eat("BLOCK");
        if !block {
            self.eat("FILTER");
        }
        self.expect("PREDICATE")?;
        let call = if verb == PredicateVerb::Drop { None } else { Some(self.predicate_call()?) };
        self.expect("ON")?;
        let target = self.object_name()?;
        let operation = if block { self.block_operation()? } else { None };
        Ok(PredicateChange { verb, block, call, target, operation })
    }

    fn predicate_call(&mut self) -> P<PredicateCall> {
        let start = self.peek().span;
        let function = self.object_name()?;
        let behind = self.expect_tok(Tok::LParen)?.span;
        if !self.at_tok(Tok::RParen) {
            self.nest(|p| p.list(Self::scalar))?;
        }
        self.expect_tok(Tok::RParen)?;
        let whole = self.since(start);
        let args = self.text[behind.start as usize..whole.end as usize].to_owned();
        Ok(PredicateCall { function, args })
    }

    fn block_operation(&mut self) -> P<Option<BlockOperation>> {
        if self.eat("AFTER") {
            if self.eat("INSERT") {
                return Ok(Some(BlockOperation::AfterInsert));
            }
            self.expect("UPDATE")?;
            return Ok(Some(BlockOperation::AfterUpdate));
        }
        if self.eat("BEFORE") {
            if self.eat("DELETE") {
                return Ok(Some(BlockOperation::BeforeDelete));
            }
            self.expect("UPDATE")?;
            return Ok(Some(BlockOperation::BeforeUpdate));
        }
        Ok(None)
    }
}
