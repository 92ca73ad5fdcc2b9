import type { Signature, SignatureInput } from '@waxwing/contract/mail/identities.ts'
import type { IdentityRow } from './store.ts'

/** Custom identities of an account. */
export const IDENTITIES_MAX = 100
/** Bytes of all signatures of an account, which one list shows. */
export const SIGNATURES_BYTES_MAX = 10 * 1024 * 1024

/** A signature as it is stored. One without any text is none. */
export function toSignature(input: SignatureInput): Signature | null {
  const { html, text } = input ?? {}
  return html || text ? { html: html ?? null, text: text ?? null } : null
}

/** An empty name is none. */
export function toName(input: string | null | undefined): string | null {
  return input || null
}

/** The identity after a change. */
export function planIdentity(
  before: IdentityRow,
  change: { name?: string | null | undefined; signature?: SignatureInput },
): IdentityRow {
  return {
    ...before,
    ...(change.name !== undefined && { name: toName(change.name) }),
    ...(change.signature !== undefined && { signature: toSignature(change.signature) }),
  }
}
