//! The schema in which the names of a module's text are looked up. Guarantee: a name that says its
//! schema means that one; one that does not means the module's own schema before dbo.

use catalog::{Catalog, fold_name};
use compact_str::CompactString;
use syntax::ast;

/// The schema in which a module's text looks names up before `dbo`, if that is another one.
pub fn looked_up_first(schema: &str) -> Option<CompactString> {
    let folded = fold_name(schema);
    (!matches!(folded.as_str(), "" | "dbo" | "sys")).then_some(folded)
}

/// The schema that a name means: the one that it has; or `own`, that of the module whose text it
/// is, if it has such an object; or `dbo`.
pub fn schema_of<'n>(
    own: Option<&'n str>,
    catalog: &Catalog,
    name: &'n ast::ObjectName,
) -> &'n str {
    match (&name.schema, own) {
        (Some(schema), _) => &schema.value,
        (None, Some(own)) if name.database.is_none() && !catalog.is_free(own, &name.name.value) => {
            own
        }
        (None, _) => "dbo",
    }
}
