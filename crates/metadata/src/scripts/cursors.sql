CREATE PROCEDURE sp_cursor_list @cursor_return CURSOR VARYING OUTPUT, @cursor_scope int
AS
SET @cursor_return = CURSOR LOCAL STATIC READ_ONLY SCROLL FOR
    SELECT * FROM sys.dm_ringwood_cursors (@cursor_scope, NULL, NULL)
OPEN @cursor_return
RETURN 0
GO
CREATE PROCEDURE sp_describe_cursor @cursor_return CURSOR VARYING OUTPUT, @cursor_source nvarchar(30),
    @cursor_identity nvarchar(128)
AS
SET @cursor_return = CURSOR LOCAL STATIC READ_ONLY SCROLL FOR
    SELECT * FROM sys.dm_ringwood_cursors (NULL, @cursor_source, @cursor_identity)
OPEN @cursor_return
RETURN 0
