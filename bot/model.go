package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/models"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/text"
	"matrix-tui/state"
)

const (
	modelTime = 30 * time.Second // that !model waits for the API
	maxUsable = 10               // models that it shows
)

// modelSettings returns the settings of the bot and its rooms that mean different models in the course of time.
func (b *Bot) modelSettings() []string {
	return slices.DeleteFunc(b.policy.Now().Models(b.Model), func(setting string) bool { return !models.Moves(setting) })
}

// modelLine says which model the room uses, and why.
func (r *room) modelLine() string {
	setting, from := r.env.ModelSetting(), "GEMINI_MODEL"
	if r.bot.policy.Room(r.id).Model != "" {
		from = "policy.yaml"
	}
	c, known := r.bot.Models.Now(setting)
	switch {
	case !known:
		return fmt.Sprintf("The model has not been chosen yet (`%s`, from %s).", setting, from)
	case models.Moves(setting):
		return fmt.Sprintf("The model is `%s` (`%s`, from %s: %s).", c.Name, setting, from, c.Why)
	}
	return fmt.Sprintf("The model is `%s` (%s, in %s).", c.Name, c.Why, from)
}

const modelUsage = "Owners set this room's model with `!model auto`, `!model pro`, `!model flash` or `!model NAME`; `!model default` follows the other rooms."

// doModel runs !model: it shows the choice of models, or sets the room's.
func (r *room) doModel(ctx context.Context, row state.Event, setting string) error {
	call, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	if setting == "" {
		return r.tell(ctx, row, strings.Join([]string{r.modelLine(), r.usableLine(call), modelUsage}, "\n\n"))
	}
	if !r.bot.isOwner(row.Sender) {
		return r.tell(ctx, row, "Only my owners can set the model.")
	}
	if unproven, err := r.bot.proof.Missing(ctx, row.Event, policy.ProofOwners); err != nil {
		return err
	} else if unproven != "" {
		return r.tell(ctx, row, unproven)
	}
	said := ""
	if lower := strings.ToLower(setting); lower == "default" || models.Moves(lower) {
		setting = lower
	}
	if setting != "default" {
		_, err := r.bot.Models.Try(call, setting)
		var refused *gemini.Refusal
		if errors.As(err, &refused) && !refused.Passes() {
			return r.tell(ctx, row, fmt.Sprintf("Nothing was changed: %s cannot be used, because %s.\n\n%s", text.Code(setting), models.Reason(err), r.usableLine(call)))
		}
		if err != nil {
			said = " It could not be tried: " + models.Reason(err) + "."
		}
	}
	if err := r.bot.policy.Set(r.id, "model", setting); err != nil {
		return r.refuse(ctx, row, err)
	}
	return r.tell(ctx, row, "Done. "+r.modelLine()+said+" The next task uses it.")
}

// usableLine lists the models that the key may use.
func (r *room) usableLine(ctx context.Context) string {
	names, err := r.bot.Models.Usable(ctx, maxUsable)
	switch {
	case err != nil:
		return "The models cannot be listed: " + models.Reason(err) + "."
	case len(names) == 0:
		return "The key may use no model that I know how to use."
	}
	return "The key may use `" + strings.Join(names, "`, `") + "`."
}
