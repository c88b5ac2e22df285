//! Parameters of system procedures: names, types, and what a call gives for them.

use ::types::convert::{Mode, convert_in};
use ::types::{DataType, Len, SqlError, Value, msg};

use super::Call;
use catalog::fold_name;

/// A parameter: its name with `@`, its type.
pub type Param = (&'static str, DataType);

/// sysname.
pub const NAME: DataType = DataType::NVarChar(Len::N(128));
/// A name that may be a pattern.
pub(crate) const PATTERN: DataType = DataType::NVarChar(Len::N(384));

/// What a call gives for the parameters of a procedure, in their order; NULL for those that it
/// leaves out.
#[derive(Debug)]
pub struct Given(Vec<Value>);

impl Given {
    /// The text of a parameter; `None` for NULL.
    pub fn text(&self, at: usize) -> Option<&str> {
        self.0.get(at).and_then(Value::as_str)
    }

    /// The text of a parameter, `None` for NULL and for an empty text.
    pub fn name(&self, at: usize) -> Option<&str> {
        self.text(at).filter(|text| !text.is_empty())
    }

    /// The value of a parameter, NULL for one that was left out.
    pub fn value(&self, at: usize) -> Value {
        self.0.get(at).cloned().unwrap_or_default()
    }

    /// The number of a parameter, or what stands for NULL.
    pub fn number(&self, at: usize, default: i64) -> i64 {
        self.0.get(at).and_then(Value::as_i64).unwrap_or(default)
    }

    /// Whether the first letter of a text is this one, in either case; `default` stands for NULL.
    pub fn letter(&self, at: usize, default: char) -> char {
        self.text(at).and_then(|t| t.trim().chars().next()).unwrap_or(default).to_ascii_uppercase()
    }
}

impl Call<'_> {
    /// Matches the arguments with the parameters of a procedure, of which the first `required` must
    /// be given.
    ///
    /// # Errors
    /// 8144 too many arguments, 8145 an unknown name, 8143 one twice, 201 one missing, those of the
    /// conversion.
    pub fn given(
        &self,
        procedure: &str,
        required: usize,
        params: &[Param],
    ) -> Result<Given, SqlError> {
        let mut values = vec![Value::Null; params.len()];
        let mut seen = vec![false; params.len()];
        for (i, arg) in self.args.iter().enumerate() {
            let at = match &arg.name {
                Some(name) => {
                    params.iter().position(|(known, _)| fold_name(known) == fold_name(name))
                }
                None => Some(i),
            };
            let at = at.ok_or_else(|| {
                let name = arg.name.as_deref().unwrap_or_default();
                SqlError::of(msg::NOT_A_PARAMETER, [&name, &procedure])
            })?;
            let Some((name, ty)) = params.get(at) else {
                return Err(SqlError::of(msg::TOO_MANY_ARGUMENTS, [&procedure]));
            };
            if std::mem::replace(&mut seen[at], true) {
                return Err(SqlError::of(msg::PARAMETER_SUPPLIED_TWICE, [&name]));
            }
            if !arg.is_default {
                // A variant keeps the type that the caller gave its value.
                let from = match *ty == DataType::SqlVariant && is_short_text(arg.ty) {
                    true => arg.ty,
                    false => arg.value.natural_type(),
                };
                values[at] = convert_in(
                    &arg.value,
                    from,
                    *ty,
                    0,
                    Mode::Implicit,
                    self.core.options.dialect,
                )?;
            }
        }
        match seen.iter().take(required).position(|seen| !seen) {
            Some(at) => Err(SqlError::of(msg::PARAMETER_NOT_SUPPLIED, [&procedure, &params[at].0])),
            None => Ok(Given(values)),
        }
    }
}

/// Texts and bytes of a declared length.
fn is_short_text(ty: DataType) -> bool {
    match ty {
        DataType::Char(_) | DataType::NChar(_) | DataType::Binary(_) => true,
        DataType::VarChar(len) | DataType::NVarChar(len) | DataType::VarBinary(len) => {
            matches!(len, Len::N(1..))
        }
        _ => false,
    }
}
