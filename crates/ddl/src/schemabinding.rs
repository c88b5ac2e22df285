//! SCHEMABINDING: what a module with it names can be neither dropped nor changed under it. Which
//! objects those are is read from its text each time it is asked for; nothing else keeps it.
//! Guarantee: a module with SCHEMABINDING names tables, views and functions by schema and name
//! only, so that its text tells.

use std::sync::Arc;

use catalog::other::OtherObject;
use catalog::policy::PolicyDef;
use catalog::{Catalog, ColumnDef, ModuleDef, TableDef, fold_name};
use compact_str::CompactString;
use syntax::lexer::{Tok, Tokens, tokenize};
use types::{SqlError, msg};

/// Words before the name of a table.
const BEFORE_TABLES: [&str; 5] = ["FROM", "JOIN", "APPLY", "UPDATE", "INTO"];

/// The text of a module as words.
struct Words<'t> {
    text: &'t str,
    tokens: Tokens,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Words<'t> {
        Words { text, tokens: tokenize(text) }
    }

    fn len(&self) -> usize {
        self.tokens.list.len()
    }

    fn kind(&self, at: usize) -> Option<Tok> {
        self.tokens.list.get(at).map(|token| token.kind)
    }

    fn raw(&self, at: usize) -> &'t str {
        self.tokens.list.get(at).map_or("", |token| token.span.text(self.text))
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.kind(at) != Some(Tok::Quoted) && self.raw(at).eq_ignore_ascii_case(word)
    }

    /// The name at a place, without its quotes, folded.
    fn name(&self, at: usize) -> Option<CompactString> {
        match self.kind(at)? {
            Tok::Word => Some(fold_name(self.raw(at))),
            Tok::Quoted => {
                let raw = self.raw(at);
                let inner = raw.get(1..raw.len().saturating_sub(1))?;
                Some(fold_name(&inner.replace("]]", "]").replace("\"\"", "\"")))
            }
            _ => None,
        }
    }

    /// Whether `schema.name` stands somewhere.
    fn mentions(&self, schema: &str, name: &str) -> bool {
        (0..self.len()).any(|at| {
            self.kind(at + 1) == Some(Tok::Dot)
                && self.name(at).is_some_and(|word| word == schema)
                && self.name(at + 2).is_some_and(|word| word == name)
        })
    }

    /// Names of common table expressions: `name [(...)] AS (`.
    fn is_cte(&self, name: &str) -> bool {
        (1..self.len()).any(|at| {
            (self.is(at - 1, "WITH") || self.kind(at - 1) == Some(Tok::Comma))
                && self.name(at).is_some_and(|word| word == name)
                && (self.is(at + 1, "AS") || self.kind(at + 1) == Some(Tok::LParen))
        })
    }
}

/// Checks the text of a module with SCHEMABINDING.
///
/// # Errors
/// 4512 a table without its schema, or of another database; 1054 `*`.
pub fn check(module: &ModuleDef) -> Result<(), SqlError> {
    if !module.has_option("SCHEMABINDING") {
        return Ok(());
    }
    let words = Words::of(&module.text);
    let invalid = |name: &str| {
        SqlError::of(
            msg::SCHEMA_BIND_INVALID_NAME,
            [&module.kind.word(), &module.full_name(), &name],
        )
    };
    for at in 0..words.len() {
        if BEFORE_TABLES.iter().any(|word| words.is(at, word))
            && let Some(name) = words.name(at + 1)
        {
            let qualified = words.kind(at + 2) == Some(Tok::Dot);
            let longer = qualified && words.kind(at + 4) == Some(Tok::Dot);
            // UPDATE may be that of an alias, and a built-in table function has no schema.
            let other = words.is(at, "UPDATE") || words.kind(at + 2) == Some(Tok::LParen);
            if longer || (!qualified && !other && !words.is_cte(&name)) {
                return Err(invalid(words.raw(at + 1)));
            }
        }
        let star = words.kind(at) == Some(Tok::Star);
        let before = at.checked_sub(1);
        let begins = before.is_some_and(|b| {
            ["SELECT", "DISTINCT", "ALL"].iter().any(|word| words.is(b, word))
                || matches!(words.kind(b), Some(Tok::Dot | Tok::Comma))
        });
        if star && begins {
            return Err(SqlError::of(msg::STAR_IN_SCHEMA_BOUND, []));
        }
    }
    let (schema, name) = (fold_name(&module.schema), fold_name(&module.name));
    // Its own name stands once, behind CREATE.
    let own = |at: usize| {
        words.kind(at + 1) == Some(Tok::Dot)
            && words.name(at).is_some_and(|word| word == schema)
            && words.name(at + 2).is_some_and(|word| word == name)
    };
    let behind = (0..words.len()).position(|at| words.is(at, "AS")).unwrap_or(0);
    if (behind..words.len()).any(own) {
        return Err(invalid(&module.full_name()));
    }
    Ok(())
}

