//! Views, procedures, functions and triggers as the catalog keeps them: the text of their
//! statement, the settings it was made under, and what it parses to. Nothing runs here. Guarantee:
//! the text that is stored begins with CREATE, whatever the statement that made it; `load` of
//! `rows_of` gives the same definition.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use compact_str::CompactString;
use parking_lot::Mutex;
use syntax::ParseSettings;
use syntax::ast::{
    CreateFunction, CreateProcedure, CreateTrigger, CreateView, ExecuteAs, FunctionBody,
    OptionItem, SelectItem, Stmt, StmtKind, TriggerTarget,
};
use types::{SqlError, Value};

use crate::rows::{ObjectRow, damaged, text_rows};
use crate::store::StoreError;
use crate::systables::SysTable;

/// Words of the object's properties.
const QUOTED_OFF: &str = "quoted_identifier_off";
const NULLS_OFF: &str = "ansi_nulls_off";
const DISABLED: &str = "disabled";
const STARTUP: &str = "startup";
const SYSTEM: &str = "system";
/// Before the number of the principal as which a module runs.
const RUN_AS: &str = "execute_as=";
/// Before the actions for which a trigger is the first or the last.
const FIRST: &str = "first=";
const LAST: &str = "last=";

/// EXECUTE AS OWNER, as sys.sql_modules shows it.
pub const AS_OWNER: i32 = -2;

/// What kind of module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuleKind {
    View,
    Procedure,
    Trigger,
    /// A function that gives a value.
    ScalarFunction,
    /// A function that is one query.
    InlineFunction,
    /// A function that fills a table.
    TableFunction,
}

impl ModuleKind {
    /// All kinds.
    pub const ALL: [ModuleKind; 6] = [
        ModuleKind::View,
        ModuleKind::Procedure,
        ModuleKind::Trigger,
        ModuleKind::ScalarFunction,
        ModuleKind::InlineFunction,
        ModuleKind::TableFunction,
    ];

    /// Functions of every kind.
    pub const FUNCTIONS: [ModuleKind; 3] =
        [ModuleKind::ScalarFunction, ModuleKind::InlineFunction, ModuleKind::TableFunction];

    /// Whether it is a function.
    pub fn is_function(self) -> bool {
        ModuleKind::FUNCTIONS.contains(&self)
    }

    /// Whether it is a function that stands in FROM.
    pub fn is_table_function(self) -> bool {
        matches!(self, ModuleKind::InlineFunction | ModuleKind::TableFunction)
    }

    /// Of a function with this body.
    pub fn of_function(body: &FunctionBody) -> ModuleKind {
        match body {
            FunctionBody::Scalar { .. } => ModuleKind::ScalarFunction,
            FunctionBody::Inline(_) => ModuleKind::InlineFunction,
            FunctionBody::Table { .. } => ModuleKind::TableFunction,
        }
    }

    /// sys.objects.type.
    pub fn code(self) -> &'static str {
        match self {
            ModuleKind::View => "V ",
            ModuleKind::Procedure => "P ",
            ModuleKind::Trigger => "TR",
            ModuleKind::ScalarFunction => "FN",
            ModuleKind::InlineFunction => "IF",
            ModuleKind::TableFunction => "TF",
        }
    }

    /// sys.objects.type_desc.
    pub fn description(self) -> &'static str {
        match self {
            ModuleKind::View => "VIEW",
            ModuleKind::Procedure => "SQL_STORED_PROCEDURE",
            ModuleKind::Trigger => "SQL_TRIGGER",
            ModuleKind::ScalarFunction => "SQL_SCALAR_FUNCTION",
            ModuleKind::InlineFunction => "SQL_INLINE_TABLE_VALUED_FUNCTION",
            ModuleKind::TableFunction => "SQL_TABLE_VALUED_FUNCTION",
        }
    }

    /// As messages call it.
    pub fn word(self) -> &'static str {
        match self {
            ModuleKind::View => "view",
            ModuleKind::Procedure => "procedure",
            ModuleKind::Trigger => "trigger",
            ModuleKind::ScalarFunction | ModuleKind::InlineFunction | ModuleKind::TableFunction => {
                "function"
            }
        }
    }

    fn of(code: &str) -> Option<ModuleKind> {
        ModuleKind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// Settings that a module keeps from the session that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleSettings {
    pub quoted_identifier: bool,
    pub ansi_nulls: bool,
}

