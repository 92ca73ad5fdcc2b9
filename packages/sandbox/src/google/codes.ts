import type { Clock } from '../world/clock.ts'
import type { Random } from '../world/random.ts'
import type { Client } from './clients.ts'
import type { Grant } from './grants.ts'

const CODE_SECONDS = 600
const CODES_KEPT = 10_000

/** Grant and parameters of the authorization request that a code redeems. */
export interface CodeMeaning {
  readonly client: Client
  readonly redirectUri: string
  readonly grant: Grant
  readonly scopes: readonly string[]
  readonly nonce: string | null
  /** Base64url SHA-256 of the code verifier (S256), or the verifier itself (plain). */
  readonly challenge: { readonly method: 'S256' | 'plain'; readonly value: string } | null
  /** Whether it is redeemed for a refresh token, too. */
  readonly givesRefreshToken: boolean
}

export interface Codes {
  issue(meaning: CodeMeaning): string
  /** Redeems a code, which works once and for ten minutes. */
  redeem(code: string): CodeMeaning | null
}

export function openCodes(clock: Clock, random: Random): Codes {
  const codes = new Map<string, { meaning: CodeMeaning; expiresAt: number }>()
  return {
    issue(meaning) {
      const code = `4/0A${random.letters(70)}`
      codes.set(code, { meaning, expiresAt: clock.now() + CODE_SECONDS * 1000 })
      const [oldest] = codes.keys()
      if (codes.size > CODES_KEPT && oldest !== undefined) codes.delete(oldest)
      return code
    },
    redeem(code) {
      const found = codes.get(code)
      codes.delete(code)
      return found && found.expiresAt > clock.now() ? found.meaning : null
    },
  }
}
