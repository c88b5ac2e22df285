CREATE PROCEDURE sp_helpconstraint @objname nvarchar(776), @nomsg varchar(5) = 'msg' AS
SET NOCOUNT ON
DECLARE @id int, @db sysname = DB_NAME()
IF PARSENAME(@objname, 3) <> @db
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
SELECT @id = object_id FROM sys.objects WHERE object_id = OBJECT_ID(@objname)
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
DECLARE @found TABLE (name sysname, part int, kind nvarchar(146), code char(2), on_delete tinyint, on_update tinyint, disabled bit,
    replicated bit, keys nvarchar(max))
INSERT @found
SELECT k.name, 1, CASE k.type WHEN 'PK' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END + CASE i.type WHEN 1 THEN ' (clustered)' ELSE
        ' (non-clustered)' END, k.type, NULL, NULL, NULL, NULL,
    (SELECT STRING_AGG(COL_NAME(@id, c.column_id) + CASE WHEN c.is_descending_key = 1 THEN '(-)' ELSE '' END, ', ')
        WITHIN GROUP (ORDER BY c.key_ordinal)
     FROM sys.index_columns c WHERE c.object_id = @id AND c.index_id = k.unique_index_id AND c.key_ordinal > 0)
FROM sys.key_constraints k JOIN sys.indexes i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id
WHERE k.parent_object_id = @id
INSERT @found
SELECT name, 1, CASE WHEN parent_column_id = 0 THEN 'CHECK Table Level ' ELSE 'CHECK on column ' + COL_NAME(@id, parent_column_id) END,
    type, NULL, NULL, is_disabled, is_not_for_replication, definition
FROM sys.check_constraints WHERE parent_object_id = @id
INSERT @found
SELECT name, 1, 'DEFAULT on column ' + COL_NAME(@id, parent_column_id), type, NULL, NULL, NULL, NULL, definition
FROM sys.default_constraints WHERE parent_object_id = @id
INSERT @found
SELECT f.name, n.part, CASE n.part WHEN 1 THEN 'FOREIGN KEY' ELSE ' ' END, f.type, f.delete_referential_action,
    f.update_referential_action, f.is_disabled, f.is_not_for_replication,
    CASE n.part WHEN 1 THEN
        (SELECT STRING_AGG(COL_NAME(@id, c.parent_column_id), ', ') WITHIN GROUP (ORDER BY c.constraint_column_id)
         FROM sys.foreign_key_columns c WHERE c.constraint_object_id = f.object_id)
    ELSE 'REFERENCES ' + @db + '.' + OBJECT_SCHEMA_NAME(f.referenced_object_id) + '.' + OBJECT_NAME(f.referenced_object_id) + ' (' +
        (SELECT STRING_AGG(COL_NAME(c.referenced_object_id, c.referenced_column_id), ', ') WITHIN GROUP (ORDER BY c.constraint_column_id)
         FROM sys.foreign_key_columns c WHERE c.constraint_object_id = f.object_id) + ')' END
FROM sys.foreign_keys f CROSS JOIN (VALUES (1), (2)) n (part) WHERE f.parent_object_id = @id
IF @nomsg <> 'nomsg'
BEGIN
    SELECT @objname AS [Object Name]
    PRINT ' '
END
IF EXISTS (SELECT * FROM @found)
    SELECT kind AS constraint_type, CAST(CASE part WHEN 1 THEN name ELSE ' ' END AS nvarchar(128)) AS constraint_name,
        CASE WHEN part = 2 THEN ' ' WHEN code = 'F' THEN CASE on_delete WHEN 0 THEN 'No Action' WHEN 1 THEN 'Cascade' WHEN 2 THEN 'Set Null'
            ELSE 'Set default' END ELSE '(n/a)' END AS delete_action,
        CASE WHEN part = 2 THEN ' ' WHEN code = 'F' THEN CASE on_update WHEN 0 THEN 'No Action' WHEN 1 THEN 'Cascade' WHEN 2 THEN 'Set Null'
            ELSE 'Set default' END ELSE '(n/a)' END AS update_action,
        CASE WHEN part = 2 THEN ' ' WHEN code IN ('F', 'C') THEN CASE disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END
            ELSE '(n/a)' END AS status_enabled,
        CASE WHEN part = 2 THEN ' ' WHEN code IN ('F', 'C') THEN CASE replicated WHEN 1 THEN 'Not_For_Replication' ELSE
            'Is_For_Replication' END ELSE '(n/a)' END AS status_for_replication,
        CAST(keys AS nvarchar(2126)) AS constraint_keys
    FROM @found ORDER BY name, part
ELSE
    RAISERROR(15469, -1, -1, @objname)
PRINT ' '
IF EXISTS (SELECT * FROM sys.foreign_keys WHERE referenced_object_id = @id)
    SELECT @db + N'.' + OBJECT_SCHEMA_NAME(parent_object_id) + N'.' + OBJECT_NAME(parent_object_id) + N': ' + name
        AS [Table is referenced by foreign key]
    FROM sys.foreign_keys WHERE referenced_object_id = @id ORDER BY 1
ELSE
    RAISERROR(15470, -1, -1, @objname)
RETURN 0
