package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"slices"
	"time"

	"legwork/llm"
	"legwork/llm/offline"
)

// mediaTime bounds one call of a role other than chat: pictures take long.
const mediaTime = 3 * time.Minute

// probeModels calls each model by itself, without its fallbacks: by a chat, and by the
// call of each of the roles vision, transcribe, image and speech that it may have.
func probeModels(ctx context.Context, config llm.Config) ([]row, error) {
	alone := llm.Config{Models: map[string]llm.ModelConfig{}, Roles: config.Roles}
	for name, m := range config.Models {
		m.Fallback = nil
		alone.Models[name] = m
	}
	models, err := llm.New(alone, llm.Options{Offline: offline.StandIn(alone, offline.Options{})})
	if err != nil {
		return nil, err
	}
	defer models.Close()
	chats, roles := modelCalls(config)
	rows := sideBySide(slices.Concat(chats, roles), func(c modelCall) row {
		return try(ctx, c.within, c.model, c.kind, models.Config().Models[c.model].Model, func(ctx context.Context) (string, error) {
			err := c.make(ctx, models, c.model)
			if errors.Is(err, context.DeadlineExceeded) {
				err = errors.New("no reply within " + c.within.String())
			}
			if e := (*llm.Error)(nil); errors.As(err, &e) && slices.Contains([]llm.Problem{llm.Unreachable, llm.Invalid}, e.Problem) && speaksTLS(ctx, models.Config().Models[c.model]) {
				err = llm.ErrSpeaksTLS
			}
			return "", err
		})
	})
	return rows, nil
}

// modelCall is one call of one model.
type modelCall struct {
	model, kind string
	within      time.Duration
	make        func(ctx context.Context, models *llm.Models, name string) error
}

// modelCalls lists the calls to try. A model that only transcribes, paints or speaks
// need not know chats.
func modelCalls(config llm.Config) (chats, roles []modelCall) {
	noChat := map[string]bool{}
	for _, r := range []struct {
		role string
		make func(context.Context, *llm.Models, string) error
	}{{llm.RoleVision, look}, {llm.RoleTranscribe, listen}, {llm.RoleImage, paint}, {llm.RoleSpeech, speak}} {
		for _, name := range config.Chain(r.role) {
			roles = append(roles, modelCall{name, r.role, mediaTime, r.make})
			noChat[name] = noChat[name] || r.role != llm.RoleVision
		}
	}
	filled := config.WithDefaults()
	for _, role := range llm.Roles()[:4] {
		for _, name := range filled.Chain(role) {
			delete(noChat, name)
		}
	}
	for _, name := range filled.Names() {
		if !noChat[name] {
			chats = append(chats, modelCall{name, "model", probeTime, ask})
		}
	}
	return chats, roles
}

// ask makes one call of a model, as small as it can be.
func ask(ctx context.Context, models *llm.Models, name string) error {
	return askAbout(ctx, models, name, nil)
}

func askAbout(ctx context.Context, models *llm.Models, name string, images []llm.Image) error {
	_, err := models.Call(ctx, llm.Request{
		Role: llm.RoleAnswer, Model: name, Messages: []llm.Message{{Role: llm.User, Content: "Reply with the single word ok.", Images: images}},
	}, nil)
	return err
}

// look shows a white picture; some models refuse smaller ones.
func look(ctx context.Context, models *llm.Models, name string) error {
	picture := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range picture.Pix {
		picture.Pix[i] = 0xff
	}
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		return fmt.Errorf("making a picture: %w", err)
	}
	return askAbout(ctx, models, name, []llm.Image{{Type: "image/png", Data: data.Bytes()}})
}

// listen sends a second of silence. A model that hears no words in it works.
func listen(ctx context.Context, models *llm.Models, name string) error {
	data := silence()
	_, err := models.Transcribe(ctx, llm.Transcription{
		Model: name, Audio: io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), Type: "audio/wav", Length: time.Second,
	})
	if errors.Is(err, llm.ErrSilence) {
		return nil
	}
	return err
}

// silence is a WAV file of one second: 16,000 samples of 16 bits.
func silence() []byte {
	const rate, size = 16000, 2 * 16000
	le := binary.LittleEndian
	out := le.AppendUint32([]byte("RIFF"), 36+size)
	out = le.AppendUint32(append(out, "WAVEfmt "...), 16)
	out = le.AppendUint16(le.AppendUint16(out, 1), 1) // PCM, mono
	out = le.AppendUint32(le.AppendUint32(out, rate), 2*rate)
	out = le.AppendUint16(le.AppendUint16(out, 2), 16)
	out = le.AppendUint32(append(out, "data"...), size)
	return append(out, make([]byte, size)...)
}

func paint(ctx context.Context, models *llm.Models, name string) error {
	_, err := models.Paint(ctx, llm.Painting{Model: name, Prompt: "A white square"})
	return err
}

func speak(ctx context.Context, models *llm.Models, name string) error {
	_, err := models.Speak(ctx, llm.Speech{Model: name, Text: "Hello", Format: "opus"})
	return err
}
