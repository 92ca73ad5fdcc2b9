import { ProviderFailure } from '../failure.ts'
import type { ConnectedAccount, Offering } from '../connected-account.ts'
import type { SendingProvider } from '../sending.ts'
import { beforeAcceptance } from './failure.ts'
import type { SmtpLogin } from './login.ts'
import { openSession, type SmtpEndpoint, type SmtpSession } from './session.ts'
import { hand } from './transaction.ts'

/** Seconds from the first attempt to connect until the end of the login. */
const LOGIN_SECONDS = 60
const RESET_SECONDS = 20

export interface SmtpAccountOptions {
  endpoint: SmtpEndpoint
  login: SmtpLogin
  /** Ends the connection at any moment. */
  signal: AbortSignal
}

/** Connects to the SMTP server of an account. Throws `ProviderFailure`. */
export async function smtpAccount(
  options: SmtpAccountOptions,
): Promise<ConnectedAccount & Offering<'sending'>> {
  const { endpoint, login, signal } = options
  const session = await openSession(endpoint, login, LOGIN_SECONDS, signal)
  const { wire } = session
  const end = () => wire.giveUp('The connection was ended.')
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  return {
    sending: smtpSending(session),
    get isOpen() {
      return wire.isOpen
    },
    async [Symbol.asyncDispose]() {
      signal.removeEventListener('abort', end)
      await wire.close()
    },
  }
}

function smtpSending(session: SmtpSession): SendingProvider {
  const { wire, extensions } = session
  let isClean = true
  return {
    limits: {
      messageBytesMax: extensions.messageBytesMax,
      has8BitMime: extensions.has8BitMime,
      hasSmtpUtf8: extensions.hasSmtpUtf8,
      hasDsn: extensions.hasDsn,
      readsHeader: false,
    },
    filesCopy: 'sometimes',
    async send(message) {
      if (!isClean) await reset(wire)
      isClean = false
      const outcome = await hand(session, message)
      isClean = outcome.recipients.some(({ refusal }) => refusal === null)
      return outcome
    },
    // SMTP has no look-up (RFC 5321 section 4.5.5 defines reports of failures only).
    lookUp: async () => ({ outcome: 'not_known' }),
  }
}

/** RFC 5321 section 4.1.1.5: RSET clears the state that a refused message left behind. */
async function reset(wire: SmtpSession['wire']): Promise<void> {
  try {
    const reply = await wire.command('RSET', RESET_SECONDS)
    if (reply.code !== 250)
      throw new ProviderFailure('unavailable', `The server answered RSET with ${reply.code}.`)
  } catch (error) {
    throw beforeAcceptance(error)
  }
}
