//! Plan guides at work: the hints of a statement of a batch are those of the guide that names both.
//! Guarantee: a batch that no guide names is as it was sent.

use catalog::other::{OtherObject, PlanGuideDef};
use catalog::{Catalog, errors};
use syntax::ast::{OptionItem, StmtKind};
use types::SqlError;

use super::program::{BatchParam, Program};

/// Gives the statements of a text the hints of the guides that are for them.
///
/// # Errors
/// Of hints that cannot be read, which no guide has.
pub(crate) fn apply(
    program: &mut Program,
    text: &str,
    params: &[BatchParam],
    catalog: &Catalog,
) -> Result<(), SqlError> {
    for other in catalog.others.values() {
        let OtherObject::PlanGuide(guide) = other else { continue };
        if guide.disabled || !is_for(guide, text, params) {
            continue;
        }
        let hints = hints(guide.hints.as_deref())?;
        for stmt in &mut program.stmts {
            if !is_same(stmt.span.text(text), &guide.statement) {
                continue;
            }
            if let Some(options) = options_of(&mut stmt.kind) {
                options.clone_from(&hints);
            }
        }
    }
    Ok(())
}

/// Whether two texts are one statement or batch: blanks around it do not count, nor does the
/// semicolon that ends it.
pub fn is_same(a: &str, b: &str) -> bool {
    bare(a) == bare(b)
}

/// A statement without what stands around it.
pub fn bare(text: &str) -> &str {
    text.trim().trim_end_matches(';').trim_end()
}

/// What `OPTION (...)` says; none takes the statement's own hints away.
///
/// # Errors
/// 102 and others of the parser: it is no list of hints.
pub fn hints(option: Option<&str>) -> Result<Vec<OptionItem>, SqlError> {
    let Some(option) = option else { return Ok(Vec::new()) };
    let stmts = syntax::parse(&format!("SELECT 1 {option}")).map_err(errors::syntax_error)?;
    let mut stmts = stmts.into_iter();
    match (stmts.next().map(|stmt| stmt.kind), stmts.next()) {
        (Some(StmtKind::Select(query)), None) if !query.options.is_empty() => Ok(query.options),
        _ => Err(errors::syntax_near("OPTION")),
    }
}

/// The hints of a statement that a guide may be for.
pub fn options_of(kind: &mut StmtKind) -> Option<&mut Vec<OptionItem>> {
    match kind {
        StmtKind::Select(query) => Some(&mut query.options),
        StmtKind::Insert(insert) => Some(&mut insert.options),
        StmtKind::Update(update) => Some(&mut update.options),
        StmtKind::Delete(delete) => Some(&mut delete.options),
        StmtKind::Merge(merge) => Some(&mut merge.options),
        _ => None,
    }
}

/// Whether a guide is for a batch of this text with these parameters.
fn is_for(guide: &PlanGuideDef, text: &str, params: &[BatchParam]) -> bool {
    let batch = guide.batch.as_ref().unwrap_or(&guide.statement);
    is_same(text, batch) && squeezed(guide.params.as_deref().unwrap_or("")) == declared(params)
}

/// The declarations of parameters as [`squeezed`] gives them.
fn declared(params: &[BatchParam]) -> String {
    let one = |(name, ty): &BatchParam| match ty {
        Some(ty) => format!("{name} {ty}"),
        // Of a table, which no guide names.
        None => format!("{name} table"),
    };
    squeezed(&params.iter().map(one).collect::<Vec<_>>().join(","))
}

/// Declarations in one case, without blanks and the signs before names.
fn squeezed(declarations: &str) -> String {
    let counts = |c: &char| !c.is_whitespace() && *c != '@';
    declarations.chars().filter(counts).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_one_option_clause() {
        assert_eq!(hints(None).map(|hints| hints.len()), Ok(0));
        assert_eq!(hints(Some("OPTION (MAXDOP 1, RECOMPILE)")).map(|hints| hints.len()), Ok(2));
        for wrong in ["", "MAXDOP 1", "OPTION (", "; SELECT 2 OPTION (RECOMPILE)", "FROM t"] {
            assert!(hints(Some(wrong)).is_err(), "{wrong}");
        }
        assert!(is_same(" SELECT 1 ; ", "SELECT 1"));
        assert!(!is_same("SELECT 1", "select 1"));
        assert_eq!(squeezed("@a  INT,\n@b decimal (9, 2)"), "aint,bdecimal(9,2)");
    }
}
