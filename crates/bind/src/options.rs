//! The OPTION clause: how a statement is planned, and for which values. Hints about plans change no
//! result; those that have no meaning here are accepted, what would change a result is refused;
//! misspelt ones are the parser's error 102, misspelt names within USE HINT are 10715.

use std::sync::Arc;
use syntax::ast::{OptionItem, OptionValue};
use types::{SqlError, Value, msg};

use crate::counters::UsedHints;
use crate::env::CompileEnv;
use crate::unsupported;
use catalog::errors;

/// Names of USE HINT, all about plans.
const NAMES: [&str; 33] = [
    "ALLOW_BATCH_MODE",
    "ASSUME_FIXED_MAX_SELECTIVITY_FOR_REGEXP",
    "ASSUME_FIXED_MIN_SELECTIVITY_FOR_REGEXP",
    "ASSUME_FULL_INDEPENDENCE_FOR_FILTER_ESTIMATES",
    "ASSUME_JOIN_PREDICATE_DEPENDS_ON_FILTERS",
    "ASSUME_MIN_SELECTIVITY_FOR_FILTER_ESTIMATES",
    "ASSUME_PARTIAL_CORRELATION_FOR_FILTER_ESTIMATES",
    "DISABLE_BATCH_MODE_ADAPTIVE_JOINS",
    "DISABLE_BATCH_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_CE_FEEDBACK",
    "DISABLE_DEFERRED_COMPILATION_TV",
    "DISABLE_DOP_FEEDBACK",
    "DISABLE_INTERLEAVED_EXECUTION_TVF",
    "DISABLE_MEMORY_GRANT_FEEDBACK_PERSISTENCE",
    "DISABLE_OPTIMIZED_HALLOWEEN_PROTECTION",
    "DISABLE_OPTIMIZED_NESTED_LOOP",
    "DISABLE_OPTIMIZED_PLAN_FORCING",
    "DISABLE_OPTIMIZER_ROWGOAL",
    "DISABLE_OPTIONAL_PARAMETER_OPTIMIZATION",
    "DISABLE_PARAMETER_SENSITIVE_PLAN_OPTIMIZATION",
    "DISABLE_PARAMETER_SNIFFING",
    "DISABLE_RECURSIVE_QUERY_HINTS",
    "DISABLE_RESULT_SET_CACHE",
    "DISABLE_ROW_MODE_MEMORY_GRANT_FEEDBACK",
    "DISABLE_TSQL_SCALAR_UDF_INLINING",
    "DISALLOW_BATCH_MODE",
    "ENABLE_HIST_AMENDMENT_FOR_ASC_KEYS",
    "ENABLE_OPTIMIZED_HALLOWEEN_PROTECTION",
    "ENABLE_PARALLEL_PLAN_PREFERENCE",
    "ENABLE_QUERY_OPTIMIZER_HOTFIXES",
    "FORCE_DEFAULT_CARDINALITY_ESTIMATION",
    "FORCE_LEGACY_CARDINALITY_ESTIMATION",
    "QUERY_PLAN_PROFILE",
];

/// Checks the hints of a statement.
///
/// Errors: 310 and 102 values out of range, 137 OPTIMIZE FOR of a variable that there is not, 10715
/// USE HINT with a name that there is not, 40517 hints that would change results or fix a plan.
pub fn check(options: &[OptionItem], env: &CompileEnv<'_>) -> Result<(), SqlError> {
    options.iter().try_for_each(|option| match option.name.as_str() {
        "MAXRECURSION" => {
            let n = number(option, i64::MAX)?;
            if n > 32_767 {
                return Err(SqlError::of(msg::MAXRECURSION_RANGE, [&n]));
            }
            Ok(())
        }
        "MAXDOP" => number(option, 32_767).map(drop),
        "FAST" | "QUERYTRACEON" => number(option, i64::MAX).map(drop),
        "MAX_GRANT_PERCENT" | "MIN_GRANT_PERCENT" => percent(option),
        "OPTIMIZE FOR" => option.nested.iter().try_for_each(|item| meant(item, env).map(drop)),
        "USE HINT" => option.nested.iter().try_for_each(hint_name),
        "USE PLAN" | "FOR TIMESTAMP AS OF" => {
            Err(unsupported(&format!("OPTION ({})", option.name)))
        }
        // How rows are joined, grouped and ordered, when a plan is made again, a name for the log.
        _ => Ok(()),
    })
}

