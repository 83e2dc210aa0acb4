package recall

import (
	"strings"
	"testing"
)

const (
	letters40 = "abcdeFGHIJ0123456789abcdeFGHIJ0123456789"
	pemBody   = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyjiWA4R4w=="
)

func TestCleanShapes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"key:\n-----BEGIN PRIVATE KEY-----\n" + pemBody + "\n-----END PRIVATE KEY-----\nend", "key:\n[secret]\nend"},
		{"a -----BEGIN RSA PRIVATE KEY-----\n" + pemBody + "\nand more words", "a [secret]\nand more words"},
		{`{"k":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB`, `{"k":"[secret]`},
		{pemBody + "\n-----END PRIVATE KEY-----\nend", "[secret]\nend"},
		{"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl.", "jwt [secret]."},
		{"ghp_" + letters40, "[secret]"},
		{"x%3Dgho_" + letters40 + "&", "x%3D[secret]&"},
		{"ghs_" + letters40 + " github_pat_11AA_" + letters40, "[secret] [secret]"},
		{"glpat-xY12_abcdeFGHIJ01234", "[secret]"},
		{"xoxb-123456789012-abcdEFGH", "[secret]"},
		{"AKIAIOSFODNN7EXAMPLE and ASIAIOSFODNN7EXAMPLE", "[secret] and [secret]"},
		{"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [secret]"},
		{"AIza" + letters40, "[secret]"},
		{"ya29.a0Af_" + letters40, "[secret]"},
		{"sk-proj-" + letters40 + ", sk-ant-api03-" + letters40, "[secret], [secret]"},
		{"sk_live_" + letters40 + " rk_live_" + letters40, "[secret] [secret]"},
		{"npm_" + letters40, "[secret]"},
		{"pypi-AgEIcHlwaS5vcmc" + letters40, "[secret]"},
		{"hf_" + letters40, "[secret]"},
		{"bot 123456789:AAF1xyzabcdeFGHIJ0123456789abcdeFG", "bot [secret]"},
		{"syt_YWw_abcdeFGHIJ0123456789_1a2b3c", "[secret]"},
		{"SG.abcdeFGHIJ0123456789ab.abcdeFGHIJ0123456789abcdeFGHIJ0123456789abc", "[secret]"},
		{"SK0123456789abcdef0123456789abcdef", "[secret]"},
		{"AGE-SECRET-KEY-1QQPQ0123456789ABCDEFGH", "[secret]"},
		{"EsTc 5rQp aXvZ 8mKd 2fGh 9nWq 3bYs 7tLx 4cPj 6vRz 2aBc 2dEf", "[secret]"},
		{"Authorization: Bearer abc123def", "Authorization: Bearer [secret]"},
		{`"Authorization": "Basic dXNlcjpwYXNz"`, `"Authorization": "Basic [secret]"`},
		{"postgres://al:hunter@db:5432/app", "postgres://al:[secret]@db:5432/app"},
		{"https://x:p@ss@host/ and a://b:c@d", "https://x:[secret]@host/ and a://b:[secret]@d"},
		{"mysql -u root -phunterx app", "mysql -u root -p[secret] app"},
		{"mysqldump -p hunter2 app", "mysqldump -p [secret] app"},
		{"curl -u al:hunter2 https://x", "curl -u al:[secret] https://x"},
		{"my PIN is 4821", "my PIN is [secret]"},

		{"-----BEGIN PRIVATE KEY----- starts the file", "-----BEGIN PRIVATE KEY----- starts the file"},
		{"-----BEGIN CERTIFICATE-----\n" + pemBody, "-----BEGIN CERTIFICATE-----\n" + pemBody},
		{pemBody, pemBody},
		{"ghp_ is the prefix", "ghp_ is the prefix"},
		{"risk-assessment-of-the-whole-project", "risk-assessment-of-the-whole-project"},
		{"sk-toggleable__content-and-more", "sk-toggleable__content-and-more"},
		{"npm_config_registry and hf_hub_download", "npm_config_registry and hf_hub_download"},
		{"dd1a346898c5c347defe0337b565b00db82743b7", "dd1a346898c5c347defe0337b565b00db82743b7"},
		{"550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"},
		{"aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=", "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="},
		{"https://example.com:8080/@al?x=1", "https://example.com:8080/@al?x=1"},
		{"postgres://al:$PASS@db and https://al@db", "postgres://al:$PASS@db and https://al@db"},
		{"mkdir -p hunter2/a; ssh -p 22222222", "mkdir -p hunter2/a; ssh -p 22222222"},
		{"mysql -P 3306 -p app", "mysql -P 3306 -p app"},
		{"Authorization: Bearer $TOKEN", "Authorization: Bearer $TOKEN"},
		{"the bearer of this letter", "the bearer of this letter"},
		{"pin: 18", "pin: 18"},
		{"v1.26.8-rc1, go1.26.8 at 12:30:45", "v1.26.8-rc1, go1.26.8 at 12:30:45"},
	} {
		checkClean(t, c.text, c.want)
	}
}

