//! Changes of rows as people write them: OUTPUT in all its forms, MERGE, changes through views and
//! common table expressions and partitioned views, INSTEAD OF triggers.

mod identity;
mod instead;
mod merge;
mod output;
mod partitioned;
mod through;
mod write;
