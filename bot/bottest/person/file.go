package person

import (
	"context"
	"mime"
	"path/filepath"

	"maunium.net/go/mautrix/event"
)

// Parcel is a file to send, and how.
type Parcel struct {
	Name    string
	Data    []byte
	Caption string // caption, "" for none
	Kind    string // voice, sticker, gone (the server does not have it); "" = by the name
}

// SendParcel sends a file, encrypted if the room is.
func (p *Person) SendParcel(ctx context.Context, room string, parcel Parcel) (string, error) {
	kind := mime.TypeByExtension(filepath.Ext(parcel.Name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	content := map[string]any{
		"msgtype": msgtype(kind), "body": parcel.Name, "filename": parcel.Name, "m.mentions": map[string]any{},
		"info": map[string]any{"mimetype": kind, "size": len(parcel.Data)},
	}
	if parcel.Kind == "gone" {
		content["url"] = "mxc://" + p.cli.UserID.Homeserver() + "/gone"
	} else if err := p.upload(ctx, room, parcel.Name, kind, parcel.Data, content); err != nil {
		return "", err
	}
	if parcel.Caption != "" {
		content["body"] = parcel.Caption
	}
	switch parcel.Kind {
	case "voice":
		content["msgtype"], content["org.matrix.msc3245.voice"] = "m.audio", map[string]any{}
	case "sticker":
		delete(content, "msgtype")
		delete(content, "filename")
		return p.Send(ctx, room, event.EventSticker.Type, content)
	}
	return p.Send(ctx, room, event.EventMessage.Type, content)
}
