//! CREATE, ALTER and DROP of sequences and synonyms.

use std::sync::Arc;

use syntax::ast::{DropObjects, Expr, Literal, ObjectName, SequenceCache, SequenceDef as Written};
use types::{DataType, SqlError, Value, msg};

use super::{StmtCtx, database_of};
use catalog::other::{OtherObject, SequenceDef, SequenceOptions, SequenceState, SynonymDef};
use catalog::security::Class;
use catalog::{clock, errors};
use ddl::others;
use ddl::work::Work;
use instance::security::change::forget;

/// What DROP calls a kind, and whether an object is of it.
type Kind = (&'static str, fn(&OtherObject) -> bool);

/// DROP SEQUENCE.
pub(super) const SEQUENCE: Kind =
    ("sequence object", |object| matches!(object, OtherObject::Sequence(_)));
/// DROP SYNONYM.
pub(super) const SYNONYM: Kind = ("synonym", |object| matches!(object, OtherObject::Synonym(_)));

impl StmtCtx<'_> {
    pub(super) fn create_sequence(&mut self, stmt: &Written) -> Result<(), SqlError> {
        let db = self.no_database("CREATE/ALTER SEQUENCE", &stmt.name)?;
        let name = stmt.name.name.value.clone();
        let ty = match &stmt.data_type {
            Some(named) => ddl::table_def::data_type(named, &db.catalog())?,
            None => DataType::BigInt,
        };
        let (low, high) = bounds(ty, &name)?;
        let increment = self.whole(stmt.increment.as_ref())?.unwrap_or(1);
        let min = self.whole(stmt.min_value.as_ref().and_then(Option::as_ref))?.unwrap_or(low);
        let max = self.whole(stmt.max_value.as_ref().and_then(Option::as_ref))?.unwrap_or(high);
        let start = self.whole(stmt.start.as_ref())?;
        let start = start.unwrap_or(if increment < 0 { max } else { min });
        let cycle = stmt.cycle.unwrap_or(false);
        let cache = cache(stmt.cache.as_ref(), &name)?.unwrap_or(Some(0));
        let mut options = SequenceOptions {
            ty,
            start,
            first: start,
            increment,
            min,
            max,
            cycle,
            cache,
            counter: 0,
        };
        check(&options, &name, (low, high))?;
        let mut work = Work::begin(self.core, &db)?;
        let schema = work.schema(stmt.name.schema.as_ref().map_or("", |s| s.value.as_str()))?;
        let object_id = work.object_id()?;
        options.counter = object_id;
        let now = clock::now();
        let state = Arc::new(SequenceState::new(None));
        let (create_date, modify_date) = (now.clone(), now);
        let sequence =
            SequenceDef { object_id, schema, name, options, create_date, modify_date, state };
        others::create(&mut work, OtherObject::Sequence(Arc::new(sequence)))
    }

    pub(super) fn alter_sequence(&mut self, stmt: &Written) -> Result<(), SqlError> {
        let db = self.no_database("CREATE/ALTER SEQUENCE", &stmt.name)?;
        let schema = stmt.name.schema.as_ref().map_or("", |s| s.value.as_str());
        let found = db.catalog().find_other(schema, &stmt.name.name.value).cloned();
        let Some(OtherObject::Sequence(before)) = found else {
            return Err(errors::invalid_object(&stmt.name.to_string()));
        };
        let name = before.name.clone();
        let (low, high) = bounds(before.options.ty, &name)?;
        let mut options = before.options.clone();
        options.increment = self.whole(stmt.increment.as_ref())?.unwrap_or(options.increment);
        if let Some(min) = &stmt.min_value {
            options.min = self.whole(min.as_ref())?.unwrap_or(low);
        }
        if let Some(max) = &stmt.max_value {
            options.max = self.whole(max.as_ref())?.unwrap_or(high);
        }
        options.cycle = stmt.cycle.unwrap_or(options.cycle);
        options.cache = cache(stmt.cache.as_ref(), &name)?.unwrap_or(options.cache);
        if let Some(restart) = &stmt.restart {
            options.first = self.whole(restart.as_ref())?.unwrap_or(options.start);
        }
        check(&options, &name, (low, high))?;
        let mut work = Work::begin(self.core, &db)?;
        others::lock(&mut work, &OtherObject::Sequence(before.clone()))?;
        let last = before.state.last();
        let state = match &stmt.restart {
            Some(_) => {
                // A counter of its own: values are reserved outside of this transaction, which
                // holds the old one's row.
                options.counter = work.object_id()?;
                Arc::new(SequenceState::new(None))
            }
            None => {
                if let Some(last) = last.filter(|last| !(options.min..=options.max).contains(last))
                {
                    return Err(SqlError::of(msg::SEQUENCE_CURRENT_RANGE, [&last, &name]));
                }
                before.state.clone()
            }
        };
        let after = SequenceDef {
            object_id: before.object_id,
            schema: before.schema.clone(),
            name,
            options,
            create_date: before.create_date.clone(),
            modify_date: clock::now(),
            state,
        };
        let (before, after) =
            (OtherObject::Sequence(before), OtherObject::Sequence(Arc::new(after)));
        others::replace(&mut work, Some(before), Some(after))
    }

    pub(super) fn create_synonym(
        &mut self,
        name: &ObjectName,
        target: &ObjectName,
    ) -> Result<(), SqlError> {
        let db = self.no_database("CREATE SYNONYM", name)?;
        let mut work = Work::begin(self.core, &db)?;
        let schema = work.schema(name.schema.as_ref().map_or("", |s| s.value.as_str()))?;
        let synonym = SynonymDef {
            object_id: work.object_id()?,
            schema,
            name: name.name.value.clone(),
            base: target.clone(),
            create_date: clock::now(),
        };
        others::create(&mut work, OtherObject::Synonym(Arc::new(synonym)))
    }

    /// DROP SEQUENCE and DROP SYNONYM.
    pub(super) fn drop_others(
        &mut self,
        stmt: &DropObjects,
        (word, is): Kind,
    ) -> Result<(), SqlError> {
        for name in &stmt.names {
            let db = database_of(self.core, name)?;
            db.check_usable()?;
            let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
            let looked = self.core.looked();
            let found = db.catalog().find_other(schema, &name.name.value).cloned();
            if found.is_none() {
                self.settle_missing(name, looked)?;
            }
            match found {
                Some(object) if is(&object) => {
                    let object_id = object.object_id();
                    let mut work = Work::begin(self.core, &db)?;
                    others::drop_object(&mut work, object)?;
                    forget(work.core, &db, Class::Object, object_id)?;
                }
                _ if stmt.if_exists => {}
                _ => return Err(errors::cannot_drop(word, &name.to_string())),
            }
        }
        Ok(())
    }

    /// The current database: these are made in no other. Error: 166.
    pub(super) fn no_database(
        &self,
        what: &str,
        name: &ObjectName,
    ) -> Result<Arc<catalog::Db>, SqlError> {
        if name.database.is_some() {
            return Err(SqlError::of(msg::DATABASE_PREFIX_NOT_ALLOWED, [&what]));
        }
        Ok(self.core.db().clone())
    }

    /// A whole number, if one is written. Error: 8115.
    fn whole(&self, written: Option<&Expr>) -> Result<Option<i64>, SqlError> {
        let Some(written) = written else { return Ok(None) };
        let value = self.value(written)?;
        let ty = value.natural_type();
        let value = types::convert::convert(
            &value,
            ty,
            DataType::BigInt,
            0,
            types::convert::Mode::Implicit,
        )?;
        match value {
            Value::BigInt(n) => Ok(Some(n)),
            _ => Err(errors::syntax_near("NULL")),
        }
    }
}

