import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Scope } from '@waxwing/contract/operation.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Credential } from '../../../calls/credential.ts'

export type CredentialKind = 'api_key' | 'account_token'

const PREFIXES: Record<CredentialKind, string> = { api_key: 'wk', account_token: 'wat' }
const SECRET_BYTES = 32
const SECRET_CHARACTERS = 43
const CHECKSUM_CHARACTERS = 6
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CREDENTIAL = /^(wk|wat)_([0-9a-f]{32})_[0-9A-Za-z]{49}$/

/**
 * Creates a credential for the row of that id: `wk_<id>_<secret>` or `wat_<id>_<secret>`. The id is the row's UUID
 * without dashes; the secret is 256 random bits in base 62, followed by a checksum, so that a scanner recognises a
 * leaked one without asking us.
 */
export function makeCredential(kind: CredentialKind, id: string): string {
  const secret = inBase62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_CHARACTERS)
  const body = `${PREFIXES[kind]}_${id.replaceAll('-', '')}_${secret}`
  return body + checksumOf(body)
}

/** Parses a credential. Null if it cannot be one of ours. Does not check whether it is valid. */
export function parseCredential(text: string): { kind: CredentialKind; id: string } | null {
  const match = CREDENTIAL.exec(text)
  if (!match?.[2]) return null
  const body = text.slice(0, -CHECKSUM_CHARACTERS)
  if (body + checksumOf(body) !== text) return null
  const hex = match[2]
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  return { kind: match[1] === 'wk' ? 'api_key' : 'account_token', id }
}

/**
 * The scopes of a new account token: the requested ones, but none that the minting key lacks. By default all of the
 * key's scopes.
 */
export function requireTokenScopes(minting: Credential, asked: readonly Scope[] | undefined): Scope[] {
  const scopes = [...new Set(asked ?? minting.scopes)]
  const missing = scopes.filter(scope => !minting.scopes.includes(scope))
  if (missing.length === 0) return scopes
  return refuse('missing_scope', undefined, {
    message: `A token has no scope that the key which mints it lacks: ${missing.join(', ')}. Use another key, or ask for fewer scopes.`,
  })
}

/** HMAC-SHA-256 of the whole credential, the only form in which it is stored. */
export function digestCredential(pepper: Buffer, text: string): Buffer {
  return createHmac('sha256', pepper).update(text).digest()
}

function checksumOf(body: string): string {
  return inBase62(BigInt(crc32(body)), CHECKSUM_CHARACTERS)
}

function inBase62(value: bigint, characters: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text
  return text.padStart(characters, '0')
}
