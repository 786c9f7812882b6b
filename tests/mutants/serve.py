"""The service: sessions, tokens, turns, ticks, keys, sign-in by a provider, and what an error says."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SESSIONS = "tests/serve/test_sessions.py"
API = "tests/serve/test_api.py"
ACCOUNTS = "tests/serve/accounts/test_accounts.py"
TURNS = "tests/serve/accounts/test_turns.py"
OIDC = "tests/serve/test_oidc.py"
HOSTILE = "tests/serve/test_hostile_requests.py"
TICKETS = "tests/serve/test_tickets.py"
TALLY = "tests/serve/survey/test_tally.py"
UPLOADS = "tests/serve/console/test_uploads.py"
STRANGERS = "tests/serve/test_strangers.py"
BLIND = "tests/local/tickets/test_tickets.py"
REFUSED = f"{OIDC}::test_what_does_not_prove_a_person_is_refused"

SERVE = [
    Mutant(
        "session: the key that a browser brings is adopted",
        "serve/console/session.py",
        'headers={"location": "/"}, cookies=[cookie(service, key), *cookies])',
        'headers={"location": "/"}, cookies=[cookie(service, request.cookies.get(name, key)), *cookies])',
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
        "tickets: a reply that is no signature is sent back",
        "local/tickets/request.py",
        "        if not right or pow(signature, EXPONENT, modulus) != self._encoded:",
        "        if not right:",
        f"{BLIND}::test_replies_that_could_mark_a_respondent_give_no_ticket",
    ),
    Mutant(
        "tickets: a factor that is no unit is taken",
        "local/tickets/request.py",
        "            if math.gcd(factor, key.modulus) == 1 and math.gcd(encoded, key.modulus) == 1:",
        "            if factor:",
        f"{BLIND}::test_a_factor_that_is_no_unit_is_drawn_again",
    ),
    Mutant(
        "tickets: a signature that was computed wrongly leaves",
        "local/tickets/issuer.py",
        "        if pow(signature, EXPONENT, key.modulus) != number:",
        "        if False:",
        f"{BLIND}::test_a_fault_of_the_machine_gives_no_key_away",
    ),
    Mutant(
        "tickets: the base of a signature is not hidden",
        "local/tickets/issuer.py",
        "            hiding = secrets.randbelow(n)",
        "            hiding = 1",
        f"{BLIND}::test_the_work_of_the_issuer_is_hidden_anew_each_time",
    ),
    Mutant(
        "tickets: the key is not part of what is signed",
        "local/collection/collection.py",
        "canonical(fields if self.tickets is None else {**fields, _TICKETS: self.tickets.written()})",
        "canonical(fields)",
        f"{BLIND}::test_the_key_is_part_of_what_is_signed",
    ),
    Mutant(
        "survey: a code is exchanged for two tickets",
        "serve/survey/counter.py",
        "            elif first != use:",
        "            elif not first:",
        TICKETS,
    ),
    Mutant(
        "survey: a ticket is good for two answers",
        "serve/survey/counter.py",
        "        if first is not None and first != use:",
        "        if first is not None and not first:",
        TICKETS,
    ),
    Mutant(
        "survey: a code brings an answer beside its ticket",
        "serve/survey/counter.py",
        "        if self.collection.tickets is not None:  # a code",
        "        if self.collection.tickets is not None and code is None:  # a code",
        f"{TICKETS}::test_a_code_is_good_for_a_ticket_and_for_nothing_else",
    ),
    Mutant(
        "survey: servers of one folder do not take turns",
        "serve/survey/tally.py",
        "            fcntl.flock(held, fcntl.LOCK_EX)",
        "            fcntl.flock(held, fcntl.LOCK_SH)",
        f"{TALLY}::test_a_tally_is_locked_for_other_servers",
    ),
    Mutant(
        "survey: entries lie in the order in which they came",
        "serve/survey/tally.py",
        "            if there > entry:",
        "            if False:",
        f"{TALLY}::test_two_orders_of_arrival_leave_the_same_bytes",
    ),
    Mutant(
        "survey: the last arrival stays readable",
        "serve/survey/tally.py",
        "            redo.write(bytes(len(whole)))",
        "            redo.write(whole)",
        f"{TALLY}::test_two_orders_of_arrival_leave_the_same_bytes",
    ),
    Mutant(
        "survey: a change of a killed server is lost",
        "serve/survey/tally.py",
        "        if bits == self._bits:  # else",
        "        if False:  # else",
        f"{TALLY}::test_a_change_that_was_cut_off_is_made_whole_or_not_at_all",
    ),
    Mutant(
        "survey: a change is made again in a table that has grown",
        "serve/survey/tally.py",
        "        if bits == self._bits:  # else",
        "        if True:  # else",
        f"{TALLY}::test_a_change_that_was_made_is_not_made_again_after_the_table_grew",
    ),
    Mutant(
        "survey: a key makes a collection each time",
        "serve/survey/surveys.py",
        "        id_ = self._reserved(owner, key, terms) if key else new_id()",
        "        id_ = new_id()",
        f"{TICKETS}::test_a_request_with_a_key_makes_one_collection_and_shows_the_same_codes",
    ),
    Mutant(
        "people: a token for one vault makes accounts for all",
        "serve/accounts/records.py",
        "    if EVERYWHERE not in actor.vaults:",
        "    if False:",
        f"{HOSTILE}::test_a_token_for_one_vault_makes_no_account_for_all",
    ),
    Mutant(
        "pages: an address becomes a header as it is",
        "serve/console/pages.py",
        """    where = quote(address, safe="/?#=&%+,:;@!$'()*~-._")""",
        "    where = address",
        f"{HOSTILE}::test_an_address_is_never_a_header_or_another_site",
    ),
    Mutant(
        "door: texts of a catalogue query grow",
        "query/parse/tool_catalogue.py",
        "        check_growth(rewritten)",
        "        rewritten = rewritten",
        f"{HOSTILE}::test_a_catalogue_query_whose_texts_grow_is_not_computed",
    ),
    Mutant(
        "questions: another server is not asked to cancel",
        "serve/questions.py",
        "                if await asyncio.to_thread(self._replies.cancelled, running.id):",
        "                if False:",
        "tests/serve/test_faults.py::test_a_job_is_cancelled_at_another_server_of_the_team",
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
    Mutant(
        "people: a narrow token makes a token of another person",
        "serve/api/people.py",
        "        expect_whole_scope(actor)\n\n\ndef _expect_within",
        "        pass\n\n\ndef _expect_within",
        f"{STRANGERS}::test_a_narrow_token_makes_no_token_of_another_person",
    ),
    Mutant(
        "people: a token for another person may do more than the one that makes it",
        "serve/api/people.py",
        "    if further or not wanted <= actor.verbs:",
        "    if further:",
        f"{STRANGERS}::test_a_narrow_token_makes_no_token_of_another_person",
    ),
    Mutant(
        "questions: rows of an upload are read where previews are answered",
        "serve/questions.py",
        "                pool = self._pools.uploads if TASKS[verb].upload else self._pools.public",
        "                pool = self._pools.public",
        f"{STRANGERS}::test_an_upload_is_read_by_a_worker_for_uploads_alone",
    ),
    Mutant(
        "session: a stranger's attempts are counted with those of a browser that is known",
        "serve/console/session.py",
        "    if known:\n        service.logins",
        "    if False:\n        service.logins",
        f"{STRANGERS}::test_a_stranger_who_knows_a_name_does_not_keep_its_owner_out",
    ),
    Mutant(
        "session: a browser that is known may guess without a limit",
        "serve/console/session.py",
        '        service.logins.take(f"device {digest(mark)}")\n        return',
        "        return",
        f"{STRANGERS}::test_guesses_are_bounded_for_a_name_over_all_addresses_and_for_a_browser_that_is_known",
    ),
    Mutant(
        "session: guesses of a name are bounded for each address alone",
        "serve/console/session.py",
        "    service.guesses.take(name)\n",
        "",
        f"{STRANGERS}::test_guesses_are_bounded_for_a_name_over_all_addresses_and_for_a_browser_that_is_known",
    ),
    Mutant(
        "devices: a mark counts for every name",
        "serve/accounts/devices.py",
        "        return bool(rows) and rows[0][0] == name and",
        "        return bool(rows) and",
        ACCOUNTS,
    ),
    Mutant(
        "identity: an address that is not verified is a name",
        "serve/oidc/identity.py",
        'claim == "email" and claims.get("email_verified") is not True',
        "False",
        f"{OIDC}::test_an_address_that_is_not_verified_is_no_name_and_a_provider_that_names_itself_must",
    ),
    Mutant(
        "provider: one that names itself may leave its name out",
        "serve/oidc/provider.py",
        "(issuer is None and about.names_itself) or issuer not in",
        "issuer not in",
        f"{OIDC}::test_an_address_that_is_not_verified_is_no_name_and_a_provider_that_names_itself_must",
    ),
    Mutant(
        "uploads: the rows that a footer declares are not counted",
        "serve/verbs/uploads.py",
        "    if size > most:",
        "    if False:",
        f"{UPLOADS}::test_a_file_that_no_choice_of_columns_makes_readable_is_refused_and_deleted",
    ),
    Mutant(
        "uploads: a file that no choice of columns makes readable is kept",
        "serve/console/sealing.py",
        "    if reply.status == 422:  # no change",
        "    if False:  # no change",
        f"{UPLOADS}::test_a_file_that_no_choice_of_columns_makes_readable_is_refused_and_deleted",
    ),
    Mutant(
        "uploads: memory is what DuckDB says",
        "serve/verbs/uploads.py",
        "    resource.setrlimit(what, (min(lower), hard))",
        "    resource.setrlimit(what, (before, hard))",
        f"{UPLOADS}::test_what_reads_a_table_gets_no_more_memory_than_it_may_and_the_limit_ends_with_it",
    ),
    Mutant(
        "workers: a task has no end",
        "serve/workers.py",
        "            async with asyncio.timeout(task.seconds):",
        "            async with asyncio.timeout(None):",
        f"{UPLOADS}::test_a_table_that_takes_too_long_ends_with_its_worker_and_others_are_answered_meanwhile",
    ),
    Mutant(
        "server: a client chooses its address",
        "serve/server.py",
        "                proxy_headers=settings.behind_tls,",
        "                proxy_headers=True,",
        f"{STRANGERS}::test_an_address_is_not_what_a_header_says",
    ),
    Mutant(
        "patience: a head has no end",
        "serve/limits/patience.py",
        "            return self._head_since + limits.head_seconds",
        "            return inf",
        "tests/serve/test_patience.py",
    ),
]
