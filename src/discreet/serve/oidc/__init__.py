"""Sign people in by a provider of OpenID Connect, with the authorisation code flow and PKCE.

    records      whom a provider signed in, and how a sign-in fails
    provider     Provider: its addresses and keys (cached, rotated), the way to it, the exchange of a code
    identity     check an ID token: signature, issuer, audience, nonce, times; return who was signed in
    pages        GET /login/oidc, GET /login/oidc/callback, POST /join/oidc: for people, without script

What is kept about a sign-in that is under way is in `accounts/identities`. The provider says who a person is. What
the person may do is decided here: an account exists, or an invitation makes one.
"""
