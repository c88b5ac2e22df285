//! Sequences, synonyms, security policies and plan guides as the catalog keeps them.
//! Guarantee: `load` of what `rows_of` wrote gives the same definition.

use std::fmt::Write as _;
use std::sync::Arc;

use compact_str::CompactString;
use parking_lot::Mutex;
use syntax::ast::ObjectName;
use types::{DataType, Value};

use crate::clock;
use crate::object_head::Head;
use crate::policy::PolicyDef;
use crate::systables::SysTable;
use crate::type_text::type_of_text;

/// Kinds of the rows in the objects' table, and sys.objects.type.
pub const SEQUENCE: &str = "SO";
pub const SYNONYM: &str = "SN";
pub const POLICY: &str = "SP";
pub const PLAN_GUIDE: &str = "PG";

/// Where a sequence stands.
#[derive(Debug)]
pub struct SequenceState(pub(crate) Mutex<SequencePlace>);

/// The last values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequencePlace {
    /// The value that was given last; none before the first.
    pub last: Option<i64>,
    /// Values from there to this one may be given without another reservation.
    pub reserved: Option<i64>,
}

impl SequenceState {
    /// Of a sequence that has reserved up to a value.
    pub fn new(reserved: Option<i64>) -> SequenceState {
        SequenceState(Mutex::new(SequencePlace { last: reserved, reserved }))
    }

    /// The value that was given last.
    pub fn last(&self) -> Option<i64> {
        self.0.lock().last
    }
}

/// What a sequence is besides where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceOptions {
    pub ty: DataType,
    /// START WITH of the statement that made it.
    pub start: i64,
    /// The first value since it was made or restarted.
    pub first: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
    /// Values reserved at a time; none for NO CACHE. `Some(0)` is CACHE without a number.
    pub cache: Option<u32>,
    /// Under which number its values are reserved: another one after a restart.
    pub counter: i32,
}

/// A sequence.
#[derive(Debug)]
pub struct SequenceDef {
    pub object_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    pub options: SequenceOptions,
    pub create_date: Value,
    pub modify_date: Value,
    /// Where it stands: the same for all definitions with one counter.
    pub state: Arc<SequenceState>,
}

/// A synonym.
#[derive(Debug)]
pub struct SynonymDef {
    pub object_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    /// What it stands for, as it was written.
    pub base: ObjectName,
    pub create_date: Value,
}

/// A plan guide: the hints that a statement of a batch runs with. It is of the database, which is
/// the schema sys here.
#[derive(Clone, Debug)]
pub struct PlanGuideDef {
    pub head: Head,
    pub disabled: bool,
    /// As it is written in the batch.
    pub statement: String,
    /// The batch's text; none: it is the statement alone.
    pub batch: Option<String>,
    /// The declarations of the batch's parameters.
    pub params: Option<String>,
    /// `OPTION (...)`; none: the statement has no hints, whatever it says itself.
    pub hints: Option<String>,
}

impl PlanGuideDef {
    /// The text that its row keeps: each part with its length before it.
    pub fn text(&self) -> String {
        let mut text = u8::from(self.disabled).to_string();
        let further = [&self.batch, &self.params, &self.hints];
        for part in std::iter::once(Some(&self.statement)).chain(further.map(Option::as_ref)) {
            let _ = match part {
                Some(part) => write!(text, " {} {part}", part.len()),
                None => write!(text, " -"),
            };
        }
        text
    }

    /// From that text.
    fn load(head: Head, text: &str) -> Option<PlanGuideDef> {
        let (disabled, mut rest) = text.split_at_checked(1)?;
        let mut part = || -> Option<Option<String>> {
            rest = rest.strip_prefix(' ')?;
            if let Some(after) = rest.strip_prefix('-') {
                rest = after;
                return Some(None);
            }
            let (length, after) = rest.split_once(' ')?;
            let (part, after) = after.split_at_checked(length.parse().ok()?)?;
            rest = after;
            Some(Some(part.to_owned()))
        };
        let (statement, batch, params, hints) = (part()??, part()?, part()?, part()?);
        Some(PlanGuideDef { head, disabled: disabled == "1", statement, batch, params, hints })
    }
}

/// An object that is neither a table nor a module.
#[derive(Clone, Debug)]
pub enum OtherObject {
    Sequence(Arc<SequenceDef>),
    Synonym(Arc<SynonymDef>),
    Policy(Arc<PolicyDef>),
    PlanGuide(Arc<PlanGuideDef>),
}

impl OtherObject {
    pub fn object_id(&self) -> i32 {
        match self {
            OtherObject::Sequence(s) => s.object_id,
            OtherObject::Synonym(s) => s.object_id,
            OtherObject::Policy(s) => s.object_id,
            OtherObject::PlanGuide(g) => g.head.object_id,
        }
    }

    pub fn schema(&self) -> &CompactString {
        match self {
            OtherObject::Sequence(s) => &s.schema,
            OtherObject::Synonym(s) => &s.schema,
            OtherObject::Policy(s) => &s.schema,
            OtherObject::PlanGuide(g) => &g.head.schema,
        }
    }

