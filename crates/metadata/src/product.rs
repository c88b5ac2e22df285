//! What clients take the server for: its version and its names.

/// What clients take the server for. Their minor versions gate nothing.
pub(crate) const PRODUCT_VERSION: &str = "16.0.1000.6";
/// The name of the server.
pub const SERVER_NAME: &str = "RINGWOOD";
/// The name of a default instance.
pub(crate) const SERVICE_NAME: &str = "MSSQLSERVER";
