package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/models"
	"matrix-tui/bot/policy"
	"matrix-tui/cmd/matrix-tui/settings"
	"matrix-tui/state/clean"
)

// modelsTime bounds the check of all models. One choice tries several.
const modelsTime = 2 * time.Minute

// checkModels generates one token with each configured model, and one embedding if they are on. After a problem with
// the key, the region or the network it asks no further.
func checkModels(ctx context.Context, cfg *settings.Config, say func(Finding)) {
	if !cfg.GeminiKey.Set() {
		say(skipped("model cannot be checked until it is configured"))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	base, err := url.Parse(string(cfg.GeminiURL))
	if err != nil {
		say(bad("model API: GEMINI_BASE_URL cannot be read (%v)", err))
		return
	}
	client := &gemini.Client{Base: base, Key: cfg.GeminiKey.Reveal()}
	known := models.Open(string(cfg.StateDir), client, zerolog.Nop())
	for _, setting := range policy.Open(string(cfg.StateDir), zerolog.Nop()).Now().Models(string(cfg.GeminiModel)) {
		now, _ := known.Now(setting)
		if err = nil; models.Moves(setting) {
			now, err = models.Ask(ctx, client, setting, now.Name, func(string, error) {})
		} else {
			err = client.Try(ctx, now.Name)
		}
		f, final := judgeModel(cfg, setting, now, err)
		if f.Bad && !final && !models.Moves(setting) {
			if names, err := known.Usable(ctx, 3, now.Name); err == nil && len(names) > 0 {
				f = bad("%s; these answer: %s", f.Text, strings.Join(names, ", "))
			}
		}
		say(f)
		if final {
			return
		}
	}
	if cfg.Embeddings == settings.GeminiEmbeddings {
		name := string(cfg.EmbeddingModel)
		f, _ := judgeModel(cfg, name, models.Choice{Name: name, Why: "for embeddings, GEMINI_EMBEDDING_MODEL"},
			client.TryEmbed(ctx, name))
		say(f)
	}
}

// judgeModel is the finding about a setting that stands for a model. final says that all other models have the same
// problem.
func judgeModel(cfg *settings.Config, setting string, c models.Choice, err error) (f Finding, final bool) {
	at, name := string(cfg.GeminiURL), setting
	why := c.Why
	if models.Moves(setting) {
		name, why = c.Name, setting+": "+why
		if name == "" {
			name = setting
		}
	}
	var r *gemini.Refusal
	if err != nil && !errors.As(err, &r) {
		r = &gemini.Refusal{Kind: gemini.Network, Message: models.Reason(err)}
	}
	if r == nil {
		return good("model %s at %s answers (%s)", name, at, why), false
	}
	var words []string
	if r.Status != 0 {
		words = append(words, fmt.Sprint(r.Status))
	}
	said := clean.Short(strings.Join(append(words, r.Message), " "), 250)
	switch r.Kind {
	case gemini.WrongKey:
		return bad("model API %s rejects the key (%s): check GEMINI_API_KEY", at, said), true
	case gemini.Region:
		return bad("model API %s has no service in the region of this host (%s): run the bot in a region that "+
			"https://ai.google.dev/gemini-api/docs/available-regions lists, or set HTTPS_PROXY to a proxy there", at, said), true
	case gemini.Network:
		return bad("model API %s does not answer (%s): check GEMINI_BASE_URL and the network", at, said), true
	case gemini.NoModel:
		if name == models.Auto {
			return bad("no model is available to this key (%s): use another key, or check its project and billing", said), false
		}
		return bad("model %s is not available to this key (%s): set GEMINI_MODEL, or the policy's model, to auto or to a "+
			"model that answers", name, said), false
	case gemini.Overload:
		return skipped("model %s at %s is overloaded (%s): tasks wait for it; try again later", name, at, said), false
	case gemini.Quota:
		return judgeQuota(name, at, said, r), false
	}
	return bad("model %s at %s refused to answer (%s): check GEMINI_BASE_URL and GEMINI_MODEL", name, at, said), false
}

func judgeQuota(name, at, said string, r *gemini.Refusal) Finding {
	switch {
	case r.None:
		return bad("model %s: the key has no quota for it (%s): enable billing for the key, or set GEMINI_MODEL to auto or "+
			"flash", name, said)
	case r.PerDay:
		return bad("model %s: the key's daily quota is used up (%s): wait until it returns, raise it, or set "+
			"GEMINI_MODEL to another model", name, said)
	}
	return good("model %s at %s accepts the key, but its quota is used up at the moment", name, at)
}
