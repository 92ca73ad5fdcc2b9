import type { MailServer } from '../../providers/provider.ts'
import { Secret } from '../../kit/secret.ts'
import type { RequestContext } from '../context.ts'
import { refuseFailure } from '../provider-failure.ts'
import { refuse } from '../refuse.ts'

/** Refuses `security: none` where the operator does not allow it. Needs no connection, so it comes first. */
export function requireEncryption(
  context: RequestContext,
  ...servers: (MailServer | null | undefined)[]
): void {
  const isPlain = servers.some(server => server?.security === 'none')
  if (isPlain && !context.services.allowPlaintext) refuse('plaintext_not_allowed')
}

/** Logs in to the servers, one after the other, so that a wrong password costs one attempt. Refuses on any failure. */
export async function requireLogin(
  context: RequestContext,
  logins: {
    imap: { server: MailServer; password: Secret } | null
    smtp: { server: MailServer; password: Secret } | null
  },
): Promise<void> {
  const { servers } = context.services
  try {
    if (logins.imap) await servers.imap(logins.imap.server, logins.imap.password.reveal())
    if (logins.smtp) await servers.smtp(logins.smtp.server, logins.smtp.password.reveal())
  } catch (error) {
    refuseFailure(error)
  }
}
