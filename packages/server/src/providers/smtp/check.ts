import type { MailServer } from '../sign-in.ts'
import { resolveServer } from '../resolve-server.ts'
import type { CheckOptions } from '../server-check.ts'
import { openSession } from './session.ts'

const CHECK_SECONDS = 20

/** Logs in to an SMTP server; a server that requires no login is only greeted. Throws `ProviderFailure`. */
export async function checkSmtp(options: CheckOptions, server: MailServer, password: string): Promise<void> {
  const { guard, authorities, clientName } = options
  const destination = await resolveServer(guard, 'smtp', server)
  const endpoint = { destination, security: server.security, authorities, clientName }
  const { wire } = await openSession(endpoint, { user: server.user, password }, CHECK_SECONDS)
  await wire.close()
}
