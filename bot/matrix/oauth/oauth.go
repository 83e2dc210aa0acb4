// Package oauth logs in to a homeserver that leaves logins to an OAuth 2.0 server, such as Matrix Authentication
// Service, and renews the tokens of such a login. It implements the device authorization grant and the refresh token
// grant of the Matrix specification (https://spec.matrix.org/v1.18/client-server-api/#oauth-20-api). It stores nothing.
package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"matrix-tui/state/clean"
)

const (
	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	refreshGrant = "refresh_token"
	maxAnswer    = 1 << 20 // bytes
)

var (
	// ErrNone means that the homeserver offers no OAuth 2.0 login with a code.
	ErrNone = errors.New("the homeserver offers no OAuth 2.0 login with a code")
	// ErrExpired means that nobody has confirmed a code in time.
	ErrExpired = errors.New("nobody has confirmed the code in time")
	// ErrDenied means that the person has refused.
	ErrDenied = errors.New("the login was refused in the browser")
	// ErrEnded means that the server does not accept the refresh token any more.
	ErrEnded = errors.New("the OAuth 2.0 server has ended the login")
)

// client follows no redirects: a token must not go elsewhere.
var client = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Server is the OAuth 2.0 server of a homeserver.
type Server struct {
	Issuer     string   `json:"issuer"`
	Grants     []string `json:"grant_types_supported"`
	Token      string   `json:"token_endpoint"`
	Device     string   `json:"device_authorization_endpoint"`
	Register   string   `json:"registration_endpoint"`
	Revocation string   `json:"revocation_endpoint"`
}

// Discover asks a homeserver for its OAuth 2.0 server.
func Discover(ctx context.Context, homeserver string) (*Server, error) {
	for _, path := range []string{"v1/auth_metadata", "unstable/org.matrix.msc2965/auth_metadata"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, homeserver+"/_matrix/client/"+path, http.NoBody)
		if err != nil {
			return nil, fmt.Errorf("discover OAuth 2.0 server: %w", err)
		}
		var s Server
		status, err := send(req, &s)
		switch {
		case err != nil:
			return nil, fmt.Errorf("discover OAuth 2.0 server: %w", err)
		case status == http.StatusNotFound: // M_UNRECOGNIZED
			continue
		case status != http.StatusOK:
			return nil, fmt.Errorf("discover OAuth 2.0 server: %s answers with status %d", homeserver, status)
		}
		return &s, s.check(strings.HasPrefix(homeserver, "https:"))
	}
	return nil, ErrNone
}

// check reports an endpoint without TLS, to which no token may go if the homeserver has it.
func (s *Server) check(secure bool) error {
	if s.Issuer == "" || s.Token == "" {
		return errors.New("discover OAuth 2.0 server: incomplete answer from the homeserver")
	}
	for _, endpoint := range []string{s.Token, s.Device, s.Register, s.Revocation} {
		if secure && endpoint != "" && !strings.HasPrefix(endpoint, "https:") {
			return fmt.Errorf("discover OAuth 2.0 server: %q does not use https", clean.Short(endpoint, 200))
		}
	}
	return nil
}

// Code is what a person has to confirm in a browser.
type Code struct {
	Link, Text string
	Complete   string // a link that contains the code; may be ""
	Until      time.Time
	Client     string // the ID to refresh the tokens with

	server *Server
	answer *oauth2.DeviceAuthResponse
}

// Begin registers a client, which belongs to a website, and requests a code for the login of a device.
func (s *Server) Begin(ctx context.Context, website, device string) (*Code, error) {
	if s.Device == "" || s.Register == "" || !slices.Contains(s.Grants, deviceGrant) {
		return nil, ErrNone
	}
	c := &Code{server: s}
	if err := c.register(ctx, website); err != nil {
		return nil, fmt.Errorf("register as an OAuth 2.0 client: %w", err)
	}
	config := s.config(c.Client, "urn:matrix:client:api:*", "urn:matrix:client:device:"+device)
	var err error
	if c.answer, err = config.DeviceAuth(withClient(ctx)); err != nil {
		return nil, fmt.Errorf("request a code: %w", short(err))
	}
	if c.answer.DeviceCode == "" || c.answer.UserCode == "" || c.answer.VerificationURI == "" || c.answer.Interval < 0 ||
		c.answer.Interval > 600 {
		return nil, errors.New("request a code: the OAuth 2.0 server's answer makes no sense")
	}
	if most := time.Now().Add(time.Hour); c.answer.Expiry.IsZero() || c.answer.Expiry.After(most) {
		c.answer.Expiry = most
	}
	c.Link, c.Text, c.Complete, c.Until = c.answer.VerificationURI, c.answer.UserCode, c.answer.VerificationURIComplete,
		c.answer.Expiry
	return c, nil
}

