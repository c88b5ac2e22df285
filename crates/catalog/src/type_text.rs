//! Types as the catalog keeps them: as text.

use types::{DataType, SqlError, TypeArg};

/// The type that [`DataType`]'s display wrote.
pub fn type_of_text(text: &str) -> Result<DataType, SqlError> {
    let (name, args) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => (name, rest.trim_end_matches(')')),
    };
    let mut parsed = Vec::new();
    for arg in args.split(',').filter(|a| !a.is_empty()) {
        parsed.push(match arg.parse() {
            Ok(n) => TypeArg::Number(n),
            Err(_) => TypeArg::Max,
        });
    }
    DataType::from_name(name, &parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Len;

    #[test]
    fn types_survive_their_text() {
        let types = [
            DataType::Int,
            DataType::decimal(12, 2),
            DataType::VarChar(Len::Max),
            DataType::NVarChar(Len::N(128)),
            DataType::Char(500),
            DataType::DateTime2(3),
            DataType::Time(0),
            DataType::UniqueIdentifier,
        ];
        for ty in types {
            assert_eq!(type_of_text(&ty.to_string()).unwrap(), ty);
        }
    }
}
