"""The guarded loopback server for programs: client credentials by secret or key, and a company's sign-in (ID-JAG)."""

import base64
import json
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.oauth_server import OAuthWorld, Reply, reply

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
CLIENT, SECRET = "runner", "hush:hush/1"
ID_TOKEN = "aWQ.dG9rZW4.c2ln"


def pem(key: PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@dataclass
class GrantWorld(OAuthWorld):
    """`key` is what the client signs with; `takes` how a secret is taken; `busy` counts 503 answers still to come."""

    client: str = CLIENT
    key: PrivateKey | None = None
    takes: tuple[str, ...] = ("client_secret_basic", "client_secret_post")
    busy: int = 0
    idp_answers: dict[str, object] = field(default_factory=dict)
    idp_refuses: str = ""
    forms: list[dict[str, str]] = field(default_factory=list)

    def answer(self, verb: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        path = urlsplit(target).path
        if path not in ("/as/token", "/idp/token"):
            return super().answer(verb, target, headers, body)
        self.seen.append(f"{verb} {path}")
        form = {k: v[0] for k, v in parse_qs(body.decode()).items()}
        form["basic"] = basic(headers.get("authorization", ""))
        self.forms.append(form)
        return self._exchange(form) if path == "/idp/token" else self._grant(form)

    def _metadata(self) -> dict[str, object]:
        return {**super()._metadata(), "token_endpoint_auth_methods_supported": list(self.takes)}

    def _exchange(self, form: dict[str, str]) -> Reply:
        if self.idp_refuses:
            return reply({"error": self.idp_refuses, "error_description": form["subject_token"]}, 400)
        assert (form["grant_type"], form["requested_token_type"]) == (EXCHANGE, ID_JAG)
        jag = self._secret("jag")
        return reply(
            {"access_token": jag, "issued_token_type": ID_JAG, "token_type": "N_A", **self.idp_answers}
        )

    def _grant(self, form: dict[str, str]) -> Reply:
        if self.busy:
            self.busy -= 1
            return reply({"error": "temporarily_unavailable"}, 503)
        if form["grant_type"] == BEARER:
            known = self._knows(form) and form["assertion"] in self.secrets
        else:
            assert form["grant_type"] == "client_credentials"
            known = self._signed(form) if self.key else self._knows(form)
        if not known:
            return reply({"error": "invalid_client", "error_description": json.dumps(form)}, 401)
        return self._give(form.get("scope", ""), new_refresh=False)

    def _knows(self, form: dict[str, str]) -> bool:
        if form["basic"]:
            return "client_secret_basic" in self.takes and form["basic"] == f"{self.client}:{SECRET}"
        return "client_secret_post" in self.takes and form.get("client_secret") == SECRET

    def _signed(self, form: dict[str, str]) -> bool:
        assert self.key is not None
        algorithms = ["RS256", "ES256", "ES384", "EdDSA"]
        token = form.get("client_assertion", "")
        try:
            said = jwt.decode(
                token, self.key.public_key(), algorithms=algorithms, audience=f"{self.origin}/as"
            )
        except jwt.InvalidTokenError:
            return False
        self.secrets.append(token)
        return bool(said["iss"] == said["sub"] == self.client and said["jti"])


def basic(header: str) -> str:
    kind, _, code = header.partition(" ")
    return unquote(base64.b64decode(code).decode()) if kind == "Basic" else ""
