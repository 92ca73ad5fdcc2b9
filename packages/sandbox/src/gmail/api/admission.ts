import type { Accounts } from '../../google/accounts.ts'
import { requireKnownQuery } from '../../google/api/json-calls.ts'
import { decodeSegment, type Match } from '../../google/api/routes.ts'
import { authenticate, refuseScopes } from '../../google/authenticate.ts'
import type { Caller } from '../../google/caller.ts'
import type { Call } from '../../world/calls.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { Quota } from '../quota.ts'
import type { GmailMethod } from './method.ts'
import { findMethod } from './methods.ts'
import { failedPrecondition, forbidden, notFound } from '../../google/api/refusal.ts'

/** Parts of Gmail that decide whether a call is let in. */
export interface Admission {
  readonly accounts: Accounts
  readonly quota: Quota
  /** By address. */
  readonly mailboxes: ReadonlyMap<string, Mailbox>
}

/** A call that was let in, and whose units were charged. */
export interface Admitted extends Match<GmailMethod> {
  caller: Caller
  mailbox: Mailbox
  url: URL
}

/** Finds the method, the caller and the mailbox of a call, and charges its units. Returns the refusal of a bad token. */
export function admit(
  { accounts, quota, mailboxes }: Admission,
  request: Request,
  call: Call,
  pattern: RegExp,
): Admitted | Response {
  const caller = authenticate(accounts, request, call)
  if (caller instanceof Response) return caller
  const url = new URL(request.url)
  const [, userId = '', path = ''] = pattern.exec(url.pathname) ?? []
  const match = findMethod(request.method, path)
  if (!match) throw notFound('Method not found.')
  const refused = refuseScopes(caller, call.host, match.method.scopes)
  if (refused) return refused
  requireKnownQuery(match.method, url.searchParams)
  const units = quota.unitsOf(match.method.id)
  quota.charge(caller.user.email, caller.client?.clientId ?? 'service-account', units)
  call.units = units
  return { ...match, caller, url, mailbox: requireMailbox(mailboxes, caller, decodeSegment(userId)) }
}

function requireMailbox(mailboxes: Admission['mailboxes'], caller: Caller, userId: string): Mailbox {
  const own = caller.user.email
  if (userId !== 'me' && userId.toLowerCase() !== own) throw forbidden(`Delegation denied for ${own}`)
  const mailbox = mailboxes.get(own)
  if (!mailbox) throw failedPrecondition('Mail service not enabled')
  return mailbox
}
