package recall

import (
	"slices"
	"testing"
)

func TestAsksForSecret(t *testing.T) {
	for _, q := range []string{
		"What is the password?", "Password?", "Which password does staging use?", "Please enter the passphrase", "What is your PIN?", "Which PIN code?",
		"Which API key should I use for Stripe?", "Can you send me the token?", "Give me your credentials.", "I need the client secret. Where is it?", "What's the one-time code?",
		"What is the 2FA code?", "Please paste the private key:", "What is the recovery key?", "Do you have an API token?", "May I have the password?", "The tests need a login. What is the root password?",
		"Wie lautet das Passwort?", "Was ist das Datenbankpasswort?", "Welcher API-Schlüssel?", "Bitte nenne mir deine PIN", "Gib mir die Zugangsdaten",
		"Quel est le mot de passe ?", "Quelle est la clé API ?", "Pouvez-vous m'envoyer vos identifiants ?", "¿Cuál es la contraseña?", "Dame el token", "¿Cuál es el código de verificación?",
		"Какой пароль?", "Пришлите токен", "Введите одноразовый код", "Какой ключ API?",
	} {
		if !AsksForSecret(q) {
			t.Errorf("%q does not ask", q)
		}
	}
	for _, q := range []string{
		"", "Which database?", "Which password manager do you use?", "Should tokens be counted?", "Which secret manager?", "What is the token limit?", "Which password hash should I use?",
		"How long should the password be?", "Where is the password stored?", "Should I rotate the token?", "I rotated the token. Which branch should I deploy?", "Is the password field required?",
		"Which key should sort the table?", "Which version should I pin?", "Which port?", "How many tokens are left?", "When does the token expire?", "May I delete the token?", "Who may reset passwords?",
		"What is the primary key?", "Which keyboard?", "Which password policy applies?", "Which code style?", "Welche Datenbank?", "Wo liegt das Passwort?", "Soll ich das Token erneuern?",
		"Welcher Passwort-Manager?", "Quelle base de données ?", "Où est le mot de passe ?", "¿Qué base de datos?", "¿Dónde está la contraseña?", "Какая база данных?", "Где хранится пароль?",
	} {
		if AsksForSecret(q) {
			t.Errorf("%q asks", q)
		}
	}
}

func TestSentences(t *testing.T) {
	got := sentences("One. Two, e.g. Go 1.26! Three?\nmain.go is four")
	if want := []string{"One.", "Two, e.g. Go 1.26!", "Three?", "main.go is four"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