/// A variable that OPTIMIZE FOR names, and the value that it is taken to have; NULL for UNKNOWN.
///
/// Errors: 137 no such variable, 102 neither a value nor UNKNOWN, those of converting the value.
fn meant(item: &OptionItem, env: &CompileEnv<'_>) -> Result<(usize, Value), SqlError> {
    let (slot, ty) = env.vars.find(&item.name)?;
    let value = match &item.value {
        OptionValue::Word(word) if word.eq_ignore_ascii_case("UNKNOWN") => Value::Null,
        _ => constant(item)?,
    };
    if value.is_null() {
        return Ok((slot, value));
    }
    Ok((
        slot,
        types::convert_in(
            &value,
            value.natural_type(),
            ty,
            0,
            types::Mode::Implicit,
            env.options.dialect,
        )?,
    ))
}

/// The values of variables for which a statement is planned, by slot; NULL, or none, where nothing
/// is known. They are those of this moment unless OPTIMIZE FOR says others.
///
/// # Errors
/// Those of the values that OPTIMIZE FOR names.
pub fn values(options: &[OptionItem], env: &CompileEnv<'_>) -> Result<Arc<[Value]>, SqlError> {
    let named = |name: &str| options.iter().any(|option| option.name == name);
    let hinted = |name: &str| {
        let hints = options.iter().filter(|option| option.name == "USE HINT");
        hints.flat_map(|option| &option.nested).any(|item| name_of(item) == name)
    };
    let unknown = named("OPTIMIZE FOR UNKNOWN") || hinted("DISABLE_PARAMETER_SNIFFING");
    let mut values = if unknown { Vec::new() } else { known(env) };
    for item in
        options.iter().filter(|option| option.name == "OPTIMIZE FOR").flat_map(|o| &o.nested)
    {
        let (slot, value) = meant(item, env)?;
        values.resize(values.len().max(slot + 1), Value::Null);
        values[slot] = value;
    }
    Ok(values.into())
}

/// The values that variables have now, as far as they are short enough to be compared with a
/// column's.
pub fn known(env: &CompileEnv<'_>) -> Vec<Value> {
    let is_short = |value: &Value| match value {
        Value::Str(text) => text.len() <= 8_000,
        Value::Bytes(bytes) => bytes.len() <= 8_000,
        _ => true,
    };
    env.values
        .iter()
        .map(|value| if is_short(value) { value.clone() } else { Value::Null })
        .collect()
}

/// Whether a plan is made for each run of the statement, for the values that its variables have
/// then: OPTION (RECOMPILE).
pub fn is_for_one_run(options: &[OptionItem]) -> bool {
    options.iter().any(|option| option.name == "RECOMPILE")
}

/// The most rounds of a recursive CTE, if OPTION (MAXRECURSION n) says so: `Some(None)` for any
/// number.
pub(crate) fn max_recursion(options: &[OptionItem]) -> Option<Option<u32>> {
    let option = options.iter().find(|option| option.name == "MAXRECURSION")?;
    let rounds = u32::try_from(number(option, i64::MAX).ok()?).ok()?;
    Some((rounds > 0).then_some(rounds))
}

/// What a name within USE HINT begins with that asks for any plan, not for a good one; the number
/// after it is the seed of the choices. Whatever the number, the rows are the same: that is what it
/// is for.
const ANY_PLAN: &str = "RINGWOOD_ANY_PLAN_";

