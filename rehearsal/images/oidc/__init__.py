"""People who sign in: the real oauth2-proxy, and a stand-in for the issuer that vouches for them."""
