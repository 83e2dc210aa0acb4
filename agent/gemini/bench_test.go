package gemini

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func BenchmarkModel(b *testing.B) {
	up := script(b, `rules: [{say: 'one two three', chunks: 3}]`)
	o := open(b, up, nil)
	body := ask(strings.Repeat("word ", 5000)) // 25 KB, like the CLI's
	run := func(b *testing.B, client *http.Client, url string) {
		for b.Loop() {
			req := must(http.NewRequest("POST", url, strings.NewReader(body)))
			req.Header.Set("X-Goog-Api-Key", testKey)
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	b.Run("direct", func(b *testing.B) { run(b, http.DefaultClient, up+strings.TrimPrefix(stream, "/model")) })
	b.Run("gateway", func(b *testing.B) { run(b, o.client, "http://sandbox"+stream) })
}