func checkClean(t *testing.T, text, want string) {
	t.Helper()
	got := NewFilter().Clean(text)
	if got != want {
		t.Errorf("%q became %q, want %q", text, got, want)
	}
	if again := NewFilter().Clean(got); again != got {
		t.Errorf("%q became %q", got, again)
	}
}

func TestCleanAssigned(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // § is the secret
		{"password=hunterx next", "password=§ next"},
		{"export DB_PASSWORD='correct1 horse'", "export DB_PASSWORD='§'"},
		{`PASSWORD: "hunter"`, `PASSWORD: "§"`},
		{`{"password":"hun\"ter2","a":1}`, `{"password":"§","a":1}`},
		{`"{\"apiKey\": \"abc1234\"}"`, `"{\"apiKey\": \"§\"}"`},
		{"login --password hunter2 --user al", "login --password § --user al"},
		{"login --api-key=hunterx", "login --api-key=§"},
		{"api_key: abc123def", "api_key: §"},
		{"?token=abc123&user=al", "?token=§&user=al"},
		{"client_secret = 'abcdefgh'", "client_secret = '§'"},
		{"<password>hunterx</password>", "<password>§</password>"},
		{"the password is hunter2.", "the password is §."},
		{"The password for the staging database is hunter2, ok?", "The password for the staging database is §, ok?"},
		{"my token is **abc-123-def**", "my token is **§**"},
		{"use the password `hunter2` there", "use the password `§` there"},
		{"log in as al with password hunter2", "log in as al with password §"},
		{"I set the password to hunter2", "I set the password to §"},
		{"Password:\n  hunter2\nthanks", "Password:\n  §\nthanks"},
		{"password: 12345678", "password: §"},
		{"Das Passwort ist hunter2", "Das Passwort ist §"},
		{"Kennwort: geheim!1", "Kennwort: §"},
		{"der Schlüssel lautet abc123", "der Schlüssel lautet §"},
		{"password = [secret]", "password = [secret]"},

		{"I use a password manager", ""},
		{"password: see vault", ""},
		{"the password is in the vault", ""},
		{"token limit is 4000", ""},
		{"max_tokens: 128000, token_count=128000", ""},
		{"the token is 400000 long", ""},
		{"the secret is to keep it simple", ""},
		{"the password is required", ""},
		{"password: string; token: String!", ""},
		{"PASSWORD=$DB_PASSWORD TOKEN=${TOKEN} password: ${{ secrets.PASSWORD }}", ""},
		{"password=<your-password> --password ********", ""},
		{"token := os.Getenv(\"TOKEN\")", ""},
		{"password = config.password", ""},
		{"token=accessToken", ""},
		{"PASSWORD_FILE=/run/secrets/db1", ""},
		{"password: /run/secrets/db1", ""},
		{"secret: config2.yaml", ""},
		{"token: https://example.com/token2", ""},
		{"the token is base64-encoded", ""},
		{"password hash sha256", ""},
		{"the password is sha256-hashed", ""},
		{"the token has version v1.26.8", ""},
		{"token: v1.26.8", ""},
		{"password and user are wrong", ""},
		{"login --password --user al", ""},
		{"secrets:\n  db_password:\n    file: db2.txt", ""},
		{"the password contains 8 characters", ""},
		{"PWD=/home/al2", ""},
		{"\"password\": {\"type\": \"string\"}", ""},
	} {
		want := strings.ReplaceAll(c.want, "§", mark)
		if want == "" {
			want = c.text
		}
		checkClean(t, c.text, want)
	}
}

func TestLooksSecret(t *testing.T) {
	for _, s := range []string{"aB3dE6gH9jK2", "`xK9#mQ2$vL5n`", "a8f5k2l9q3z7m1", "ghp_" + letters40, "9f86d081884c7d659a2feaa0c55ad015", "Tr0ub4dor&3xyz", "wJalrXUtnFEMI/K7MDENG/bPxRfi"} {
		if !LooksSecret(s) {
			t.Errorf("%q does not look secret", s)
		}
	}
	for _, s := range []string{"", "hunter2", "production", "aB3dE6 gH9jK2", "/home/Al/aB3dE6gH", "./aB3dE6gH9jK2", "https://x.org/aB3dE6gH9", "550e8400-e29b-41d4-a716-446655440000",
		"dd1a346898c5c347defe0337b565b00db82743b7", "dd1a346898c5", "al.b3rt@Example1.com", "Report2026Q3.pdf", "v1.26.8-rc1+build5", "kubernetes-1.29.3", "golang:1.26-alpine3.22",
		"staging-db-01.example.com", "Europe/Berlin", "getUserByName", "aaaaaaaaaaa1", "2026-11-23T05:52:50Z", "10.0.0.7:5432", "+491701234567", "fe80::1ff:fe23:4567:890a",
		"!abc123XyZ45:example.org", "AL_MAX_CONNECTIONS", "Donaudampfschifffahrt", "staging_db_2"} {
		if LooksSecret(s) {
			t.Errorf("%q looks secret", s)
		}
	}
}
