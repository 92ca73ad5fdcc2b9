import { ProviderFailure } from '../failure.ts'
import { loginFailure } from './failure.ts'
import type { SmtpWire } from './wire.ts'

export type SmtpLogin = { user: string } & ({ password: string } | { accessToken: string })

/** One way to log in: the line that begins it, and an answer to each challenge of the server. */
export interface LoginExchange {
  line: string
  answers: readonly string[]
  /** Texts that must not be shown if the server repeats them. */
  secrets: readonly string[]
}

/** Picks the first mechanism that the server offers; null if it offers none of them. */
export function planLogin(
  login: SmtpLogin,
  mechanisms: readonly string[],
  server: { host: string; port: number },
): LoginExchange | null {
  const { user } = login
  if ('accessToken' in login) {
    const { accessToken } = login
    const bearer = `auth=Bearer ${accessToken}\x01\x01`
    // After a refusal the server sends its reason as a challenge, which is answered before the final reply (RFC 7628
    // section 3.2.3).
    if (mechanisms.includes('OAUTHBEARER')) {
      const first = base64(
        `n,a=${escapeName(user)},\x01host=${server.host}\x01port=${server.port}\x01${bearer}`,
      )
      return { line: `AUTH OAUTHBEARER ${first}`, answers: ['AQ=='], secrets: [accessToken, first] }
    }
    if (!mechanisms.includes('XOAUTH2')) return null
    const first = base64(`user=${user}\x01${bearer}`)
    return { line: `AUTH XOAUTH2 ${first}`, answers: [''], secrets: [accessToken, first] }
  }
  const { password } = login
  // RFC 4616.
  if (mechanisms.includes('PLAIN')) {
    const first = base64(`\0${user}\0${password}`)
    return { line: `AUTH PLAIN ${first}`, answers: [], secrets: [password, first] }
  }
  if (!mechanisms.includes('LOGIN')) return null
  const answers = [base64(user), base64(password)]
  return { line: 'AUTH LOGIN', answers, secrets: [password, base64(password)] }
}

/** Logs in. A server that offers no login is used without one. Throws `ProviderFailure`. */
export async function logIn(
  wire: SmtpWire,
  login: SmtpLogin,
  mechanisms: readonly string[],
  server: { host: string; port: number; seconds: number },
): Promise<void> {
  if (mechanisms.length === 0) return
  const exchange = planLogin(login, mechanisms, server)
  if (!exchange)
    throw new ProviderFailure('unsupported', 'The server offers no way to log in that this service supports.')
  let reply = await wire.command(exchange.line, server.seconds)
  for (const answer of exchange.answers) {
    if (reply.code !== 334) break
    reply = await wire.command(answer, server.seconds)
  }
  if (reply.code !== 235) throw loginFailure(reply, exchange.secrets.filter(Boolean))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** RFC 5801 section 4. */
function escapeName(user: string): string {
  return user.replaceAll('=', '=3D').replaceAll(',', '=2C')
}
