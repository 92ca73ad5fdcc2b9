import { createHash } from 'node:crypto'
import type { Clock } from '../../world/clock.ts'
import type { Random } from '../../world/random.ts'
import type { User } from '../../world/users.ts'
import type { Client } from './clients.ts'
import type { AskedScopes } from './scopes.ts'

const CODE_SECONDS = 600
const CODES_KEPT = 10_000

/** User and parameters of the authorization request that a code redeems. */
export interface CodeMeaning {
  readonly client: Client
  readonly user: User
  readonly redirectUri: string
  readonly asked: AskedScopes
  readonly nonce: string | null
  /** Base64url SHA-256 of the code verifier (S256), or the verifier itself (plain). */
  readonly challenge: { readonly method: 'S256' | 'plain'; readonly value: string } | null
  readonly issuedAt: number
}

export type Redeemed = CodeMeaning | 'unknown' | 'redeemed' | 'expired'

export interface Codes {
  issue(meaning: Omit<CodeMeaning, 'issuedAt'>): string
  /** Finds what a code redeems, which works once and for ten minutes. */
  redeem(code: string): Redeemed
}

export function openCodes(clock: Clock, random: Random): Codes {
  const codes = new Map<string, { meaning: CodeMeaning; isRedeemed: boolean }>()
  return {
    issue(meaning) {
      const code = `${meaning.user.organization === null ? 'M.C511_SN1.2.U.' : '1.A'}${random.letters(100)}`
      codes.set(code, { meaning: { ...meaning, issuedAt: clock.now() }, isRedeemed: false })
      const [oldest] = codes.keys()
      if (codes.size > CODES_KEPT && oldest !== undefined) codes.delete(oldest)
      return code
    },
    redeem(code) {
      const found = codes.get(code)
      if (!found) return 'unknown'
      if (found.isRedeemed) return 'redeemed'
      found.isRedeemed = true
      return found.meaning.issuedAt + CODE_SECONDS * 1000 > clock.now() ? found.meaning : 'expired'
    },
  }
}

/** Whether the verifier belongs to the challenge of the request (RFC 7636 section 4.6). */
export function isVerified({ challenge }: CodeMeaning, verifier: string | null): boolean {
  if (!challenge || verifier === null) return challenge === null && verifier === null
  const given =
    challenge.method === 'S256' ? createHash('sha256').update(verifier).digest('base64url') : verifier
  return given === challenge.value
}
