package pages

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

// database writes a database with values of every kind and returns its path. Without
// clean its newest rows are in the WAL only, and one change is not committed.
func database(t testing.TB, setup string, clean bool) (path string) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "live.db")
	db, err := sql.Open("sqlite", live)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	do := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	do(setup)
	do("PRAGMA journal_mode = WAL")
	do("CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER, x REAL, s TEXT, b BLOB)")
	do("CREATE TABLE w (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID")
	do("CREATE INDEX a_s ON a (s)")
	do("BEGIN")
	for i := range 200 {
		long := strings.Repeat("long", i)
		if i%10 == 0 {
			long = strings.Repeat(long, i) // up to two overflow pages of 64 KiB
		}
		do(fmt.Sprintf("INSERT INTO a VALUES (%d, %d, %d.5, '%s', x'00ff')", i-5, int64(1)<<(i%63), i, long))
		do(fmt.Sprintf("INSERT INTO w VALUES ('k%d', '%s')", i, strings.Repeat("v", i*9)))
	}
	do("DELETE FROM a WHERE id BETWEEN 20 AND 60 OR id = 185") // row 185 overflows pages of any size
	do("COMMIT")
	var free int
	if err := db.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil || free == 0 {
		t.Fatalf("%d free pages, %v", free, err)
	}
	do("PRAGMA wal_checkpoint(TRUNCATE)")
	do("UPDATE a SET s = 'new' WHERE id = 7")
	path = filepath.Join(t.TempDir(), "copy.db")
	if clean {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(live + end)
		if err != nil && (end == "" || !clean) {
			t.Fatal(err)
		}
		if end != "" && clean {
			continue
		}
		if end != "" {
			data = append(data, make([]byte, 100)...) // a frame that was not finished
		}
		if err := os.WriteFile(path+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestRowsAreThoseOfSQLite(t *testing.T) {
	for _, setup := range []string{"SELECT 1", "PRAGMA page_size = 512", "PRAGMA page_size = 65536", "PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA page_size = 512; PRAGMA auto_vacuum = INCREMENTAL"} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprint(setup, clean), func(t *testing.T) {
				path := database(t, setup, clean)
				f, err := Open(path)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				got := map[string]string{}
				lost := f.Rows(func(r Row) {
					switch {
					case !r.Index && len(r.Values) == 5 && r.Values[0] == nil:
						got[fmt.Sprint(r.ID)] = fmt.Sprint(r.Values[1:])
					case r.Index && len(r.Values) == 2:
						if v, ok := r.Values[1].(string); ok {
							got[fmt.Sprint(r.Values[0])] = v
						}
					}
				})
				if lost != 0 {
					t.Errorf("%d of %d pages lost", lost, f.Pages())
				}
				db, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				want := map[string]string{}
				rows, err := db.Query("SELECT id, n, x, s, b FROM a")
				if err != nil {
					t.Fatal(err)
				}
				for rows.Next() {
					var id, n int64
					var x float64
					var s string
					var b []byte
					if err := rows.Scan(&id, &n, &x, &s, &b); err != nil {
						t.Fatal(err)
					}
					want[fmt.Sprint(id)] = fmt.Sprint([]any{n, x, s, b})
				}
				rows, err = db.Query("SELECT k, v FROM w")
				if err != nil {
					t.Fatal(err)
				}
				for rows.Next() {
					var k, v string
					if err := rows.Scan(&k, &v); err != nil {
						t.Fatal(err)
					}
					want[k] = v
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff[:min(2000, len(diff))])
				}
			})
		}
	}
}

// Nothing in a file makes the reader panic or run on.
func FuzzRows(f *testing.F) {
	small := filepath.Join(f.TempDir(), "small.db")
	db, err := sql.Open("sqlite", small)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA page_size = 512; CREATE TABLE a (s TEXT); INSERT INTO a VALUES ('" + strings.Repeat("x", 3000) + "')"); err != nil {
		f.Fatal(err)
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, []byte{})
	f.Add(data[:700], data)
	f.Fuzz(func(t *testing.T, data, wal []byte) {
		path := filepath.Join(t.TempDir(), "f.db")
		for end, content := range map[string][]byte{"": data, "-wal": wal} {
			if err := os.WriteFile(path+end, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if lost := file.Rows(func(Row) {}); lost > file.Pages() {
			t.Errorf("%d of %d pages lost", lost, file.Pages())
		}
	})
}
