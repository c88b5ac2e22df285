//! Security policies as the catalog keeps them: predicates on tables, each the call of an inline
//! table function. Guarantee: `load` of what `text` wrote gives the same definition; of the
//! policies that are on, one alone is about a table.

use std::fmt::Write as _;

use compact_str::CompactString;
use syntax::ast::{BlockOperation, Expr, StmtKind};
use types::Value;

use crate::fold_name;
use crate::object_head::Head;

/// A security policy.
#[derive(Clone, Debug)]
pub struct PolicyDef {
    pub object_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    /// STATE = ON.
    pub enabled: bool,
    /// SCHEMABINDING = ON: what it names stays as it is, and callers need no right to it.
    pub bound: bool,
    pub not_for_replication: bool,
    /// In the order of their numbers.
    pub predicates: Vec<PredicateDef>,
    pub create_date: Value,
    pub modify_date: Value,
}

/// What a predicate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredicateKind {
    /// Rows that it does not let through are not read.
    Filter,
    /// Rows that it does not let through are not written; of one operation or of each.
    Block(Option<BlockOperation>),
}

/// A predicate of a policy.
#[derive(Clone, Debug)]
pub struct PredicateDef {
    /// security_predicate_id.
    pub id: i32,
    /// object_id of the table.
    pub target: i32,
    pub kind: PredicateKind,
    /// `[schema].[function](arguments)`.
    pub call: String,
    /// EXISTS over the call.
    pub condition: Expr,
    /// Schema and name of the function, folded.
    pub function: (CompactString, CompactString),
}

const OPERATIONS: [BlockOperation; 4] = [
    BlockOperation::AfterInsert,
    BlockOperation::AfterUpdate,
    BlockOperation::BeforeUpdate,
    BlockOperation::BeforeDelete,
];

impl PredicateKind {
    /// sys.security_predicates.operation: 1 to 4, 0 for none.
    pub fn operation(self) -> usize {
        match self {
            PredicateKind::Block(Some(operation)) => {
                OPERATIONS.iter().position(|known| *known == operation).map_or(0, |at| at + 1)
            }
            PredicateKind::Filter | PredicateKind::Block(None) => 0,
        }
    }

    /// Its number in the text.
    fn code(self) -> usize {
        if self == PredicateKind::Filter { 0 } else { 1 + self.operation() }
    }

    fn of_code(code: usize) -> Option<PredicateKind> {
        match code {
            0 => Some(PredicateKind::Filter),
            1 => Some(PredicateKind::Block(None)),
            code => {
                OPERATIONS.get(code - 2).map(|operation| PredicateKind::Block(Some(*operation)))
            }
        }
    }

    /// As messages and sys.security_predicates.predicate_type_desc call it.
    pub fn word(self) -> &'static str {
        if self == PredicateKind::Filter { "FILTER" } else { "BLOCK" }
    }

    /// Whether it is about an operation.
    pub fn blocks(self, operation: BlockOperation) -> bool {
        match self {
            PredicateKind::Filter => false,
            PredicateKind::Block(of) => of.is_none_or(|of| of == operation),
        }
    }

    /// Whether both are about one operation.
    pub fn meets(self, other: PredicateKind) -> bool {
        match (self, other) {
            (PredicateKind::Filter, PredicateKind::Filter) => true,
            (PredicateKind::Block(a), PredicateKind::Block(b)) => {
                a.is_none() || b.is_none() || a == b
            }
            _ => false,
        }
    }
}

impl PredicateDef {
    /// From the text of its call; `None` when it is none.
    pub fn new(id: i32, target: i32, kind: PredicateKind, call: String) -> Option<PredicateDef> {
        let text = format!("SELECT 1 AS x WHERE EXISTS (SELECT * FROM {call} AS p)");
        let StmtKind::Select(query) = syntax::parse(&text).ok()?.into_iter().next()?.kind else {
            return None;
        };
        let select = query.body.first_select();
        let condition = select.filter.clone()?;
        let syntax::ast::ExprKind::Exists(inner) = &condition.kind else { return None };
        let syntax::ast::TableRefKind::Function { name, .. } =
            &inner.body.first_select().from.first()?.kind
        else {
            return None;
        };
        let schema = name.schema.as_ref().map_or("dbo", |s| s.value.as_str());
        let function = (fold_name(schema), fold_name(&name.name.value));
        Some(PredicateDef { id, target, kind, call, condition, function })
    }

