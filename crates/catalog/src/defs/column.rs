//! Columns of tables.

use crate::temporal::Generated;
use compact_str::CompactString;
use std::sync::Arc;
use types::{Collation, DataType};

/// A column of a table.
#[derive(Clone, Debug)]
pub struct ColumnDef {
    /// sys.columns.column_id, from 1; never reused within a table.
    pub column_id: i32,
    /// Name as written at creation.
    pub name: CompactString,
    /// Declared type.
    pub ty: DataType,
    /// NULL allowed.
    pub nullable: bool,
    /// Collation of character columns.
    pub collation: Collation,
    /// DEFAULT constraint.
    pub default: Option<DefaultDef>,
    /// IDENTITY(seed, increment).
    pub identity: Option<(i64, i64)>,
    /// Of a computed column: what it is.
    pub computed: Option<Arc<ComputedDef>>,
    /// Of a column of the table's period: which.
    pub generated: Option<Generated>,
    /// user_type_id of the alias type that it was declared with.
    pub alias: Option<i32>,
    /// What stands for its values where who reads them may not see them: as
    /// sys.masked_columns.masking_function shows it.
    pub mask: Option<CompactString>,
    /// What else is said of it.
    pub traits: ColumnTraits,
}

#[cfg(test)]
impl ColumnDef {
    /// A column that may be NULL.
    pub(crate) fn of_type(column_id: i32, ty: DataType) -> ColumnDef {
        ColumnDef {
            column_id,
            name: format!("c{column_id}").into(),
            ty,
            nullable: true,
            collation: Collation::DEFAULT,
            default: None,
            identity: None,
            computed: None,
            generated: None,
            alias: None,
            mask: None,
            traits: ColumnTraits::default(),
        }
    }
}

/// What is kept of a column for who asks; of these `$ROWGUID` alone is looked at here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnTraits {
    /// ROWGUIDCOL.
    pub rowguid: bool,
    /// SPARSE.
    pub sparse: bool,
    /// IDENTITY ... NOT FOR REPLICATION.
    pub not_for_replication: bool,
}

impl ColumnTraits {
    /// As the column's row keeps them.
    pub fn bits(self) -> i32 {
        let ColumnTraits { rowguid, sparse, not_for_replication } = self;
        i32::from(rowguid) | (i32::from(sparse) << 1) | (i32::from(not_for_replication) << 2)
    }

    /// Those of bits.
    pub fn of_bits(bits: i32) -> ColumnTraits {
        let has = |bit: i32| bits & bit != 0;
        ColumnTraits { rowguid: has(1), sparse: has(2), not_for_replication: has(4) }
    }
}

impl ColumnDef {
    /// sys.columns.user_type_id.
    pub fn user_type_id(&self) -> i32 {
        self.alias.unwrap_or_else(|| self.ty.user_type_id())
    }

    /// Whether it is a computed column whose value no row has: it is computed where it is named.
    pub fn is_virtual(&self) -> bool {
        self.computed.as_ref().is_some_and(|computed| !computed.stored)
    }

    /// Whether the table makes the value of each row itself: computed columns, rowversion, its
    /// period. Loads have none for them.
    pub fn is_made(&self) -> bool {
        self.computed.is_some() || self.generated.is_some() || self.ty == DataType::RowVersion
    }

    /// Whether `*` passes over it.
    pub fn is_hidden(&self) -> bool {
        self.generated.is_some_and(|generated| generated.hidden)
    }
}

/// What a computed column is.
#[derive(Clone, Debug)]
pub struct ComputedDef {
    /// In parentheses, as sys.computed_columns.definition shows it.
    pub text: CompactString,
    /// The parsed expression, over the other columns of its table.
    pub expr: Arc<syntax::ast::Expr>,
    /// PERSISTED.
    pub persisted: bool,
    /// The rows have its values: it is persisted, or an index needs them.
    pub stored: bool,
}

/// A DEFAULT constraint: its text is parsed again when the catalog is loaded.
#[derive(Clone, Debug)]
pub struct DefaultDef {
    /// object_id of the constraint.
    pub object_id: i32,
    /// Constraint name.
    pub name: CompactString,
    /// The expression's text, as in sys.default_constraints.definition.
    pub text: CompactString,
    /// The parsed expression.
    pub expr: Arc<syntax::ast::Expr>,
}
