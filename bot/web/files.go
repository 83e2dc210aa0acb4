package web

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"matrix-tui/bot"
	"matrix-tui/bot/text"
	"matrix-tui/state/sentence"
)

const (
	maxUploadName = 255         // bytes, as file systems have it
	maxEntries    = 1000        // of a folder
	maxUpload     = 4 << 30     // bytes of a form with files
	transferTime  = time.Hour   // how long a file may be copied
	transferGap   = time.Minute // how long a browser may take for the next piece of a file
	uploadRoute   = "POST /r/{room}/files/{path...}"
)

// folder is the page of a folder of a room's workspace.
type folder struct {
	bot.Found
	Room string
	Path string // below the workspace
	Way  []step // to the folder, from the workspace
}

// step is a folder on the way to another one.
type step struct{ Name, Path string }

// workspace is the part of the page with rooms' files.
type workspace struct{ *site }

// browse shows a folder, or sends a file.
func (s workspace) browse(w http.ResponseWriter, v visit) {
	n, _ := strconv.Atoi(v.URL.Query().Get("saved"))
	s.showFolder(w, v, http.StatusOK, saved{files: min(max(n, 0), maxEntries)}.said())
}

func (s workspace) showFolder(w http.ResponseWriter, v visit, status int, said string) {
	ctx, cancel := context.WithTimeout(v.Context(), maxTime)
	defer cancel()
	at, room := strings.Trim(v.PathValue("path"), "/"), v.PathValue("room")
	if !s.looks.begin(v.who.User) {
		s.busy(w)
		return
	}
	found, err := s.box.Look(ctx, v.who, room, at)
	s.looks.end(v.who.User)
	switch {
	case s.answered(w, err):
	case found.File:
		s.download(w, v, at, found.Size)
	case !found.Folder:
		s.fail(w, http.StatusNotFound, noPage)
	default:
		page := page{Title: "Files", User: v.who.User, Said: said, Data: folder{found, room, at, way(at)}}
		if at != "" {
			page.Title = fileName([]byte(path.Base(at)))
		}
		s.show(w, status, "folder", page)
	}
}

// way returns the folders that lead to a path.
func way(at string) (steps []step) {
	for i, name := range strings.Split(at, "/") {
		if name != "" {
			steps = append(steps, step{fileName([]byte(name)), strings.Join(strings.Split(at, "/")[:i+1], "/")})
		}
	}
	return steps
}

// fileName returns a file's name as people read it.
func fileName(name []byte) string {
	if shown := text.OneLine(strings.ToValidUTF8(string(name), "\uFFFD"), 255); shown != "" {
		return shown
	}
	return "(no name)"
}

// filePath returns the address of a file: each part of a path is escaped, whatever its bytes are.
func filePath(parts ...string) string {
	var b strings.Builder
	for _, part := range strings.Split(strings.Trim(strings.Join(parts, "/"), "/"), "/") {
		b.WriteString("/" + url.PathEscape(part))
	}
	return strings.TrimPrefix(b.String(), "/")
}

// download sends a file, which a browser saves and never shows: an agent may have written it.
func (s workspace) download(w http.ResponseWriter, v visit, at string, size int64) {
	ctx, end := s.transfer(w, v)
	if end == nil {
		return
	}
	defer end()
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": fileName([]byte(path.Base(at)))}))
	header.Set("Content-Length", strconv.FormatInt(size, 10))
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	to := &slow{w: w, control: http.NewResponseController(w)}
	_ = to.control.SetReadDeadline(time.Time{}) // it would end the request
	err := s.box.Download(ctx, v.who, v.PathValue("room"), at, size, to)
	switch {
	case err == nil:
	case !to.begun:
		header.Del("Content-Disposition")
		header.Del("Content-Length")
		header.Set("Content-Security-Policy", policy)
		s.answered(w, err)
	default:
		s.log.Debug().Err(err).Msg("a download has broken off")
		panic(http.ErrAbortHandler) // so that the browser does not take what it has for the file
	}
}