/// The smallest and the largest value of a type. Error: 11702.
fn bounds(ty: DataType, name: &str) -> Result<(i64, i64), SqlError> {
    match ty {
        DataType::TinyInt => Ok((0, 255)),
        DataType::SmallInt => Ok((i16::MIN.into(), i16::MAX.into())),
        DataType::Int => Ok((i32::MIN.into(), i32::MAX.into())),
        DataType::BigInt => Ok((i64::MIN, i64::MAX)),
        DataType::Decimal { precision, scale: 0, .. } if precision <= 18 => {
            let most = 10_i64.pow(precision.into()) - 1;
            Ok((-most, most))
        }
        DataType::Decimal { scale: 0, .. } => {
            Err(errors::not_supported("a sequence of decimals with more than 18 digits"))
        }
        _ => Err(SqlError::of(msg::SEQUENCE_TYPE, [&name])),
    }
}

/// CACHE and NO CACHE. Error: 11706.
fn cache(written: Option<&SequenceCache>, name: &str) -> Result<Option<Option<u32>>, SqlError> {
    Ok(match written {
        None => None,
        Some(SequenceCache::None) => Some(None),
        Some(SequenceCache::Default) => Some(Some(0)),
        Some(SequenceCache::Size(Literal::Integer(n))) if *n > 0 => match u32::try_from(*n) {
            Ok(n) => Some(Some(n)),
            Err(_) => return Err(errors::syntax_near(&n.to_string())),
        },
        Some(SequenceCache::Size(_)) => {
            return Err(SqlError::of(msg::SEQUENCE_CACHE_SIZE, [&name]));
        }
    })
}

/// Errors: 11700, 11701, 11703, 11705; 8115-like 11705 for bounds beyond the type.
fn check(options: &SequenceOptions, name: &str, (low, high): (i64, i64)) -> Result<(), SqlError> {
    let (min, max) = (options.min, options.max);
    if options.increment == 0 {
        return Err(SqlError::of(msg::SEQUENCE_INCREMENT_ZERO, [&name]));
    }
    if min < low || max > high {
        let ty = options.ty;
        return Err(
            SqlError::of(msg::ARITHMETIC_OVERFLOW, [&"expression", &ty.base_name()]).state(2)
        );
    }
    if min >= max {
        return Err(SqlError::of(msg::SEQUENCE_MINIMUM, [&name]));
    }
    if u128::from(options.increment.unsigned_abs())
        > (i128::from(max) - i128::from(min)).unsigned_abs()
    {
        return Err(SqlError::of(msg::SEQUENCE_INCREMENT_TOO_LARGE, [&name]));
    }
    if !(min..=max).contains(&options.first) || !(min..=max).contains(&options.start) {
        return Err(SqlError::of(msg::SEQUENCE_START_RANGE, [&name]));
    }
    Ok(())
}
