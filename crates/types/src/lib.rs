//! Values, decimal, dates, collations, conversions, row and key formats of Ringwood: pure, no I/O