impl ModuleSettings {
    fn parse(self) -> ParseSettings {
        ParseSettings { quoted_identifier: self.quoted_identifier, parse_only: false }
    }
}

/// For which actions a trigger runs before or after all others of its table: a bit for each of
/// [`TriggerOrder::ACTIONS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggerOrder {
    pub first: u8,
    pub last: u8,
}

impl TriggerOrder {
    const ACTIONS: [&'static str; 3] = ["INSERT", "UPDATE", "DELETE"];

    /// The bit of an action; 0 for what is none.
    pub fn bit(action: &str) -> u8 {
        Self::ACTIONS
            .iter()
            .position(|known| known.eq_ignore_ascii_case(action))
            .map_or(0, |at| 1 << at)
    }

    /// What triggers are sorted by for an action.
    pub fn rank(self, action: &str) -> u8 {
        let bit = Self::bit(action);
        match (self.first & bit != 0, self.last & bit != 0) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        }
    }
}

/// A module.
pub struct ModuleDef {
    pub object_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    pub kind: ModuleKind,
    /// The table of a trigger, else 0.
    pub parent: i32,
    /// The statement that creates it, as sys.sql_modules.definition shows it. Spans of `stmt` point
    /// into it.
    pub text: Arc<str>,
    pub settings: ModuleSettings,
    /// DISABLE TRIGGER.
    pub disabled: bool,
    /// sp_procoption: it runs when the instance has started.
    pub startup: bool,
    /// sp_MS_marksystemobject: a procedure of master that takes its names from the database it is
    /// called in.
    pub marked_system: bool,
    /// EXECUTE AS: the principal_id as which it runs, [`AS_OWNER`], or none for the caller.
    pub run_as: Option<i32>,
    /// sp_settriggerorder.
    pub order: TriggerOrder,
    /// The columns that a view or inline function with `*` in its query had when it was made or
    /// refreshed last: those that it has, whatever `*` means by now.
    pub columns: Option<Arc<[CompactString]>>,
    pub create_date: Value,
    pub modify_date: Value,
    /// The parsed statement.
    pub stmt: StmtKind,
    /// The owner of the module, as it was found last.
    pub owner: SeenOwner,
    /// What is charged for the definition of a temporary procedure, as long as somebody has it.
    pub charged: Mutex<Option<Box<dyn std::any::Any + Send + Sync>>>,
}

/// The owner of a module as it was found at a version of the principals and permissions.
#[derive(Debug, Default)]
pub struct SeenOwner(AtomicU64);

impl SeenOwner {
    /// The owner, if it was found at this version.
    #[inline]
    pub fn at(&self, version: u64) -> Option<i32> {
        let seen = self.0.load(Relaxed);
        (seen != 0 && seen >> 32 == version).then_some(seen as u32 as i32)
    }

    /// It was found; a version that has no room in half a word is not kept.
    pub fn found(&self, version: u64, owner: i32) {
        if let Ok(version) = u32::try_from(version) {
            self.0.store(u64::from(version) << 32 | u64::from(owner as u32), Relaxed);
        }
    }
}

impl std::fmt::Debug for ModuleDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}.{}", self.kind.word(), self.schema, self.name)
    }
}

/// What of a definition differs between two modules of one text.
#[derive(Clone, Debug)]
pub struct ModuleHead {
    pub object_id: i32,
    pub schema: CompactString,
    pub name: CompactString,
    pub kind: ModuleKind,
    pub parent: i32,
    pub settings: ModuleSettings,
    pub disabled: bool,
    pub startup: bool,
    pub marked_system: bool,
    pub run_as: Option<i32>,
    pub order: TriggerOrder,
    pub columns: Option<Arc<[CompactString]>>,
    pub create_date: Value,
    pub modify_date: Value,
}

