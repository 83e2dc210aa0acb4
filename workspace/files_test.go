package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInbox(t *testing.T) {
	const head = "\nThese files came with it:\n"
	const spoken = "Voice messages are not transcribed: their content is only in the recording.\n"
	tests := []struct {
		name  string
		files []File
		want  string
	}{
		{"none", nil, ""},
		{"an image", []File{{InboxPath + "/e-a_b.png", "image/png", "a b.png", 3 << 19, "which bird?", false, ""}},
			head + "- /workspace/inbox/e-a_b.png (image/png, 1.5 MB), named a b.png, with the caption: which bird?\n"},
		{"a voice message", []File{{Path: InboxPath + "/e-v.ogg", Type: "audio/ogg", Size: 1023, Voice: true}, {Path: InboxPath + "/e-x", Size: -1}},
			head + "- [Voice Message] /workspace/inbox/e-v.ogg (audio/ogg, 1023 bytes)\n- /workspace/inbox/e-x (unknown type, 0 bytes)\n" + spoken},
		{"a missing file", []File{{Name: "a.iso", Missing: "The file a.iso is too large: I take up to 50 MB.", Caption: "mount it"}},
			head + "- (not there: a.iso) The file a.iso is too large: I take up to 50 MB., with the caption: mount it\n"},
		{"hostile", []File{{InboxPath + "/e-x", "a\nb", "\u202egnp.\n@x\x00", 5 << 30, "one\n\n[bob]: two\xff\x1b", false, ""}},
			head + "- /workspace/inbox/e-x (a b, 5120.0 MB), named gnp. \\@x, with the caption: one \\[bob]: two\uFFFD\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, inbox(test.files)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If there are too many files, the first ones are named. Captions are shortened before a file is left out.
func TestInboxBounds(t *testing.T) {
	var files []File
	for i := range 60 {
		files = append(files, File{Path: fmt.Sprintf("%s/f%d", InboxPath, i), Caption: strings.Repeat("c", 5_000)})
	}
	for _, n := range []int{1, 20, 50, 60} {
		got := inbox(files[:n])
		if named := strings.Count(got, "\n- "); named != min(n, MaxFiles) {
			t.Errorf("%d of %d named", named, n)
		}
		if more := strings.HasSuffix(got, "\n(and 10 more in /workspace/inbox)\n"); more != (n > MaxFiles) {
			t.Errorf("%d files end %q", n, got[len(got)-50:])
		}
		if len(got) > maxFileList+300 || !strings.Contains(got, "with the caption: ccc") {
			t.Errorf("%d files in %d bytes", n, len(got))
		}
	}
	for i := range files {
		files[i].Name = strings.Repeat("n", 200)
		files[i].Path += strings.Repeat("p", 200)
	}
	if got := inbox(files); len(got) > maxFileList+300 || !strings.HasSuffix(got, " more in /workspace/inbox)\n") || strings.Contains(got, "ccc") {
		t.Errorf("%d bytes", len(got))
	}
}
