//! sp_xml_preparedocument and sp_xml_removedocument: documents that a session keeps for OPENXML, by
//! a number.

use std::sync::Arc;

use ::types::convert::{ConvertOptions, Mode, convert_by};
use ::types::{DataType, Len, SqlError, Value, msg};

use super::ProcedureCall;
use super::params::Param;
use catalog::fold_name;
use expr::large::is_conversion;
use session::state::holdings::HoldingKind;

const PREPARE: &[Param] = &[
    ("@hdoc", DataType::Int),
    ("@xmltext", DataType::NVarChar(Len::Max)),
    ("@xpath_namespaces", DataType::NVarChar(Len::Max)),
];

/// Documents that a session may keep.
const MOST: usize = 1000;

/// 6624.
fn low_memory() -> SqlError {
    SqlError::of(msg::DOCUMENT_NO_MEMORY, [])
}

/// EXEC sp_xml_preparedocument @hdoc OUTPUT [, @xmltext]. Errors: 6602 what the text is not, 6624
/// too many documents.
pub fn prepare(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_xml_preparedocument", 1, PREPARE)?;
    if given.name(2).is_some() {
        return Err(catalog::errors::not_supported("Namespaces of sp_xml_preparedocument"));
    }
    let text = given.text(1).unwrap_or("<root/>");
    // As SQL Server does, an encoding in the declaration is passed over.
    let look = || call.core.check_cancel();
    let how = ConvertOptions { look: &look, ..ConvertOptions::new(0, Mode::Explicit) };
    let bytes = Value::bytes(text.as_bytes().to_vec());
    let xml = convert_by(&bytes, DataType::VarBinary(Len::Max), DataType::Xml, &how);
    let xml = xml.map_err(|e| match is_conversion(&e) {
        true => SqlError::of(msg::ERROR_DESCRIPTION, [&e.message]),
        false => e,
    })?;
    let documents = &mut call.core.objects.xml_documents;
    if documents.len() >= MOST {
        return Err(low_memory());
    }
    let document: Arc<str> = Arc::from(xml.as_str().unwrap_or_default());
    call.core
        .memory
        .holdings
        .add(HoldingKind::Documents, document.len())
        .map_err(|_| low_memory())?;
    let handle = documents.keys().max().map_or(1, |last| last + 2);
    documents.insert(handle, document);
    for (i, arg) in call.args.iter().enumerate() {
        let first = match &arg.name {
            Some(name) => fold_name(name) == fold_name(PREPARE[0].0),
            None => i == 0,
        };
        if let Some(slot) = arg.output.filter(|_| first) {
            call.outputs.push((slot, Value::Int(handle)));
        }
    }
    Ok(0)
}

/// EXEC sp_xml_removedocument @hdoc. Error: 6607 there is none.
pub fn remove(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    const PARAMS: &[Param] = &[("@hdoc", DataType::Int)];
    let given = call.given("sp_xml_removedocument", 1, PARAMS)?;
    let known = i32::try_from(given.number(0, 0))
        .ok()
        .and_then(|handle| call.core.objects.xml_documents.remove(&handle));
    match known {
        Some(document) => {
            call.core.memory.holdings.remove(HoldingKind::Documents, document.len());
            Ok(0)
        }
        None => Err(SqlError::of(msg::REMOVE_DOCUMENT_PARAMETER, [])),
    }
}