// transfer returns a context that ends when a file may no longer be copied, and what ends the transfer: nil if there
// are too many, as the visitor has been told.
func (s workspace) transfer(w http.ResponseWriter, v visit) (ctx context.Context, end func()) {
	if !s.transfers.begin(v.who.User) {
		s.busy(w)
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(v.Context(), transferTime)
	stop := context.AfterFunc(s.life, cancel)
	session := s.value(v.Request, sessionCookie)
	go func() {
		defer stop()
		s.previews.attend(ctx, session, v.PathValue("room"))
		cancel()
	}()
	return ctx, func() {
		cancel()
		s.transfers.end(v.who.User)
	}
}

// busy says that there is too much to do.
func (s workspace) busy(w http.ResponseWriter) {
	s.fail(w, http.StatusServiceUnavailable, "Too much is going on here at the same time. Try again in a minute.")
}

// slow is a response, or a request, for whose next piece a browser has transferGap.
type slow struct {
	w       io.Writer
	r       io.Reader
	control *http.ResponseController
	begun   bool
}

// Write sends b.
func (s *slow) Write(b []byte) (int, error) {
	s.begun = true
	if err := s.control.SetWriteDeadline(time.Now().Add(transferGap)); err != nil {
		return 0, err
	}
	return s.w.Write(b)
}

// Read reads what the browser sends.
func (s *slow) Read(b []byte) (int, error) {
	deadline := time.Now().Add(transferGap)
	if err := errors.Join(s.control.SetReadDeadline(deadline), s.control.SetWriteDeadline(deadline)); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

// upload writes the files of a form into a folder, and shows it.
func (s workspace) upload(w http.ResponseWriter, v visit) {
	ctx, end := s.transfer(w, v)
	if end == nil {
		return
	}
	defer end()
	if s.answered(w, s.box.Sees(ctx, v.who, v.PathValue("room"))) { // before anything is read
		return
	}
	v.Body = io.NopCloser(&slow{r: v.Body, control: http.NewResponseController(w)})
	form, err := v.MultipartReader()
	if err != nil {
		s.fail(w, http.StatusBadRequest, incomplete)
		return
	}
	var done saved
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.fail(w, http.StatusBadRequest, incomplete)
			return
		}
		if part.FormName() != "file" || part.FileName() == "" {
			continue
		}
		if err := s.take(ctx, v, part, &done); err != nil {
			s.notTaken(w, err, done)
			return
		}
	}
	switch {
	case len(done.there) > 0:
		s.showFolder(w, v, http.StatusConflict, done.said())
	case done.files == 0:
		s.fail(w, http.StatusBadRequest, "You have chosen no file. Go back, and choose one.")
	default:
		http.Redirect(w, v.Request, "/r/"+url.PathEscape(v.PathValue("room"))+"/files/"+filePath(v.PathValue("path"))+
			"?saved="+strconv.Itoa(done.files), http.StatusSeeOther)
	}
}

// saved is what became of a form's files.
type saved struct {
	files int
	there []string // whose names there are already
}

func (d saved) said() string {
	said := ""
	if d.files > 0 {
		said = text.Plural(d.files, "file was", "files were") + " saved. "
	}
	for _, name := range d.there {
		said += "There is already something called " + text.Code(name) + ", and I have not changed it. "
	}
	if len(d.there) > 0 {
		said += "Rename one of the two, and upload it again."
	}
	return said
}

// take writes one file, unless there is one of its name.
func (s workspace) take(ctx context.Context, v visit, part *multipart.Part, done *saved) error {
	name := uploadName(part.FileName())
	err := s.box.Upload(ctx, v.who, v.PathValue("room"), strings.Trim(v.PathValue("path")+"/"+name, "/"), name, part)
	switch {
	case errors.Is(err, bot.ErrFileExists):
		done.there = append(done.there, name)
		return nil
	case err == nil:
		done.files++
	}
	return err
}

// uploadName returns the name of a file as a browser gives it: the last part of a path, without what no name should
// have. Browsers escape a few characters: https://html.spec.whatwg.org/#multipart-form-data.
func uploadName(given string) string {
	name := strings.NewReplacer("%22", `"`, "%0D", " ", "%0A", " ").Replace(given)
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = text.Cut(strings.TrimSpace(text.OneLine(name, 4*maxUploadName)), maxUploadName)
	if name == "" || name == "." || name == ".." || name == "/" {
		return "file"
	}
	return name
}

// notTaken says why a file was not written, and what became of those before it.
func (s workspace) notTaken(w http.ResponseWriter, err error, done saved) {
	var long *http.MaxBytesError
	said, known := sentence.Of(err)
	switch {
	case errors.As(err, &long):
		s.fail(w, http.StatusRequestEntityTooLarge, done.said()+"The files are too large together: I take up to "+
			text.Size(long.Limit)+" at once.")
	case known:
		s.fail(w, http.StatusServiceUnavailable, done.said()+said)
	default:
		s.answered(w, err)
	}
}
