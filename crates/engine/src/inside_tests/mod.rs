//! Tests with a whole instance that look at what no statement shows: definitions, units, what a
//! session keeps.

mod check;
mod names;
mod overflow;
mod roots;
mod temporary;
