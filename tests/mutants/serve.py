"""The service: sessions, tokens, turns, ticks, keys, sign-in by a provider, and what an error says."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SESSIONS = "tests/serve/test_sessions.py"
API = "tests/serve/test_api.py"
ACCOUNTS = "tests/serve/accounts/test_accounts.py"
TURNS = "tests/serve/accounts/test_turns.py"
OIDC = "tests/serve/test_oidc.py"
REFUSED = f"{OIDC}::test_what_does_not_prove_a_person_is_refused"

SERVE = [
    Mutant(
        "session: the key that a browser brings is adopted",
        "serve/console/session.py",
        'headers={"location": "/"}, cookies=[cookie(service, key)])',
        'headers={"location": "/"}, cookies=[cookie(service, request.cookies.get(name, key))])',
        f"{SESSIONS}::test_a_key_that_a_browser_brings_is_never_adopted",
    ),
    Mutant(
        "session: an old session lives on after a sign-in",
        "serve/oidc/pages.py",
        "    if old := request.cookies.get(cookie_name(service)):",
        '    if old := "":',
        f"{OIDC}::test_a_person_with_an_account_signs_in_and_gets_a_session_of_the_service",
    ),
    Mutant(
        "session: it never ends",
        "serve/accounts/accounts.py",
        "        if not rows or now >= rows[0][2] + self._longest or now >= rows[0][3] + self._idle:",
        "        if not rows:",
        ACCOUNTS,
    ),
    Mutant(
        "guards: a form of another site is taken",
        "serve/guards.py",
        "    if not own:",
        "    if False:",
        f"{SESSIONS}::test_a_change_from_another_site_is_refused",
    ),
    Mutant(
        "guards: the API takes the cookie of a session",
        "serve/guards.py",
        '    scheme, _, token = connection.headers.get("authorization", "").partition(" ")\n'
        "    service = service_of(connection)",
        '    scheme, _, token = connection.headers.get("authorization", "").partition(" ")\n'
        "    service = service_of(connection)\n"
        "    if cookie_name(service) in connection.cookies:\n"
        "        return await by_session(connection, handler)",
        f"{SESSIONS}::test_a_session_opens_the_console_and_not_the_api",
    ),
    Mutant(
        "accounts: the scope of a token is not looked at",
        "serve/accounts/accounts.py",
        "        scope = _names(verbs) & _verbs(Role(role))",
        "        scope = _verbs(Role(role))",
        f"{API}::test_a_token_does_no_more_than_its_scope",
    ),
    Mutant(
        "actor: verbs are not looked at",
        "serve/accounts/records.py",
        "        if verb not in self.verbs:",
        "        if False:",
        f"{API}::test_a_token_does_no_more_than_its_scope",
    ),
    Mutant(
        "actor: a vault is seen without a grant",
        "serve/accounts/records.py",
        "scoped and (self.role is not Role.ANALYST or any(grant.vault == vault for grant in self.grants))",
        "scoped",
        ACCOUNTS,
    ),
    Mutant(
        "accounts: an expired token is accepted",
        "serve/accounts/accounts.py",
        "        if disabled or revoked or self.now() >= expires:",
        "        if disabled or revoked:",
        ACCOUNTS,
    ),
    Mutant(
        "accounts: a revoked token is accepted",
        "serve/accounts/accounts.py",
        "        if disabled or revoked or self.now() >= expires:",
        "        if disabled or self.now() >= expires:",
        ACCOUNTS,
    ),
    Mutant(
        "accounts: an invitation is used again",
        "serve/accounts/accounts.py",
        "        if not rows or rows[0][3] or self.now() >= rows[0][2]:",
        "        if not rows or self.now() >= rows[0][2]:",
        ACCOUNTS,
    ),
    Mutant(
        "secrets: keys are stored as they are",
        "serve/accounts/secrets.py",
        '    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()',
        "    return key",
        ACCOUNTS,
    ),
    Mutant(
        "questions: an answer leaves when it is computed",
        "serve/questions.py",
        "            if not public:\n                await until_tick(running.begun, self._quantum)",
        "            if False:\n                await until_tick(running.begun, self._quantum)",
        "tests/serve/test_resealed.py",
    ),
    Mutant(
        "questions: a second request runs beside a question",
        "serve/questions.py",
        "        if name in self._running:\n            raise self._turns.refusal()",
        "        if False:\n            raise self._turns.refusal()",
        "tests/serve/test_faults.py::test_a_worker_killed_amid_a_question_overspends_nothing_and_says_so",
    ),
    Mutant(
        "questions: a refusal beside a question leaves at once",
        "serve/questions.py",
        "            await until_tick(begun, self._quantum)\n            raise",
        "            raise",
        "tests/serve/test_faults.py::test_a_worker_killed_amid_a_question_overspends_nothing_and_says_so",
    ),
    Mutant(
        "questions: a poll of another question leaves at once",
        "serve/questions.py",
        "        if actor.name in self._running or not await self._turns.free(actor.name):",
        "        if self._running.get(actor.name, _Running('', '', 0)).id == id_:",
        "tests/serve/test_faults.py::test_a_worker_killed_amid_a_question_overspends_nothing_and_says_so",
    ),
    Mutant(
        "turns: a question takes no slot",
        "serve/accounts/turns.py",
        "                if not await self._taken(name, shared=False):\n                    raise self.refusal()",
        "                pass",
        f"{TURNS}::test_a_question_of_one_server_refuses_all_of_the_analyst_at_another[sqlite]",
    ),
    Mutant(
        "turns: a question does not wait for previews",
        "serve/accounts/turns.py",
        "            if turn.public:\n                await turn.none_public.wait()\n"
        "            async with turn.changing:\n                if turn.public:\n                    continue\n",
        "            async with turn.changing:\n                await self._given_back(name)\n",
        f"{TURNS}::test_a_question_waits_for_public_requests_here_and_is_refused_beside_those_elsewhere[sqlite]",
    ),
    Mutant(
        "turns: a preview shares nothing",
        "serve/accounts/turns.py",
        "            if turn.alone or (turn.public == 0 and not await self._taken(name, shared=True)):",
        "            if turn.alone:",
        f"{TURNS}::test_a_question_of_one_server_refuses_all_of_the_analyst_at_another[sqlite]",
    ),
    Mutant(
        "slots: the slot of a killed server stays taken",
        "serve/accounts/slots.py",
        "        file = os.open(self._folder / _digest(name).hex(), os.O_RDWR | os.O_CREAT, 0o600)",
        "        if not shared:\n"
        "            file = os.open(self._folder / _digest(name).hex(), os.O_RDWR | os.O_CREAT | os.O_EXCL)\n"
        "        elif (self._folder / _digest(name).hex()).exists():\n"
        "            return False\n"
        "        else:\n"
        "            return True",
        f"{TURNS}::test_a_server_that_is_killed_frees_its_turns[sqlite]",
    ),
    Mutant(
        "replies: a key that was sent before starts anew",
        "serve/accounts/replies.py",
        "            if rows:\n                found = _read(rows[0])",
        '            run("DELETE FROM replies WHERE owner = ? AND idempotency = ?", owner, key)\n'
        "            if False:\n                found = _read(rows[0])",
        f"{API}::test_a_retried_key_is_charged_once_and_gets_the_same_reply",
    ),
    Mutant(
        "questions: a parameter names the analyst",
        "serve/questions.py",
        "        task = Task(verb, place, actor.name, purpose, arguments)",
        "        task = Task(verb, place, purpose, purpose, arguments)",
        f"{API}::test_the_analyst_of_the_token_is_charged",
    ),
    Mutant(
        "bodies: a field that is not known is taken",
        "serve/api/bodies.py",
        "class Question(msgspec.Struct, forbid_unknown_fields=True):",
        "class Question(msgspec.Struct):",
        f"{API}::test_the_analyst_of_the_token_is_charged",
    ),
    Mutant(
        "worker: the text of an exception leaves",
        "serve/worker.py",
        '        return {"failed": type(error).__name__, "line": _line(error), "public": False}',
        '        return {"failed": type(error).__name__, "line": str(error), "public": False}',
        "tests/serve/test_worker.py",
    ),
    Mutant(
        "problems: the words of a fault of ours are shown",
        "serve/problems.py",
        "    if status >= 500:",
        "    if status >= 600:",
        "tests/serve/test_worker.py",
    ),
    Mutant(
        "worker: it outlives its server",
        "serve/worker.py",
        "            os._exit(0)  # the server is gone: nothing that is computed now would be accounted for",
        "            return",
        "tests/serve/test_faults.py::test_workers_end_with_a_server_that_is_killed",
    ),
    Mutant(
        "oidc: the nonce is not looked at",
        "serve/oidc/identity.py",
        '    _expect(_same(claims.get("nonce"), nonce), "nonce")\n',
        "",
        REFUSED,
    ),
    Mutant(
        "oidc: the audience is not looked at",
        "serve/oidc/identity.py",
        '    _expect(isinstance(named, list) and client_id in named, "audience")\n',
        "",
        REFUSED,
    ),
    Mutant(
        "oidc: the authorised party is not looked at",
        "serve/oidc/identity.py",
        '    _expect(claims.get("azp", client_id if named == [client_id] else None) == client_id, "audience")\n',
        "",
        REFUSED,
    ),
    Mutant(
        "oidc: the issuer of a token is not looked at",
        "serve/oidc/identity.py",
        '    _expect(claims.get("iss") == issuer, "issuer")\n',
        "",
        REFUSED,
    ),
    Mutant(
        "oidc: a token never ends",
        "serve/oidc/identity.py",
        '    _expect(_time(claims, "exp") > now - LEEWAY, "expired")\n'
        '    _expect(now - OLDEST - LEEWAY < _time(claims, "iat") <= now + LEEWAY, "time")\n',
        "",
        REFUSED,
    ),
    Mutant(
        "oidc: the signature is not checked",
        "serve/oidc/identity.py",
        "        return jwt.decode(token, key, algorithms=list(ALGORITHMS)).claims",
        "        import json\n        return dict(json.loads(jws.extract_compact(token.encode()).payload or b''))",
        REFUSED,
    ),
    Mutant(
        "oidc: the token chooses its algorithm",
        "serve/oidc/identity.py",
        '        _expect(header.get("alg") in ALGORITHMS, "algorithm")\n',
        '        if header.get("alg") in ("none", "HS256"):\n'
        "            import json\n"
        "            return dict(json.loads(jws.extract_compact(token.encode()).payload or b''))\n",
        REFUSED,
    ),
    Mutant(
        "oidc: a code of another issuer is exchanged",
        "serve/oidc/provider.py",
        "        if (issuer is None and about.names_itself) or issuer not in (None, self.settings.issuer):",
        "        if False:",
        REFUSED,
    ),
    Mutant(
        "oidc: another provider answers",
        "serve/oidc/provider.py",
        '                if about.get("issuer") != settings.issuer:',
        "                if False:",
        f"{OIDC}::test_a_provider_that_is_gone_or_not_the_one_of_the_settings_is_reported_in_our_words",
    ),
    Mutant(
        "oidc: a rotation of keys is not noticed",
        "serve/oidc/provider.py",
        "            return self._checked(token, self._read(fresh=True), login)",
        "            raise",
        f"{OIDC}::test_keys_are_kept_and_a_rotation_is_noticed_but_forged_keys_fetch_nothing",
    ),
    Mutant(
        "identities: a state works in any browser",
        "serve/accounts/identities.py",
        "not hmac.compare_digest(rows[0][0], digest(key))",
        "False",
        f"{OIDC}::test_a_state_belongs_to_its_browser_and_is_used_once",
    ),
    Mutant(
        "identities: a state is used again",
        "serve/accounts/identities.py",
        '            run("DELETE FROM logins WHERE hash = ?", digest(state))\n',
        "",
        f"{OIDC}::test_a_state_belongs_to_its_browser_and_is_used_once",
    ),
    Mutant(
        "identities: a name takes over an account",
        "serve/accounts/identities.py",
        '"SELECT name, disabled FROM users WHERE name = ? AND subject = ? AND disabled = 0",\n'
        "                    name,\n                    EXPECTED,",
        '"SELECT name, disabled FROM users WHERE name = ? AND disabled = 0",\n                    name,',
        f"{OIDC}::test_a_name_does_not_take_over_an_account",
    ),
    Mutant(
        "parser: its steps are not counted",
        "query/parse/statement.py",
        "            if self.steps.left < 0:",
        "            if self.steps.left < -50_000:",
        "tests/query/parse/test_hostile_texts.py",
    ),
    Mutant(
        "door: a text may have any number of words",
        "query/parse/tool_statements.py",
        "    if sum(1 for _ in _PART.finditer(text)) > MOST_PARTS:",
        "    if False:",
        "tests/query/parse/test_hostile_texts.py",
    ),
]
