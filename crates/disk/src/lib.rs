//! The one crate that calls the kernel for files: aligned direct I/O, sector discovery, per-file statistics
