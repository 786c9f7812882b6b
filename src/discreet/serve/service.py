"""Hold the parts of a running service: settings, accounts, vaults, workers, questions, limits, metrics and log.

One object for all doors: routes of the API, pages of the console and the wire door take what they need from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.serve.accounts import (
    Accounts,
    Devices,
    Identities,
    Passes,
    Products,
    Replies,
    Turns,
    database_at,
    slots_at,
)
from discreet.serve.accounts.secrets import new_id
from discreet.serve.limits import Rate
from discreet.serve.logs import Log
from discreet.serve.metrics import Metrics
from discreet.serve.oidc.records import SignsIn
from discreet.serve.questions import Pools, Questions
from discreet.serve.settings import Settings
from discreet.serve.survey.surveys import Surveys
from discreet.serve.vaults import Vaults
from discreet.serve.workers import Pool

STRANGERS = 3
"""Browsers that are not known have so many times the attempts of one address for a name, from all addresses."""


@dataclass(frozen=True)
class Service:
    """The parts of a service."""

    settings: Settings
    accounts: Accounts
    replies: Replies
    vaults: Vaults
    pool: Pool
    public: Pool
    jobs: Pool
    uploading: Pool
    questions: Questions
    products: Products
    identities: Identities
    devices: Devices
    provider: SignsIn | None
    surveys: Surveys
    requests: Rate
    logins: Rate
    guesses: Rate
    metrics: Metrics
    log: Log

    @classmethod
    def of(cls, settings: Settings, log: Log | None = None) -> Service:
        """Make the parts. No process is started yet."""
        database = database_at(settings.accounts_place)
        log, metrics = log or Log(), Metrics()
        accounts = Accounts(database, session_idle=settings.session_idle, session_longest=settings.session_longest)
        replies = Replies(database, new_id())
        vaults = Vaults(settings.folder, settings.vaults)

        def lost() -> None:
            metrics.count("workers_lost")

        pool = Pool(settings.workers, lost, places=lambda: [*vaults.places().values()])
        public = Pool(settings.public_workers, lost)
        jobs = Pool(settings.job_workers, lost, lazy=True)
        uploading = Pool(1, lost, lazy=True)
        questions = Questions(
            Pools(pool, public, jobs, uploading),
            replies,
            vaults,
            Turns(slots_at(settings.accounts_place), settings.quantum),
            quantum=settings.quantum,
            deadline=settings.deadline,
            metrics=metrics,
            log=log,
        )
        return cls(
            settings=settings,
            accounts=accounts,
            replies=replies,
            vaults=vaults,
            pool=pool,
            public=public,
            jobs=jobs,
            uploading=uploading,
            products=Products(database),
            identities=Identities(accounts),
            devices=Devices(accounts),
            provider=_provider(settings),
            surveys=Surveys(settings.folder, Passes(database)),
            questions=questions,
            requests=Rate(settings.requests_per_minute),
            logins=Rate(settings.logins_per_minute),
            guesses=Rate(STRANGERS * settings.logins_per_minute),
            metrics=metrics,
            log=log,
        )

    async def start(self) -> None:
        """Start the workers, and forget old replies."""
        self.replies.sweep(self.accounts.now() - self.settings.keep_replies)
        for pool in (self.pool, self.public, self.jobs, self.uploading):
            await pool.start()
        self.log.note("started", workers=self.settings.workers, quantum=self.settings.quantum)

    async def stop(self) -> None:
        """Let questions end, for as long as a client would wait, then end the workers."""
        await self.questions.drain(self.settings.deadline)
        for pool in (self.pool, self.public, self.jobs, self.uploading):
            await pool.close()
        self.questions.close()
        self.accounts.close()
        self.log.note("stopped")


def _provider(settings: Settings) -> SignsIn | None:
    if settings.oidc is None:
        return None
    # Its libraries take a quarter of a second to import, which a service without a provider does not spend.
    from discreet.serve.oidc.provider import Provider

    return Provider(settings.oidc)