    /// The arguments' text.
    fn args(&self) -> &str {
        // The function's name is quoted and may have a parenthesis.
        let tokens = syntax::lexer::tokenize(&self.call);
        let open = tokens.list.iter().find(|token| token.kind == syntax::lexer::Tok::LParen);
        open.and_then(|token| self.call.get(token.span.start as usize..)).unwrap_or_default()
    }

    /// Whether its arguments name a column.
    pub fn names(&self, column: &str) -> bool {
        let (args, column) = (self.args(), fold_name(column));
        let tokens = syntax::lexer::tokenize(args);
        tokens.list.iter().any(|token| {
            let word = token.span.text(args);
            let inner = word.trim_start_matches(['[', '"']).trim_end_matches([']', '"']);
            fold_name(&inner.replace("]]", "]").replace("\"\"", "\"")) == column
        })
    }
}

impl PolicyDef {
    /// The tables that it is about, each once for each predicate.
    pub fn targets(&self) -> impl Iterator<Item = i32> + '_ {
        self.predicates.iter().map(|predicate| predicate.target)
    }

    /// Its predicates on a table.
    pub fn on(&self, target: i32) -> impl Iterator<Item = &PredicateDef> {
        self.predicates.iter().filter(move |predicate| predicate.target == target)
    }

    /// The text that its row keeps.
    pub fn text(&self) -> String {
        let flag = u8::from;
        let mut text = format!(
            "{} {} {}",
            flag(self.enabled),
            flag(self.bound),
            flag(self.not_for_replication)
        );
        for p in &self.predicates {
            let _ = write!(
                text,
                " {} {} {} {} {}",
                p.id,
                p.target,
                p.kind.code(),
                p.call.len(),
                p.call
            );
        }
        text
    }

    /// From that text.
    pub fn load(head: Head, text: &str) -> Option<PolicyDef> {
        let mut rest = text;
        let enabled = number(&mut rest)? == 1;
        let bound = number(&mut rest)? == 1;
        let not_for_replication = number(&mut rest)? == 1;
        let mut predicates = Vec::new();
        while !rest.is_empty() {
            let id = i32::try_from(number(&mut rest)?).ok()?;
            let target = i32::try_from(number(&mut rest)?).ok()?;
            let kind = PredicateKind::of_code(usize::try_from(number(&mut rest)?).ok()?)?;
            let length = usize::try_from(number(&mut rest)?).ok()?;
            let call = rest.get(..length)?.to_owned();
            rest = rest[length..].strip_prefix(' ').unwrap_or_default();
            predicates.push(PredicateDef::new(id, target, kind, call)?);
        }
        let Head { object_id, schema, name, create_date, modify_date } = head;
        Some(PolicyDef {
            object_id,
            schema,
            name,
            enabled,
            bound,
            not_for_replication,
            predicates,
            create_date,
            modify_date,
        })
    }
}

/// Takes a number and the blank behind it.
fn number(rest: &mut &str) -> Option<i64> {
    let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
    let number = word.parse().ok()?;
    *rest = behind;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_survive_their_text() {
        let calls = ["[dbo].[f](a)", "[s].[x ) y]([a b], N'1 2')", "[s].[g](a,\n b + 1)"];
        let predicates = calls.iter().enumerate().map(|(i, call)| {
            let kind = PredicateKind::of_code(2 * i).expect("a kind");
            PredicateDef::new(i as i32 + 1, 100 + i as i32, kind, (*call).to_owned())
                .expect("a call")
        });
        let head = Head {
            object_id: 7,
            schema: "dbo".into(),
            name: "p".into(),
            create_date: Value::Null,
            modify_date: Value::Null,
        };
        let policy = PolicyDef {
            enabled: true,
            bound: false,
            not_for_replication: true,
            predicates: predicates.collect(),
            ..PolicyDef::load(head.clone(), "0 0 0").expect("an empty one")
        };
        let again = PolicyDef::load(head.clone(), &policy.text()).expect("its text");
        assert_eq!(format!("{again:?}"), format!("{policy:?}"));
        assert!(again.predicates[1].names("A B") && !again.predicates[1].names("x"));
        assert_eq!(again.predicates[1].function, ("s".into(), "x ) y".into()));
        assert!(PolicyDef::load(head, "1 1 1 5").is_none());
    }
}
