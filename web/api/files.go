package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/files"
	"legwork/internal/failpoint"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// UploadPath is the path of the only call whose body is not in memory: the server
// around the API passes it on as it arrives.
const UploadPath = "/v1/files"

// IsUpload reports whether the body of a request is a stream.
func IsUpload(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == UploadPath }

type (
	uploadRequest struct{}
	uploadReply   struct {
		Location string `header:"Location" doc:"The address of the file."`
		Body     api.File
	}
	downloadRequest struct {
		ID string `path:"id" doc:"Id of the file."`
	}
	downloadReply struct {
		ETag        string `header:"ETag" doc:"The id in quotes."`
		Disposition string `header:"Content-Disposition" doc:"An attachment, with the name of the file."`
		Policy      string `header:"Content-Security-Policy" doc:"'sandbox': a browser runs nothing of it."`
		Ranges      string `header:"Accept-Ranges" doc:"'bytes'."`
		Range       string `header:"Content-Range" doc:"Which part it is."`
		Body        func(huma.Context)
	}
)

type uploadKey struct{}

// withUpload gives the handler of an upload the request.
func withUpload(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), uploadKey{}, r))
}

func (c *calls) upload(ctx context.Context, _ *uploadRequest) (*uploadReply, error) {
	r, _ := ctx.Value(uploadKey{}).(*http.Request)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, notMultipart(`Send the file with the header Content-Type: multipart/form-data, as the part "file".`)
	}
	part, err := parts.NextPart()
	if err != nil {
		return nil, brokenUpload(err)
	}
	if part.FormName() != "file" || part.FileName() == "" {
		return nil, invalid("body.file", `expected one part with the name "file" and a file name`)
	}
	f, err := c.Service.Upload(ctx, api.Caller(ctx), part.FileName(), &uploadReader{part: part, parts: parts})
	var wrong *readError
	switch {
	case errors.As(err, &wrong):
		return nil, wrong.problem
	case errors.Is(err, files.ErrLarge):
		return nil, problem.New(problem.Large, strings.TrimSuffix(api.Sentence(errors.Unwrap(err)), ".")+" (files.max_bytes of the config).")
	case err != nil:
		return nil, err
	}
	failpoint.Hit("upload.before.reply")
	return &uploadReply{UploadPath + "/" + string(f.ID), f}, nil
}

// notMultipart refuses a body of another type.
func notMultipart(detail string) *problem.Error {
	p := problem.New(problem.Media, detail)
	p.GetHeaders().Set("Accept", "multipart/form-data")
	return p
}

// uploadReader reads the part with the file. At its end the body must end too: a file
// is not kept before that.
type uploadReader struct {
	part  io.Reader
	parts *multipart.Reader
	end   error // at the end
}

// Read implements io.Reader.
func (r *uploadReader) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.part.Read(p)
	if err != io.EOF {
		if err != nil {
			err = &readError{brokenUpload(err)}
		}
		return n, err
	}
	switch _, more := r.parts.NextPart(); {
	case more == nil:
		err = &readError{invalid("body", "has more than one part; send one file with each request")}
	case more != io.EOF:
		err = &readError{brokenUpload(more)}
	}
	r.end = err
	return n, err
}

// readError is a mistake in the body of an upload.
type readError struct{ problem *problem.Error }

func (e *readError) Error() string { return e.problem.Error() }

// brokenUpload says why a body cannot be read.
func brokenUpload(err error) *problem.Error {
	p := problem.New(problem.Malformed, "The body did not arrive completely, or is not multipart/form-data.")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p = problem.New(problem.Slow, "The rest of the file did not arrive in time.")
	}
	p.GetHeaders().Set("Connection", "close")
	return p
}

func (c *calls) download(ctx context.Context, in *downloadRequest) (*downloadReply, error) {
	f, content, err := c.Service.OpenFile(ctx, api.Caller(ctx), files.ID(in.ID))
	if err != nil {
		return nil, err
	}
	return &downloadReply{
		ETag:        `"` + string(f.ID) + `"`,
		Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}), // RFC 6266
		Policy:      "sandbox",
		Body: func(hc huma.Context) {
			defer func() { _ = content.Close() }() // it was only read
			r, w := humago.Unwrap(hc)
			w.Header().Set("Content-Type", f.Type)
			http.ServeContent(w, r, "", time.Time{}, content)
		},
	}, nil
}

func (c *calls) registerFiles(h huma.API) {
	register(c, h, operation{
		method: http.MethodPost, path: UploadPath, id: "uploadFile", tag: "files", status: http.StatusCreated, upload: true,
		summary: "Upload a file", op: policy.OpAdd,
		text: "For `files` of a task or a message. The body is `multipart/form-data` with one part, `file`, which has a file name. The reply comes when the file is on the disk.\n\n" +
			"An upload belongs to the token. It is deleted when no task uses it within 24 hours. The same content has the same id.",
		problems: []problem.Code{problem.Room}, answer: exampleFile(),
	}, c.upload)
	register(c, h, operation{
		method: http.MethodGet, path: UploadPath + "/{id}", id: "getFile", tag: "files", binary: true,
		summary: "Read a file", op: policy.OpRead,
		text: "The content of a file of a task that the token may see, or of its own upload. Take it as a download: it may be anything. " +
			"`Range`, `If-Range` and `If-None-Match` are understood.",
		also: []reply{
			{status: http.StatusPartialContent, text: "The part that `Range` asks for.", withBody: true},
			{status: http.StatusNotModified, text: "You have it already, as `If-None-Match` says."},
			{status: http.StatusRequestedRangeNotSatisfiable, text: "The file has no such part."},
		},
	}, c.download)
}

// exampleFile is a file in examples of the document.
func exampleFile() api.File {
	return api.File{ID: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Name: "offers.pdf", Type: "application/pdf", Bytes: 48213}
}