impl ModuleDef {
    /// A definition from its text.
    ///
    /// # Errors
    /// 102 and its kin when the text is no statement of that kind.
    pub fn new(head: ModuleHead, text: &str) -> Result<ModuleDef, SqlError> {
        let stmt = parse(text, head.kind, head.settings)?;
        Ok(ModuleDef {
            object_id: head.object_id,
            schema: head.schema,
            name: head.name,
            kind: head.kind,
            parent: head.parent,
            text: text.into(),
            settings: head.settings,
            disabled: head.disabled,
            startup: head.startup,
            marked_system: head.marked_system,
            run_as: head.run_as,
            order: head.order,
            columns: head.columns,
            create_date: head.create_date,
            modify_date: head.modify_date,
            stmt,
            owner: SeenOwner::default(),
            charged: Mutex::default(),
        })
    }

    /// Everything but the text.
    pub fn head(&self) -> ModuleHead {
        ModuleHead {
            object_id: self.object_id,
            schema: self.schema.clone(),
            name: self.name.clone(),
            kind: self.kind,
            parent: self.parent,
            settings: self.settings,
            disabled: self.disabled,
            startup: self.startup,
            marked_system: self.marked_system,
            run_as: self.run_as,
            order: self.order,
            columns: self.columns.clone(),
            create_date: self.create_date.clone(),
            modify_date: self.modify_date.clone(),
        }
    }

    /// Whether it is a temporary procedure.
    pub fn is_temporary(&self) -> bool {
        self.name.starts_with('#')
    }

    /// The name as messages say it: that of a temporary procedure is the one that it was given.
    pub fn shown_name(&self) -> &CompactString {
        match self.procedure() {
            Some(procedure) if self.is_temporary() => &procedure.name.name.value,
            _ => &self.name,
        }
    }

    /// `schema.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// The statement, if it is a view.
    pub fn view(&self) -> Option<&CreateView> {
        match &self.stmt {
            StmtKind::CreateView(view) => Some(view),
            _ => None,
        }
    }

    /// The statement, if it is a procedure.
    pub fn procedure(&self) -> Option<&CreateProcedure> {
        match &self.stmt {
            StmtKind::CreateProcedure(procedure) => Some(procedure),
            _ => None,
        }
    }

    /// The statement, if it is a trigger.
    pub fn trigger(&self) -> Option<&CreateTrigger> {
        match &self.stmt {
            StmtKind::CreateTrigger(trigger) => Some(trigger),
            _ => None,
        }
    }

    /// Whether it is a trigger of the database or of the server, not of a table or view.
    pub fn is_ddl_trigger(&self) -> bool {
        self.kind == ModuleKind::Trigger && self.parent == 0
    }

    /// Whether it is a trigger of the server, which master keeps.
    pub fn is_server_trigger(&self) -> bool {
        self.trigger().is_some_and(|trigger| trigger.on == TriggerTarget::Server)
    }

    /// The statement, if it is a function.
    pub fn function(&self) -> Option<&CreateFunction> {
        match &self.stmt {
            StmtKind::CreateFunction(function) => Some(function),
            _ => None,
        }
    }

    /// Whether it is an INSTEAD OF trigger for an event.
    pub fn stands_for(&self, event: &str) -> bool {
        self.trigger().is_some_and(|t| t.instead_of && t.events.iter().any(|e| e == event))
    }

    /// The statements of a procedure, trigger or function.
    pub fn body(&self) -> &[Stmt] {
        match &self.stmt {
            StmtKind::CreateProcedure(procedure) => &procedure.body,
            StmtKind::CreateTrigger(trigger) => &trigger.body,
            StmtKind::CreateFunction(function) => match &function.body {
                FunctionBody::Scalar { body, .. } | FunctionBody::Table { body, .. } => body,
                FunctionBody::Inline(_) => &[],
            },
            _ => &[],
        }
    }