/// The name of the module with SCHEMABINDING, of the security policy, of the table whose computed
/// column, or of the constraint that names an object.
pub fn bound_to(catalog: &Catalog, schema: &str, name: &str) -> Option<CompactString> {
    let (schema, name) = (fold_name(schema), fold_name(name));
    let schema = if schema.is_empty() { "dbo".into() } else { schema };
    let mut bound: Vec<_> =
        catalog.modules.values().filter(|m| m.has_option("SCHEMABINDING")).collect();
    bound.retain(|m| fold_name(&m.name) != name || fold_name(&m.schema) != schema);
    bound.retain(|m| Words::of(&m.text).mentions(&schema, &name));
    bound.sort_by_key(|m| m.object_id);
    let policy = || {
        let table = catalog.find(&schema, &name).map(|table| table.object_id);
        let table =
            table.or_else(|| catalog.find_module(&schema, &name).map(|view| view.object_id));
        let names = |policy: &&Arc<PolicyDef>| {
            policy.predicates.iter().any(|p| {
                Some(p.target) == table || (p.function.0 == schema && p.function.1 == name)
            })
        };
        bound_policies(catalog).find(names).map(|policy| policy.name.clone())
    };
    let module = bound.first().map(|module| module.name.clone());
    module.or_else(policy).or_else(|| table_bound_to(catalog, &schema, &name))
}

/// The table whose computed column calls a function, or the constraint that does: rows keep what it
/// gave.
fn table_bound_to(catalog: &Catalog, schema: &str, name: &str) -> Option<CompactString> {
    catalog.find_module(schema, name).filter(|module| module.kind.is_function())?;
    let calls = |text: &str| Words::of(text).mentions(schema, name);
    let mut tables: Vec<_> = catalog.by_id.values().collect();
    tables.sort_by_key(|table| table.object_id);
    tables.into_iter().find_map(|table| {
        let computed =
            |column: &ColumnDef| column.computed.as_ref().is_some_and(|c| calls(&c.text));
        if table.columns.iter().any(computed) {
            return Some(table.name.clone());
        }
        let default =
            table.columns.iter().filter_map(|c| c.default.as_ref()).find(|d| calls(&d.text));
        let check = table.checks.iter().find(|check| calls(&check.text));
        default
            .map(|default| default.name.clone())
            .or_else(|| check.map(|check| check.name.clone()))
    })
}

/// The policies that keep what they name as it is.
fn bound_policies(catalog: &Catalog) -> impl Iterator<Item = &Arc<PolicyDef>> {
    catalog.others.values().filter_map(|other| match other {
        OtherObject::Policy(policy) if policy.bound => Some(policy),
        _ => None,
    })
}

/// That an object is named by a module with SCHEMABINDING or a policy keeps it as it is. `what`:
/// DROP TABLE and similar statements.
///
/// # Errors
/// 3729.
pub fn check_free(catalog: &Catalog, what: &str, schema: &str, name: &str) -> Result<(), SqlError> {
    match bound_to(catalog, schema, name) {
        None => Ok(()),
        Some(by) => {
            let full =
                if schema.is_empty() { name.to_string() } else { format!("{schema}.{name}") };
            Err(SqlError::of(msg::REFERENCED_BY_OBJECT, [&what, &full, &by]))
        }
    }
}

/// The name of the module with SCHEMABINDING, or of the security policy, that names a column of a
/// table.
pub fn column_bound_to(catalog: &Catalog, table: &TableDef, column: &str) -> Option<CompactString> {
    let policy =
        bound_policies(catalog).find(|policy| policy.on(table.object_id).any(|p| p.names(column)));
    if let Some(policy) = policy {
        return Some(policy.name.clone());
    }
    let (schema, name, column) =
        (fold_name(&table.schema), fold_name(&table.name), fold_name(column));
    let names = |m: &&Arc<ModuleDef>| {
        m.has_option("SCHEMABINDING") && {
            let words = Words::of(&m.text);
            words.mentions(&schema, &name)
                && (0..words.len()).any(|at| words.name(at).is_some_and(|word| word == column))
        }
    };
    catalog.modules.values().filter(names).min_by_key(|m| m.object_id).map(|m| m.name.clone())
}
