//! Catalog, binder, plans, execution, sessions, catalog views of Ringwood
