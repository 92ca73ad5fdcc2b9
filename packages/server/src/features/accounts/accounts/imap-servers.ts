import type { MailServerInput } from '@waxwing/contract/accounts/account-inputs.ts'
import { EgressRefused } from '../../../kit/egress/guard.ts'
import type { ServerSearch } from '../../../providers/discovery.ts'
import type { MailServer, ServerCheck } from '../../../providers/mail-server.ts'
import { Secret } from '../../../kit/secret.ts'
import { requireServers } from '../autoconfig/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { ImapServers } from '../../../accounts/row.ts'
import { completeServer } from './rules.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'

/** Dependencies of connecting and changing IMAP accounts besides the database. */
export interface SignIn {
  accountKeys: AccountKeys
  servers: ServerCheck
  serverSearch: ServerSearch
  /** Whether `security: none` is allowed. */
  allowPlaintext: boolean
}

/** Refuses `security: none` unless the operator allows it. Comes first, since it needs no connection. */
export function requireEncryption(
  { allowPlaintext }: Pick<SignIn, 'allowPlaintext'>,
  ...servers: ({ security?: MailServer['security'] | undefined } | null | undefined)[]
): void {
  const isPlain = servers.some(server => server?.security === 'none')
  if (isPlain && !allowPlaintext) refuse('plaintext_not_allowed')
}

/** Returns the servers that the caller named, and searches for a missing one. Refuses `autodiscovery_failed`. */
export async function completeServers(
  { serverSearch }: Pick<SignIn, 'serverSearch'>,
  { email, ...named }: { email: string; imap?: MailServerInput; smtp?: MailServerInput | null },
): Promise<Pick<ImapServers, 'imap' | 'smtp'>> {
  const imap = named.imap && completeServer(named.imap, email)
  const smtp = named.smtp && completeServer(named.smtp, email)
  if (imap && smtp !== undefined) return { imap, smtp }
  const found = await requireServers(serverSearch, email)
  return { imap: imap ?? found.imap, smtp: smtp === undefined ? (found.smtp ?? refuseSmtp()) : smtp }
}

function refuseSmtp(): never {
  refuse('autodiscovery_failed', undefined, {
    message:
      'No SMTP server was found for the address. Name its host and port, or smtp: null for an account that only reads.',
  })
}

/** Logs in to the servers one after the other, so that a wrong password costs one attempt. Refuses on any failure. */
export async function requireLogin(
  context: Pick<RequestContext, 'requestId' | 'log'>,
  { servers }: Pick<SignIn, 'servers'>,
  logins: {
    imap: { server: MailServer; password: Secret } | null
    smtp: { server: MailServer; password: Secret } | null
  },
): Promise<void> {
  try {
    if (logins.imap) await servers.imap(logins.imap.server, logins.imap.password.reveal())
    if (logins.smtp) await servers.smtp(logins.smtp.server, logins.smtp.password.reveal())
  } catch (error) {
    logRefusedServer(context, error)
    refuseFailure(error, 'sign_in')
  }
}

/** The caller gets no details about the network behind the service, but the operator needs them to allow a server. */
export function logRefusedServer(
  { requestId, log }: Pick<RequestContext, 'requestId' | 'log'>,
  error: unknown,
): void {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EgressRefused) {
      log.info({ requestId, reason: cause.detail }, 'Refused to connect to a server')
    }
  }
}