// register registers a client; a new one for each login, as the specification says.
func (c *Code) register(ctx context.Context, website string) error {
	body, err := json.Marshal(map[string]any{
		"client_name": "matrix-tui", "client_uri": website, "application_type": "native",
		"grant_types": []string{deviceGrant, refreshGrant}, "response_types": []string{},
		"token_endpoint_auth_method": "none",
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.Register, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	var answer struct {
		ID      string   `json:"client_id"`
		Grants  []string `json:"grant_types"`
		Error   string   `json:"error"`
		Because string   `json:"error_description"`
	}
	status, err := send(req, &answer)
	switch {
	case err != nil:
		return err
	case status != http.StatusCreated && status != http.StatusOK || answer.ID == "":
		return fmt.Errorf("the server answers with status %d: %s", status, clean.Short(answer.Error+" "+answer.Because, 200))
	case answer.Grants != nil && !slices.Contains(answer.Grants, deviceGrant):
		return ErrNone
	}
	c.Client = answer.ID
	return nil
}

// Wait waits until the person has confirmed the code. It fails with [ErrExpired] or [ErrDenied]. A server that does not
// answer, or not as OAuth 2.0 says, is asked again until the code expires.
func (c *Code) Wait(ctx context.Context) (*oauth2.Token, error) {
	config := c.server.config(c.Client)
	for {
		token, err := config.DeviceAccessToken(withClient(ctx), c.answer)
		switch code := errorCode(err); {
		case err == nil && token.RefreshToken == "":
			return nil, errors.New("fetch the tokens: the OAuth 2.0 server has sent no refresh token")
		case err == nil:
			return token, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case code == "expired_token", !time.Now().Before(c.Until):
			return nil, ErrExpired
		case code == "access_denied":
			return nil, ErrDenied
		case code != "":
			return nil, fmt.Errorf("fetch the tokens: %w", short(err))
		}
	}
}

// Refresh returns new tokens. It fails with [ErrEnded] if the server will never accept the refresh token. After any
// other error it can be called again with the same one, which stays valid until the new tokens are used.
func (s *Server) Refresh(ctx context.Context, clientID, refresh string) (*oauth2.Token, error) {
	token, err := s.config(clientID).TokenSource(withClient(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	switch errorCode(err) {
	case "invalid_grant", "invalid_client", "unauthorized_client":
		return nil, fmt.Errorf("%w: %w", ErrEnded, short(err))
	}
	if err != nil {
		return nil, short(err)
	}
	return token, nil
}

// Revoke ends the login that a token belongs to.
func (s *Server) Revoke(ctx context.Context, clientID, token string) error {
	form := url.Values{"token": {token}, "client_id": {clientID}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke the tokens: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, err := send(req, nil); err != nil || status != http.StatusOK {
		return fmt.Errorf("revoke the tokens: status %d: %w", status, err)
	}
	return nil
}

func (s *Server) config(clientID string, scopes ...string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: clientID, Scopes: scopes,
		Endpoint: oauth2.Endpoint{TokenURL: s.Token, DeviceAuthURL: s.Device, AuthStyle: oauth2.AuthStyleInParams},
	}
}

func withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, client)
}

// send decodes the answer, if it is JSON. The status says enough about any other.
func send(req *http.Request, into any) (status int, err error) {
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("read answer: %w", err)
	}
	if into != nil {
		_ = json.Unmarshal(data, into)
	}
	return resp.StatusCode, nil
}

// errorCode is the OAuth 2.0 error code of a refusal, "" for none.
func errorCode(err error) string {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.Response.StatusCode >= http.StatusInternalServerError {
		return ""
	}
	return answer.ErrorCode
}

// short describes a refusal without the whole answer.
func short(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return err
	}
	return fmt.Errorf("the OAuth 2.0 server answers with status %d: %s", answer.Response.StatusCode,
		clean.Short(cmp.Or(answer.ErrorCode+" "+answer.ErrorDescription, "no reason"), 200))
}