    pub fn name(&self) -> &CompactString {
        match self {
            OtherObject::Sequence(s) => &s.name,
            OtherObject::Synonym(s) => &s.name,
            OtherObject::Policy(s) => &s.name,
            OtherObject::PlanGuide(g) => &g.head.name,
        }
    }

    /// sys.objects.type.
    pub fn code(&self) -> &'static str {
        match self {
            OtherObject::Sequence(_) => SEQUENCE,
            OtherObject::Synonym(_) => SYNONYM,
            OtherObject::Policy(_) => POLICY,
            OtherObject::PlanGuide(_) => PLAN_GUIDE,
        }
    }

    /// sys.objects.type_desc.
    pub fn description(&self) -> &'static str {
        match self {
            OtherObject::Sequence(_) => "SEQUENCE_OBJECT",
            OtherObject::Synonym(_) => "SYNONYM",
            OtherObject::Policy(_) => "SECURITY_POLICY",
            OtherObject::PlanGuide(_) => "PLAN_GUIDE",
        }
    }

    /// As messages call it.
    pub fn word(&self) -> &'static str {
        match self {
            OtherObject::Sequence(_) => "sequence object",
            OtherObject::Synonym(_) => "synonym",
            OtherObject::Policy(_) => "security policy",
            OtherObject::PlanGuide(_) => "plan guide",
        }
    }

    pub fn create_date(&self) -> &Value {
        match self {
            OtherObject::Sequence(s) => &s.create_date,
            OtherObject::Synonym(s) => &s.create_date,
            OtherObject::Policy(s) => &s.create_date,
            OtherObject::PlanGuide(g) => &g.head.create_date,
        }
    }

    pub fn modify_date(&self) -> &Value {
        match self {
            OtherObject::Sequence(s) => &s.modify_date,
            OtherObject::Synonym(s) => &s.create_date,
            OtherObject::Policy(s) => &s.modify_date,
            OtherObject::PlanGuide(g) => &g.head.modify_date,
        }
    }

    /// Whether both are one definition.
    pub fn is(&self, other: &OtherObject) -> bool {
        match (self, other) {
            (OtherObject::Sequence(a), OtherObject::Sequence(b)) => Arc::ptr_eq(a, b),
            (OtherObject::Synonym(a), OtherObject::Synonym(b)) => Arc::ptr_eq(a, b),
            (OtherObject::Policy(a), OtherObject::Policy(b)) => Arc::ptr_eq(a, b),
            (OtherObject::PlanGuide(a), OtherObject::PlanGuide(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The same object by another name.
    pub fn named(&self, schema: &str, name: &str) -> OtherObject {
        let (schema, name) = (schema.into(), name.into());
        match self {
            OtherObject::Sequence(old) => OtherObject::Sequence(Arc::new(SequenceDef {
                object_id: old.object_id,
                schema,
                name,
                options: old.options.clone(),
                create_date: old.create_date.clone(),
                modify_date: clock::now(),
                state: old.state.clone(),
            })),
            OtherObject::Policy(old) => OtherObject::Policy(Arc::new(PolicyDef {
                schema,
                name,
                modify_date: clock::now(),
                ..PolicyDef::clone(old)
            })),
            OtherObject::Synonym(old) => OtherObject::Synonym(Arc::new(SynonymDef {
                object_id: old.object_id,
                schema,
                name,
                base: old.base.clone(),
                create_date: old.create_date.clone(),
            })),
            OtherObject::PlanGuide(old) => OtherObject::PlanGuide(Arc::new(PlanGuideDef {
                head: Head { schema, name, modify_date: clock::now(), ..old.head.clone() },
                ..PlanGuideDef::clone(old)
            })),
        }
    }

    /// The text that the row of the object keeps.
    fn text(&self) -> String {
        match self {
            OtherObject::Synonym(synonym) => base_text(&synonym.base),
            OtherObject::Policy(policy) => policy.text(),
            OtherObject::PlanGuide(guide) => guide.text(),
            OtherObject::Sequence(sequence) => {
                let o = &sequence.options;
                let mut text = format!(
                    "{} {} {} {} {} {} {} {}",
                    o.counter,
                    o.start,
                    o.first,
                    o.increment,
                    o.min,
                    o.max,
                    u8::from(o.cycle),
                    o.cache.map_or(-1, i64::from),
                );
                let _ = write!(text, " {}", o.ty);
                text
            }
        }
    }
}

/// The name that a synonym stands for, as sys.synonyms shows it.
pub fn base_text(base: &ObjectName) -> String {
    let parts = [&base.server, &base.database, &base.schema];
    let mut text = String::new();
    let first = parts.iter().position(|part| part.is_some()).unwrap_or(parts.len());
    for part in &parts[first..] {
        if let Some(part) = part {
            text.push_str(&crate::names::quote(&part.value));
        }
        text.push('.');
    }
    text.push_str(&crate::names::quote(&base.name.value));
    text
}

/// The row that keeps an object.
pub fn row_of(other: &OtherObject, schema_id: i32) -> (SysTable, Vec<Value>) {
    let row = vec![
        Value::Int(other.object_id()),
        Value::str(other.name()),
        Value::Int(schema_id),
        Value::str(other.code()),
        Value::Int(0),
        other.create_date().clone(),
        other.modify_date().clone(),
        Value::str(other.text()),
    ];
    (SysTable::Objects, row)
}

/// Whether objects of a kind are of those that are here.
pub(crate) fn is_kind(kind: &str) -> bool {
    [SYNONYM, SEQUENCE, POLICY, PLAN_GUIDE].contains(&kind)
}

/// The object whose row has this text; `None` when the text is none.
/// `reserved`: values up to which a counter has reserved.
pub fn load(
    head: Head,
    kind: &str,
    text: &str,
    reserved: impl Fn(i32) -> Option<i64>,
) -> Option<OtherObject> {
    let Head { object_id, schema, name, create_date, modify_date } = head;
    if kind == SYNONYM {
        let synonym = SynonymDef { object_id, schema, name, base: base_of(text)?, create_date };
        return Some(OtherObject::Synonym(Arc::new(synonym)));
    }
    if kind == POLICY || kind == PLAN_GUIDE {
        let head = Head { object_id, schema, name, create_date, modify_date };
        return Some(match kind {
            POLICY => OtherObject::Policy(Arc::new(PolicyDef::load(head, text)?)),
            _ => OtherObject::PlanGuide(Arc::new(PlanGuideDef::load(head, text)?)),
        });
    }
    let options = options_of(text)?;
    let state = Arc::new(SequenceState::new(reserved(options.counter)));
    let sequence =
        SequenceDef { object_id, schema, name, options, create_date, modify_date, state };
    Some(OtherObject::Sequence(Arc::new(sequence)))
}

fn options_of(text: &str) -> Option<SequenceOptions> {
    let mut parts = text.splitn(9, ' ');
    let mut number = || parts.next()?.parse::<i64>().ok();
    let counter = i32::try_from(number()?).ok()?;
    let (start, first, increment, min, max) =
        (number()?, number()?, number()?, number()?, number()?);
    let cycle = number()? == 1;
    let cache = number()?;
    let cache = if cache < 0 { None } else { Some(u32::try_from(cache).ok()?) };
    let ty = type_of_text(parts.next()?).ok()?;
    Some(SequenceOptions { ty, start, first, increment, min, max, cycle, cache, counter })
}

/// The name that [`base_text`] wrote.
fn base_of(text: &str) -> Option<ObjectName> {
    let stmts = syntax::parse(&format!("CREATE SYNONYM s FOR {text}")).ok()?;
    match stmts.into_iter().next()?.kind {
        syntax::ast::StmtKind::CreateSynonym { target, .. } => Some(target),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_survive_their_text() {
        let options = SequenceOptions {
            ty: DataType::decimal(10, 0),
            start: -5,
            first: 7,
            increment: -2,
            min: -100,
            max: i64::MAX,
            cycle: true,
            cache: None,
            counter: 12,
        };
        let sequence = SequenceDef {
            object_id: 3,
            schema: "dbo".into(),
            name: "s".into(),
            options: options.clone(),
            create_date: Value::Null,
            modify_date: Value::Null,
            state: Arc::new(SequenceState::new(None)),
        };
        let text = OtherObject::Sequence(Arc::new(sequence)).text();
        assert_eq!(options_of(&text), Some(options));
        assert_eq!(options_of("1 2 3"), None);
    }

    #[test]
    fn guides_survive_their_text() {
        let head = Head {
            object_id: 3,
            schema: "sys".into(),
            name: "g".into(),
            create_date: Value::Null,
            modify_date: Value::Null,
        };
        let guide = PlanGuideDef {
            head: head.clone(),
            disabled: true,
            statement: "SELECT 'ä - 3' FROM t".into(),
            batch: Some("DECLARE @x int; SELECT 'ä - 3' FROM t".into()),
            params: None,
            hints: Some(String::new()),
        };
        let text = guide.text();
        let read = PlanGuideDef::load(head.clone(), &text).expect("its text");
        assert_eq!((read.disabled, &read.statement), (true, &guide.statement));
        assert_eq!((&read.batch, &read.params), (&guide.batch, &guide.params));
        assert_eq!((read.hints.as_deref(), read.text()), (Some(""), text));
        for wrong in ["", "1", "1 9", "1 9 a", "1 - - - -", "0 1 aä - -", "0 99 a - - -"] {
            assert!(PlanGuideDef::load(head.clone(), wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn names_survive_their_text() {
        for text in ["[a]", "[dbo].[a]]b]", "[d]..[t]", "[x].[d].[s].[t]"] {
            assert_eq!(base_of(text).map(|base| base_text(&base)).as_deref(), Some(text));
        }
    }
}
