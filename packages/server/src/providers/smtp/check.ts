import { watchGreeting } from '../greeting-watch.ts'
import type { MailServer } from '../mail-server.ts'
import { resolveServer } from '../resolve-server.ts'
import type { CheckOptions } from '../check-options.ts'
import type { SmtpLogin } from './login.ts'
import { openSession } from './session.ts'

const CHECK_SECONDS = 20

/** Greets an SMTP server and secures the connection, but does not log in. Throws `ProviderFailure`. */
export function greetSmtp(
  options: CheckOptions,
  server: Omit<MailServer, 'user'>,
  seconds: number,
): Promise<void> {
  return visit(options, server, null, seconds)
}

/** Logs in to an SMTP server; a server that requires no login is only greeted. Throws `ProviderFailure`. */
export function checkSmtp(options: CheckOptions, server: MailServer, password: string): Promise<void> {
  return visit(options, server, { user: server.user, password }, CHECK_SECONDS)
}

async function visit(
  { guard, authorities, clientName }: CheckOptions,
  server: Omit<MailServer, 'user'>,
  login: SmtpLogin | null,
  seconds: number,
): Promise<void> {
  const destination = await resolveServer(guard, 'smtp', server)
  using watch = watchGreeting(destination, server.security)
  const onGreeting = watch.greeted
  const endpoint = { destination, security: server.security, authorities, clientName, onGreeting }
  const { wire } = await openSession(endpoint, login, seconds, watch.signal)
  await wire.close()
}
