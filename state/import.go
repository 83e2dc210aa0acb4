package state

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// oldestSchema is the oldest version that importTables reads. Delete this file, and its test with
// testdata/journal8.sql, two releases after the first one with schema 12.
const oldestSchema = 8

// importTables replaces the tables of an earlier schema by those of this release and copies their rows: the columns
// that both have. New columns get their defaults.
func importTables(ctx context.Context, tx *sql.Tx, version int) error {
	const list = "SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' " +
		"ESCAPE '!'"
	indexes, err := queryAll(ctx, tx, scanText, list, "index")
	if err != nil {
		return err
	}
	tables, err := queryAll(ctx, tx, scanText, list, "table")
	if err != nil {
		return err
	}
	var first, last []string
	for _, name := range indexes {
		first = append(first, "DROP INDEX "+name)
	}
	for _, name := range tables {
		first = append(first, fmt.Sprintf("ALTER TABLE %s RENAME TO old_%[1]s", name))
		last = append(last, fmt.Sprintf("DELETE FROM sqlite_sequence WHERE name = '%s'", name),
			fmt.Sprintf("UPDATE sqlite_sequence SET name = '%s' WHERE name = 'old_%[1]s'", name), "DROP TABLE old_"+name)
	}
	if err := execAll(ctx, tx, append(first, schema)...); err != nil {
		return err
	}
	for _, name := range tables {
		columns, err := queryAll(ctx, tx, scanText, `SELECT name FROM pragma_table_info(?1)
			WHERE name IN (SELECT name FROM pragma_table_info('old_' || ?1))`, name)
		if err != nil {
			return err
		}
		both := strings.Join(columns, ", ")
		if err := execAll(ctx, tx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM old_%[1]s", name, both)); err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
	}
	if version < 12 {
		last = append([]string{importUnsent}, last...)
	}
	return execAll(ctx, tx, last...)
}

// importUnsent fills the columns of unsent messages, whose content was Matrix JSON. What others said stays empty.
const importUnsent = `
UPDATE message SET relation = old.relation, thread = old.thread, notice = old.notice, body = old.body, mentions = old.mentions, file = old.file,
	target = CASE message.about WHEN '' THEN old.target ELSE '' END
FROM (
	SELECT seq, CASE
		WHEN type = 'm.reaction' THEN 'reaction'
		WHEN type = 'm.room.redaction' THEN 'redaction'
		WHEN r ->> 'rel_type' = 'm.replace' THEN 'edit'
		WHEN r ->> 'is_falling_back' THEN 'thread'
		WHEN r IS NOT NULL THEN 'reply' ELSE '' END AS relation,
		coalesce(c ->> '$.redacts', r ->> '$."m.in_reply_to".event_id', r ->> 'event_id', '') AS target,
		iif(r ->> 'rel_type' = 'm.thread', r ->> 'event_id', '') AS thread,
		ifnull(c ->> '$.msgtype' = 'm.notice', 0) AS notice,
		coalesce(r ->> 'key', c ->> '$."m.new_content".body', c ->> '$.body', '') AS body,
		ifnull((SELECT group_concat(value, ' ') FROM json_each(c, '$."m.mentions".user_ids')), '') AS mentions,
		iif(c -> '$.info' IS NULL, '', json_patch('{}', json_object(
			'url', ifnull(c ->> '$.url', c ->> '$.file.url'),
			'secret', iif(c -> '$.file' IS NULL, NULL, json_object('v', c ->> '$.file.v', 'key', c -> '$.file.key', 'iv', c ->> '$.file.iv', 'sha256', c ->> '$.file.hashes.sha256')),
			'mimetype', c ->> '$.info.mimetype', 'size', c ->> '$.info.size', 'w', c ->> '$.info.w', 'h', c ->> '$.info.h'))) AS file
	FROM (SELECT seq, type, content AS c, content -> '$."m.relates_to"' AS r FROM old_message WHERE status = 0 AND json_valid(content))
) AS old WHERE message.seq = old.seq`

func execAll(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, statement := range statements {
		if err := run(ctx, tx, statement); err != nil {
			return err
		}
	}
	return nil
}
