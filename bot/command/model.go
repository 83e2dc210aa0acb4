package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"matrix-tui/agent/gemini"
	"matrix-tui/bot/models"
	"matrix-tui/bot/policy"
	"matrix-tui/bot/task"
	"matrix-tui/bot/text"
)

const (
	modelTime = 30 * time.Second // that !model waits for the API
	maxUsable = 10               // models that it shows
)

// ModelLine says which model a room uses, and why, in Markdown.
func ModelLine(env *task.Env) string {
	setting, from := env.Rules().Model, "GEMINI_MODEL"
	if env.Policy.Room(env.ID).Model != "" {
		from = "policy.yaml"
	}
	choice, known := env.Models.Now(setting)
	switch {
	case !known:
		return fmt.Sprintf("The model has not been chosen yet (`%s`, from %s).", setting, from)
	case models.Moves(setting):
		return fmt.Sprintf("The model is `%s` (`%s`, from %s: %s).", choice.Name, setting, from, choice.Why)
	}
	return fmt.Sprintf("The model is `%s` (%s, in %s).", choice.Name, choice.Why, from)
}

const modelUsage = "Owners set this room's model with `!model auto`, `!model pro`, `!model flash` or `!model NAME`; " +
	"`!model default` follows the other rooms."

// model runs !model: it shows the choice of models, or sets the room's.
func model(ctx context.Context, c *Call) (string, error) {
	setting := c.text
	call, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	if setting == "" {
		return strings.Join([]string{ModelLine(c.Env), c.usableLine(call), modelUsage}, "\n\n"), nil
	}
	if !c.byOwner() {
		return "Only my owners can set the model.", nil
	}
	if said, err := c.Proof.Missing(ctx, c.Row.Event, policy.ProofOwners); err != nil || said != "" {
		return said, err
	}
	untried := ""
	if lower := strings.ToLower(setting); lower == "default" || models.Moves(lower) {
		setting = lower
	}
	if setting != "default" {
		_, err := c.Env.Models.Try(call, setting)
		var refused *gemini.Refusal
		if errors.As(err, &refused) && !refused.Passes() {
			return fmt.Sprintf("Nothing was changed: %s cannot be used, because %s.\n\n%s",
				text.Code(setting), models.Reason(err), c.usableLine(call)), nil
		}
		if err != nil {
			untried = " It could not be tried: " + models.Reason(err) + "."
		}
	}
	if err := c.Env.Policy.Set(c.Env.ID, "model", setting); err != nil {
		return refused(err)
	}
	return "Done. " + ModelLine(c.Env) + untried + " The next task uses it.", nil
}

// usableLine lists the models that the key may use.
func (c *Call) usableLine(ctx context.Context) string {
	names, err := c.Env.Models.Usable(ctx, maxUsable)
	switch {
	case err != nil:
		return "The models cannot be listed: " + models.Reason(err) + "."
	case len(names) == 0:
		return "The key gives access to no model that I can use."
	}
	return "The key may use `" + strings.Join(names, "`, `") + "`."
}
