//! Prepared statements that a session keeps under numbers (sp_prepare), and the parameter lists
//! that it has read lately. Guarantee: a number that was given back or never given finds nothing.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use catalog::TableTypeDef;
use compact_str::CompactString;
use types::{DataType, Value};

/// Parameter lists kept.
const LISTS: usize = 128;
/// Longest parameter list that is kept, in bytes.
const LONGEST: usize = 16 << 10;

/// A parameter of a text that sp_executesql or sp_prepare has.
#[derive(Clone, Debug)]
pub struct DeclaredParameter {
    /// With its `@`.
    pub name: CompactString,
    pub ty: DataType,
    pub default: Option<Value>,
    /// The type of a READONLY parameter, which is a table; `ty` means nothing then.
    pub table: Option<Arc<TableTypeDef>>,
}

/// A list such as `@a int, @b varchar(10) OUTPUT`.
#[derive(Debug, Default)]
pub struct DeclaredParameters {
    pub list: Vec<DeclaredParameter>,
    /// Names and types alone, as the cache of batches wants them; no type for a table.
    pub typed: Vec<(CompactString, Option<DataType>)>,
}

impl DeclaredParameters {
    /// The declarations of parameters in order.
    pub fn new(list: Vec<DeclaredParameter>) -> DeclaredParameters {
        let typed =
            list.iter().map(|p| (p.name.clone(), p.table.is_none().then_some(p.ty))).collect();
        DeclaredParameters { list, typed }
    }
}

/// The database and its schema version: a list may name an alias type.
pub type SchemaStamp = (i32, u64);

/// What a session has prepared.
#[derive(Default)]
pub struct Handles {
    last: i32,
    kept: BTreeMap<i32, Arc<dyn Any + Send + Sync>>,
    lists: HashMap<Box<str>, (SchemaStamp, Arc<DeclaredParameters>)>,
}

impl Handles {
    /// Keeps a statement and gives its number.
    pub fn add(&mut self, statement: Arc<dyn Any + Send + Sync>) -> i32 {
        // A number that is in use after two billion others is passed over.
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.kept.contains_key(&self.last) {
                self.kept.insert(self.last, statement);
                return self.last;
            }
        }
    }

    /// The statement of a number.
    pub fn get<T: Any + Send + Sync>(&self, number: i32) -> Option<Arc<T>> {
        let kept = self.kept.get(&number).filter(|kept| (***kept).is::<T>())?;
        kept.clone().downcast().ok()
    }

    /// Gives a number back; false when it is none.
    pub fn remove(&mut self, number: i32) -> bool {
        self.kept.remove(&number).is_some()
    }

    /// Statements kept.
    pub fn count(&self) -> usize {
        self.kept.len()
    }

    /// The parameters of a list that was read lately.
    pub fn known(&self, text: &str, version: SchemaStamp) -> Option<Arc<DeclaredParameters>> {
        let (of, list) = self.lists.get(text)?;
        (*of == version).then(|| list.clone())
    }

    /// The parameters of a list that has been read now, for the next time.
    pub fn keep_list(
        &mut self,
        text: &str,
        version: SchemaStamp,
        list: DeclaredParameters,
    ) -> Arc<DeclaredParameters> {
        let list = Arc::new(list);
        if text.len() <= LONGEST {
            if self.lists.len() >= LISTS {
                self.lists.clear();
            }
            self.lists.insert(text.into(), (version, list.clone()));
        }
        list
    }
}
