//! T-SQL's lexer and parser; knows nothing of the engine
