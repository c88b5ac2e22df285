//! Ringwood's command line.
fn main() {}
