//! Heaps and B+trees over pages: row headers, versions, ghost records