    /// Whether `*` stands in the list of what a view or inline function selects.
    pub fn selects_all(&self) -> bool {
        let query = match &self.stmt {
            StmtKind::CreateView(view) => &view.query,
            StmtKind::CreateFunction(function) => match &function.body {
                FunctionBody::Inline(query) => query,
                FunctionBody::Scalar { .. } | FunctionBody::Table { .. } => return false,
            },
            _ => return false,
        };
        let items = &query.body.first_select().items;
        items.iter().any(|item| matches!(item, SelectItem::Wildcard { .. }))
    }

    /// What stands behind WITH.
    pub fn options(&self) -> &[OptionItem] {
        match &self.stmt {
            StmtKind::CreateView(view) => &view.options,
            StmtKind::CreateProcedure(procedure) => &procedure.options,
            StmtKind::CreateTrigger(trigger) => &trigger.options,
            StmtKind::CreateFunction(function) => &function.options,
            _ => &[],
        }
    }

    /// Whether an option stands behind WITH.
    pub fn has_option(&self, name: &str) -> bool {
        self.options().iter().any(|option| option.name == name)
    }

    /// WITH INLINE = OFF: a scalar function that is called, whatever it is.
    pub fn is_never_inline(&self) -> bool {
        self.options().iter().any(|option| option.name == "INLINE" && !option.is_on())
    }

    /// WITH EXECUTE AS.
    pub fn execute_as(&self) -> Option<&ExecuteAs> {
        match &self.stmt {
            StmtKind::CreateProcedure(procedure) => procedure.execute_as.as_ref(),
            StmtKind::CreateTrigger(trigger) => trigger.execute_as.as_ref(),
            StmtKind::CreateFunction(function) => function.execute_as.as_ref(),
            _ => None,
        }
    }

    /// A function that is not called when one of its arguments is NULL: it gives NULL.
    pub fn is_strict(&self) -> bool {
        self.has_option("RETURNS NULL ON NULL INPUT")
    }
}

fn parse(text: &str, kind: ModuleKind, settings: ModuleSettings) -> Result<StmtKind, SqlError> {
    let parsed = syntax::parse_with(text, settings.parse()).map_err(crate::errors::syntax_error)?;
    let stmt = parsed.stmts.into_iter().next().map(|stmt| stmt.kind);
    match (kind, stmt) {
        (ModuleKind::View, Some(stmt @ StmtKind::CreateView(_)))
        | (ModuleKind::Procedure, Some(stmt @ StmtKind::CreateProcedure(_)))
        | (ModuleKind::Trigger, Some(stmt @ StmtKind::CreateTrigger(_))) => Ok(stmt),
        (kind, Some(StmtKind::CreateFunction(function)))
            if kind == ModuleKind::of_function(&function.body) =>
        {
            Ok(StmtKind::CreateFunction(function))
        }
        _ => Err(SqlError::internal(format!(
            "the definition of a {} is something else",
            kind.word()
        ))),
    }
}

/// The text of CREATE, ALTER or CREATE OR ALTER with the verb CREATE.
pub fn as_create(text: &str) -> String {
    let tokens = syntax::lexer::tokenize(text).list;
    let word = |at: usize| tokens.get(at).map_or("", |token| token.span.text(text));
    let or_alter = word(1).eq_ignore_ascii_case("OR");
    if !or_alter && !word(0).eq_ignore_ascii_case("ALTER") {
        return text.to_string();
    }
    let (Some(verb), Some(last)) = (tokens.first(), tokens.get(if or_alter { 2 } else { 0 }))
    else {
        return text.to_string();
    };
    let (verb, last) = (verb.span, last.span);
    format!("{}CREATE{}", &text[..verb.start as usize], &text[last.end as usize..])
}

/// Names as one text, each in brackets.
fn names_text(names: &[CompactString]) -> String {
    names.iter().map(|name| format!("[{}]", name.replace(']', "]]"))).collect()
}

/// The names of such a text; nothing of another one.
fn names_in(text: &str) -> Option<Arc<[CompactString]>> {
    let mut names = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.strip_prefix('[')?;
        let mut name = CompactString::default();
        loop {
            let (part, behind) = rest.split_once(']')?;
            name.push_str(part);
            match behind.strip_prefix(']') {
                Some(behind) => {
                    name.push(']');
                    rest = behind;
                }
                None => {
                    rest = behind;
                    break;
                }
            }
        }
        names.push(name);
    }
    Some(names.into())
}

