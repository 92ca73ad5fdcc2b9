import type { CheckOptions } from './check-options.ts'
import { discreetGuard } from '../kit/egress/discreet-guard.ts'
import type { EgressGuard } from '../kit/egress/guard.ts'
import { type DiscoveryOptions, findHomes } from './dav/discovery.ts'
import { checkImap } from './imap/check.ts'
import type { OnAsked, ServerCheck } from './mail-server.ts'
import { ProviderFailure, restate } from './failure.ts'
import { checkSmtp } from './smtp/check.ts'

/** Logs in to the servers of an account, which the caller named. Allows 20 seconds for each. */
export function serverCheck({ guard, ...rest }: CheckOptions & DiscoveryOptions): ServerCheck {
  const discreet = discreetGuard(guard)
  const optionsFor = (onAsked: OnAsked | undefined) => ({ guard: tellingGuard(discreet, onAsked), ...rest })
  return {
    imap: (server, password, onAsked) =>
      checkImap(optionsFor(onAsked), server, password).catch(nameServer('IMAP')),
    smtp: (server, password, onAsked) =>
      checkSmtp(optionsFor(onAsked), server, password).catch(nameServer('SMTP')),
    dav: (server, password, onAsked) =>
      findHomes(optionsFor(onAsked), server, password).catch(nameServer('DAV')),
  }
}

/** A guard that calls `onAsked` before it gives away an address. */
function tellingGuard(guard: EgressGuard, onAsked: OnAsked | undefined): EgressGuard {
  return {
    async resolve(target) {
      const destination = await guard.resolve(target)
      await onAsked?.()
      return destination
    },
  }
}

/**
 * Adds the name of the server to a failure. The message for a refused login has nothing else, not even the server's
 * words.
 */
function nameServer(name: 'IMAP' | 'SMTP' | 'DAV') {
  return (error: unknown): never => {
    if (!(error instanceof ProviderFailure)) throw error
    const text =
      error.kind === 'login_failed'
        ? 'The server refused the login. Check user and password; some providers need an app password.'
        : error.message
    throw restate(error, { message: `${name}: ${text}` })
  }
}
