"""Issue blind tickets: one for each invitation, which no one can link to the invitation (RFC 9474).

    encoding      EMSA-PSS with SHA-384: a message and a salt become a number
    public_key    TicketKey: the public key, which is part of the signed collection; verify a ticket
    request       TicketRequest: what a respondent blinds and sends; Ticket: what comes of the reply
    issuer        Issuer: the private key of the server, and blind signatures

The scheme is RSABSSA-SHA384-PSS-Randomized. A respondent draws a message x of 64 bytes and a salt, encodes them as
m < n, draws a unit r of the integers modulo n uniformly, and sends b = m·rᵉ. The issuer returns t with tᵉ = b. The
respondent computes s = t/r and keeps it if sᵉ = m. The ticket is (x, s).

**Claim: perfect unlinkability.** Whatever the issuer computes, and however it chose n, what it saw when it issued
tickets, (b, t), is independent of the tickets (x, s).

Proof. If a respondent accepts, then m and s are units and tᵉ = b. So for every accepted (b, t) and every ticket
(x, s) there is exactly one unit r for which they belong together, r = t/s, and all units r were equally likely. ∎

The claim needs that every respondent has the same n: a server that gives each of them another key knows which
invitation a ticket came from. So the key is in the text that is signed, and in its hash, which respondents can
compare. The claim covers (b, t) and (x, s): not the address a request comes from, and not its time. The proof for
many respondents is in docs/theory/local-system.md.

**Claim: one answer for one invitation.** Who got k tickets can make no (k+1)th one: this is the one-more-RSA
assumption in the random-oracle model (Bellare, Namprempre, Pointcheval, Semanko, 2003), not a theorem.
"""

from discreet.local.tickets.issuer import Issuer
from discreet.local.tickets.public_key import TicketKey
from discreet.local.tickets.request import Ticket, TicketRequest

__all__ = ["Issuer", "Ticket", "TicketKey", "TicketRequest"]