/// The seed of USE HINT ('RINGWOOD_ANY_PLAN_n').
pub fn any_plan(options: &[OptionItem]) -> Option<u64> {
    let hints =
        options.iter().filter(|option| option.name == "USE HINT").flat_map(|option| &option.nested);
    hints.filter_map(|item| seed_of(&name_of(item))).next()
}

fn seed_of(name: &str) -> Option<u64> {
    name.strip_prefix(ANY_PLAN)?.parse().ok()
}

/// The hints of a statement that are counted, with so many beside its joins.
pub fn used(options: &[OptionItem], join_hints: u64) -> UsedHints {
    let all =
        |suffix: &str| options.iter().filter(|option| option.name.ends_with(suffix)).count() as u64;
    let order = forces_order(options);
    let joins = all(" JOIN") + join_hints;
    let recursion = max_recursion(options).flatten();
    UsedHints {
        any: joins + all(" GROUP") + all(" UNION") + u64::from(order),
        order,
        joins,
        recursion,
    }
}

/// The operators that joins may be made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinMethods {
    pub loops: bool,
    pub hash: bool,
    pub merge: bool,
}

impl JoinMethods {
    /// Without a hint.
    pub const ALL: JoinMethods = JoinMethods { loops: true, hash: true, merge: true };
}

/// The operators that OPTION (LOOP JOIN, HASH JOIN, MERGE JOIN) leaves; all without one of them.
pub fn join_methods(options: &[OptionItem]) -> JoinMethods {
    let named = |name: &str| options.iter().any(|option| option.name == name);
    let methods = JoinMethods {
        loops: named("LOOP JOIN"),
        hash: named("HASH JOIN"),
        merge: named("MERGE JOIN"),
    };
    if methods.loops || methods.hash || methods.merge { methods } else { JoinMethods::ALL }
}

/// Whether the joins of a statement stay in the order in which they are written.
pub fn forces_order(options: &[OptionItem]) -> bool {
    options.iter().any(|option| option.name == "FORCE ORDER")
}

fn constant(option: &OptionItem) -> Result<Value, SqlError> {
    match &option.value {
        OptionValue::Expr(expr) => crate::literal::literal(expr),
        _ => Err(errors::syntax_near(&option.name)),
    }
}

fn number(option: &OptionItem, most: i64) -> Result<i64, SqlError> {
    let number = constant(option)?.as_i64().filter(|n| (0..=most).contains(n));
    number.ok_or_else(|| errors::syntax_near(&option.name))
}

fn percent(option: &OptionItem) -> Result<(), SqlError> {
    let percent = match constant(option)? {
        Value::Decimal(d) => d.to_f64(),
        other => other.as_i64().map_or(-1.0, |n| n as f64),
    };
    if (0.0..=100.0).contains(&percent) { Ok(()) } else { Err(errors::syntax_near(&option.name)) }
}

fn hint_name(item: &OptionItem) -> Result<(), SqlError> {
    let upper = name_of(item);
    let level = upper
        .strip_prefix("QUERY_OPTIMIZER_COMPATIBILITY_LEVEL_")
        .and_then(|n| n.parse::<u8>().ok());
    if upper == "ABORT_QUERY_EXECUTION" {
        return Err(unsupported("USE HINT ('ABORT_QUERY_EXECUTION')"));
    }
    if NAMES.contains(&upper.as_str())
        || level.is_some_and(|n| n >= 100)
        || seed_of(&upper).is_some()
    {
        return Ok(());
    }
    Err(SqlError::of(msg::NOT_A_HINT, [&shown(item)]))
}

fn shown(item: &OptionItem) -> String {
    let value = match &item.value {
        OptionValue::Expr(expr) => crate::literal::literal(expr).unwrap_or_default(),
        _ => Value::Null,
    };
    value.as_str().unwrap_or_default().to_owned()
}

fn name_of(item: &OptionItem) -> String {
    shown(item).to_ascii_uppercase()
}