/// Rows of a module: the object, its text in parts, and under the negative object_id the columns
/// that it keeps.
pub fn rows_of(module: &ModuleDef, schema_id: i32) -> Vec<(SysTable, Vec<Value>)> {
    let flags = [
        (!module.settings.quoted_identifier, QUOTED_OFF),
        (!module.settings.ansi_nulls, NULLS_OFF),
        (module.disabled, DISABLED),
        (module.startup, STARTUP),
        (module.marked_system, SYSTEM),
    ];
    let mut words: Vec<String> =
        flags.iter().filter(|(set, _)| *set).map(|(_, word)| (*word).to_string()).collect();
    words.extend(module.run_as.map(|id| format!("{RUN_AS}{id}")));
    let orders = [(FIRST, module.order.first), (LAST, module.order.last)];
    words.extend(
        orders.iter().filter(|(_, bits)| *bits != 0).map(|(word, bits)| format!("{word}{bits}")),
    );
    let object = vec![
        Value::Int(module.object_id),
        Value::str(&module.name),
        Value::Int(schema_id),
        Value::str(module.kind.code()),
        Value::Int(module.parent),
        module.create_date.clone(),
        module.modify_date.clone(),
        Value::str(words.join(" ")),
    ];
    let mut rows = vec![(SysTable::Objects, object)];
    rows.extend(text_rows(module.object_id, &module.text));
    if let Some(columns) = &module.columns {
        rows.extend(text_rows(-module.object_id, &names_text(columns)));
    }
    rows
}

/// The module that an object is; `None` for an object of another kind.
pub(crate) fn load(
    object_id: i32,
    object: &ObjectRow,
    schema: CompactString,
    texts: &HashMap<i32, String>,
) -> Result<Option<ModuleDef>, StoreError> {
    let Some(kind) = ModuleKind::of(&object.kind) else { return Ok(None) };
    let words = object.text.as_deref().unwrap_or_default();
    let has = |word: &str| words.split(' ').any(|w| w == word);
    let bits =
        |word: &str| words.split(' ').find_map(|w| w.strip_prefix(word)?.parse().ok()).unwrap_or(0);
    let head = ModuleHead {
        object_id,
        schema,
        name: object.name.clone(),
        kind,
        parent: object.parent,
        settings: ModuleSettings {
            quoted_identifier: !has(QUOTED_OFF),
            ansi_nulls: !has(NULLS_OFF),
        },
        disabled: has(DISABLED),
        startup: has(STARTUP),
        marked_system: has(SYSTEM),
        run_as: words
            .split(' ')
            .find_map(|w| w.strip_prefix(RUN_AS))
            .and_then(|id| id.parse().ok()),
        order: TriggerOrder { first: bits(FIRST), last: bits(LAST) },
        columns: texts.get(&object_id.wrapping_neg()).and_then(|text| names_in(text)),
        create_date: object.create_date.clone(),
        modify_date: object.modify_date.clone(),
    };
    let text = texts.get(&object_id).ok_or_else(|| damaged("text", object_id))?;
    Ok(Some(ModuleDef::new(head, text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_their_text() {
        for names in [&["a", "b c", "d]e]]", "[x]", "", "]"][..], &[][..]] {
            let names: Vec<CompactString> = names.iter().map(|name| (*name).into()).collect();
            assert_eq!(names_in(&names_text(&names)).as_deref(), Some(&names[..]));
        }
        for other in ["a", "[a", "[a]b", "[a]]", "CREATE VIEW v AS SELECT 1 AS a"] {
            assert_eq!(names_in(other), None, "{other}");
        }
    }

    #[test]
    fn verbs_become_create() {
        assert_eq!(
            as_create("/* a */ alter  view v as select 1 a"),
            "/* a */ CREATE  view v as select 1 a"
        );
        assert_eq!(as_create("create or alter proc p as"), "CREATE proc p as");
        assert_eq!(as_create("Create proc p as"), "Create proc p as");
    }
}
