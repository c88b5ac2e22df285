//! Views of keys and certificates, which this server does not have. Their columns are SQL Server's,
//! their rows are none: whatever would make one is refused where it is made.

use types::{DataType, Len};

use super::{NVARCHAR60, SYSNAME, SystemView, View};

use DataType::{
    Bit, Char, DateTime, Int, NVarChar, SqlVariant, TinyInt, UniqueIdentifier, VarBinary,
};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[
    &CERTIFICATES,
    &SYMMETRIC_KEYS,
    &ASYMMETRIC_KEYS,
    &CRYPT_PROPERTIES,
    &KEY_ENCRYPTIONS,
    &OPENKEYS,
    &SYSTEM_COMPONENTS_SURFACE_AREA_CONFIGURATION,
];

/// sys.certificates.
static CERTIFICATES: View = View::empty(
    "certificates",
    &[
        ("name", SYSNAME, false),
        ("certificate_id", Int, false),
        ("principal_id", Int, true),
        ("pvt_key_encryption_type", Char(2), false),
        ("pvt_key_encryption_type_desc", NVARCHAR60, true),
        ("is_active_for_begin_dialog", Bit, true),
        ("issuer_name", NVarChar(Len::N(442)), true),
        ("cert_serial_number", NVarChar(Len::N(64)), true),
        ("sid", VarBinary(Len::N(85)), true),
        ("string_sid", NVarChar(Len::N(128)), true),
        ("subject", NVarChar(Len::N(4000)), true),
        ("expiry_date", DateTime, true),
        ("start_date", DateTime, true),
        ("thumbprint", VarBinary(Len::N(32)), false),
        ("attested_by", NVarChar(Len::N(260)), true),
        ("pvt_key_last_backup_date", DateTime, true),
    ],
);

/// sys.symmetric_keys.
static SYMMETRIC_KEYS: View = View::empty(
    "symmetric_keys",
    &[
        ("name", SYSNAME, false),
        ("principal_id", Int, true),
        ("symmetric_key_id", Int, false),
        ("key_length", Int, false),
        ("key_algorithm", Char(2), false),
        ("algorithm_desc", NVARCHAR60, true),
        ("create_date", DateTime, false),
        ("modify_date", DateTime, false),
        ("key_guid", UniqueIdentifier, true),
        ("key_thumbprint", SqlVariant, true),
        ("provider_type", NVarChar(Len::N(120)), true),
        ("cryptographic_provider_guid", UniqueIdentifier, true),
        ("cryptographic_provider_algid", SqlVariant, true),
    ],
);

/// sys.asymmetric_keys.
static ASYMMETRIC_KEYS: View = View::empty(
    "asymmetric_keys",
    &[
        ("name", SYSNAME, false),
        ("principal_id", Int, true),
        ("asymmetric_key_id", Int, false),
        ("pvt_key_encryption_type", Char(2), false),
        ("pvt_key_encryption_type_desc", NVARCHAR60, true),
        ("thumbprint", VarBinary(Len::N(32)), false),
        ("algorithm", Char(2), false),
        ("algorithm_desc", NVARCHAR60, true),
        ("key_length", Int, false),
        ("sid", VarBinary(Len::N(85)), true),
        ("string_sid", NVarChar(Len::N(128)), true),
        ("public_key", VarBinary(Len::Max), true),
        ("attested_by", NVarChar(Len::N(260)), true),
        ("provider_type", NVarChar(Len::N(120)), true),
        ("cryptographic_provider_guid", UniqueIdentifier, true),
        ("cryptographic_provider_algid", SqlVariant, true),
    ],
);

/// sys.crypt_properties.
static CRYPT_PROPERTIES: View = View::empty(
    "crypt_properties",
    &[
        ("class", TinyInt, false),
        ("class_desc", NVARCHAR60, true),
        ("major_id", Int, false),
        ("thumbprint", VarBinary(Len::N(32)), false),
        ("crypt_type", Char(4), false),
        ("crypt_type_desc", NVARCHAR60, true),
        ("crypt_property", VarBinary(Len::Max), true),
    ],
);

/// sys.key_encryptions.
static KEY_ENCRYPTIONS: View = View::empty(
    "key_encryptions",
    &[
        ("key_id", Int, false),
        ("thumbprint", VarBinary(Len::N(32)), true),
        ("crypt_type", Char(4), false),
        ("crypt_type_desc", NVARCHAR60, true),
        ("crypt_property", VarBinary(Len::Max), true),
    ],
);

/// sys.openkeys.
static OPENKEYS: View = View::empty(
    "openkeys",
    &[
        ("database_id", Int, true),
        ("database_name", SYSNAME, true),
        ("key_id", Int, true),
        ("key_name", SYSNAME, true),
        ("key_guid", VarBinary(Len::N(16)), true),
        ("opened_date", DateTime, true),
        ("status", Int, true),
    ],
);

/// sys.system_components_surface_area_configuration.
static SYSTEM_COMPONENTS_SURFACE_AREA_CONFIGURATION: View = View::empty(
    "system_components_surface_area_configuration",
    &[
        ("component_name", SYSNAME, false),
        ("database_name", SYSNAME, true),
        ("schema_name", SYSNAME, false),
        ("object_name", SYSNAME, false),
        ("state", TinyInt, true),
        ("type", Char(2), false),
        ("type_desc", NVARCHAR60, true),
    ],
);
