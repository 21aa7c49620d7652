package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The ways in which a client proves at the token endpoint that it is the client.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// ClientName is how people read legwork's name at authorization servers.
const ClientName = "legwork"

// client returns legwork as the authorization server knows it: the client of the config,
// the client metadata document, an earlier registration at the same server, or a new
// registration.
func (f Config) client(ctx context.Context, meta *oauthex.AuthServerMeta, before Client) (Client, error) {
	switch {
	case f.ClientID != "":
		return Client{Issuer: meta.Issuer, ID: f.ClientID, Secret: f.ClientSecret, Auth: f.authMethod(meta.TokenEndpointAuthMethodsSupported)}, nil
	case f.Document != "" && meta.ClientIDMetadataDocumentSupported:
		return Client{Issuer: meta.Issuer, ID: f.Document, Auth: authNone}, nil
	case before.Issuer == meta.Issuer && before.ID != "" && before.ID != f.Document:
		return before, nil
	case meta.RegistrationEndpoint == "":
		return Client{}, f.noClients(meta.Issuer)
	}
	about := f.Metadata()
	if m := meta.TokenEndpointAuthMethodsSupported; len(m) > 0 && !slices.Contains(m, authNone) {
		about.TokenEndpointAuthMethod = authPost
		if !slices.Contains(m, authPost) {
			about.TokenEndpointAuthMethod = authBasic
		}
	}
	got, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, about, f.http())
	if err != nil {
		if refused, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
			err = errors.New(word(refused.ErrorCode))
		}
		return Client{}, fmt.Errorf("registering at the authorization server %s: %w", meta.Issuer, plain(err))
	}
	c := Client{Issuer: meta.Issuer, ID: got.ClientID, Secret: got.ClientSecret, Auth: got.TokenEndpointAuthMethod}
	if c.Auth == "" {
		c.Auth = about.TokenEndpointAuthMethod
	}
	return c, nil
}

// noClients says what to do at an authorization server at which legwork cannot register.
func (f Config) noClients(issuer string) error {
	address := f.Redirect
	if address == "" {
		address = "PUBLIC_URL/connections/callback"
	}
	return fmt.Errorf("the authorization server %s takes no new clients; register legwork there with the redirect address %s, and set auth.client_id", issuer, address)
}

// Metadata describes legwork to authorization servers: for a registration, and for the
// client metadata document.
func (f Config) Metadata() *oauthex.ClientRegistrationMetadata {
	kind := "web"
	if isLocal(f.Redirect) {
		kind = "native" // https://modelcontextprotocol.io/seps/837
	}
	return &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{f.Redirect}, ClientName: ClientName, ApplicationType: kind, TokenEndpointAuthMethod: authNone,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
}

// MetadataDocument is the document at the address Document, in JSON.
// https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/
func (f Config) MetadataDocument() ([]byte, error) {
	return json.Marshal(struct {
		ID string `json:"client_id"`
		*oauthex.ClientRegistrationMetadata
	}{f.Document, f.Metadata()})
}

// authMethod is how the client of the config proves that it is the client. Of the
// methods that the server supports, it prefers the one that most servers have.
func (f Config) authMethod(supported []string) string {
	switch {
	case f.Key != "":
		return authKey
	case f.ClientSecret == "":
		return authNone
	case slices.Contains(supported, authBasic) || len(supported) == 0: // the default of RFC 8414
		return authBasic
	}
	return authPost
}
