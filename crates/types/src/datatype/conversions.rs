//! Which types convert to which others, and how explicitly that must be asked for.

use super::{DataType, Len};

/// Whether one type converts to another, and how explicitly it must be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conversion {
    Implicit,
    ExplicitOnly,
    None,
}

/// SQL Server's conversion matrix.
pub fn conversion(from: DataType, to: DataType) -> Conversion {
    use Conversion::{ExplicitOnly, Implicit, None};
    use DataType as T;
    if from == DataType::Xml || to == DataType::Xml {
        return xml_conversion(from, to);
    }
    if from == DataType::HierarchyId || to == DataType::HierarchyId {
        return hierarchy_conversion(from, to);
    }
    if from.is_old_lob() || to.is_old_lob() {
        return old_lob_conversion(from, to);
    }
    if from.is_kind_of(to) {
        return Implicit;
    }
    match (from, to) {
        (f, T::SqlVariant) => {
            if f.is_lob() || f == T::RowVersion {
                None
            } else {
                Implicit
            }
        }
        (T::SqlVariant, _) => ExplicitOnly,
        (
            T::RowVersion,
            T::Date | T::Time(_) | T::DateTime2(_) | T::DateTimeOffset(_) | T::UniqueIdentifier,
        ) => None,
        (T::RowVersion, t) if t.is_unicode() => None,
        (T::UniqueIdentifier | T::Float | T::Real, T::RowVersion) => None,
        (f, T::RowVersion) if f.is_temporal() && !matches!(f, T::DateTime | T::SmallDateTime) => {
            None
        }
        (f, t) if f.is_string() => {
            if t.is_binary() {
                ExplicitOnly
            } else {
                Implicit
            }
        }
        (f, t) if f.is_binary() => match t {
            _ if t.is_string() || t.is_binary() => Implicit,
            T::Float | T::Real => None,
            T::Date | T::Time(_) | T::DateTime2(_) | T::DateTimeOffset(_) => ExplicitOnly,
            _ => Implicit,
        },
        (f, t) if f.is_number() => match t {
            _ if t.is_number() => Implicit,
            _ if t.is_string() => {
                if f.is_money() {
                    ExplicitOnly
                } else {
                    Implicit
                }
            }
            T::DateTime | T::SmallDateTime => Implicit,
            _ if t.is_binary() => {
                if matches!(f, T::Float | T::Real) {
                    ExplicitOnly
                } else {
                    Implicit
                }
            }
            _ => None,
        },
        (T::UniqueIdentifier, t) => {
            if t.is_string() || t.is_binary() {
                Implicit
            } else {
                None
            }
        }
        (f, t) if f.is_temporal() => temporal_conversion(f, t),
        _ => None,
    }
}

/// Strings and bytes become xml by themselves, xml becomes them when it is asked for.
fn xml_conversion(from: DataType, to: DataType) -> Conversion {
    let text = |ty: DataType| (ty.is_string() || ty.is_binary()) && ty != DataType::RowVersion;
    match (from, to) {
        (DataType::Xml, DataType::Xml) => Conversion::Implicit,
        (DataType::Xml, to) if text(to) && !to.is_old_lob() => Conversion::ExplicitOnly,
        (from, DataType::Xml) if text(from) && from != DataType::VarBinary(Len::Old) => {
            Conversion::Implicit
        }
        _ => Conversion::None,
    }
}

/// Strings and bytes become hierarchyid by themselves, hierarchyid becomes them when it is asked
/// for.
fn hierarchy_conversion(from: DataType, to: DataType) -> Conversion {
    let text = |ty: DataType| {
        (ty.is_string() || ty.is_binary()) && !ty.is_old_lob() && ty != DataType::RowVersion
    };
    match (from, to) {
        (DataType::HierarchyId, DataType::HierarchyId) => Conversion::Implicit,
        (DataType::HierarchyId, to) if text(to) => Conversion::ExplicitOnly,
        (from, DataType::HierarchyId) if text(from) => Conversion::Implicit,
        _ => Conversion::None,
    }
}

/// text and ntext are other strings, image other bytes; there is no way between them and anything
/// else.
fn old_lob_conversion(from: DataType, to: DataType) -> Conversion {
    let strings = from.is_string() && to.is_string();
    let bytes = from.is_binary() && to.is_binary();
    // Characters have always been put into image columns.
    let stored = from.is_string() && !from.is_unicode() && !from.is_old_lob() && to.is_binary();
    if strings || bytes || stored { Conversion::Implicit } else { Conversion::None }
}

fn temporal_conversion(from: DataType, to: DataType) -> Conversion {
    use Conversion::{ExplicitOnly, Implicit, None};
    use DataType as T;
    match (from, to) {
        (_, t) if t.is_string() => Implicit,
        (_, t) if t.is_binary() => ExplicitOnly,
        (T::Date, T::Time(_)) | (T::Time(_), T::Date) => None,
        (_, t) if t.is_temporal() => Implicit,
        (T::DateTime | T::SmallDateTime, t) if t.is_number() => ExplicitOnly,
        _ => None,
    }
}
