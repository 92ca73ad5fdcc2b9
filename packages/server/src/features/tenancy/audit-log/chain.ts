import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { StoredRow } from './entry.ts'

/** Both ends of a tenant's chain. Positions count from 1; a chain that has lost no row yet begins behind position 0. */
export interface Ends {
  tenantId: string
  /** The last row that was removed because of its age. */
  base: Link
  /** The newest row. */
  head: Link
  /** The position after which ends were found that did not fit their seal; null as long as none were. */
  brokenPosition: bigint | null
}

export interface Link {
  position: bigint
  hash: Buffer
}

/** Functions that chain rows, under a key of the installation. Pure. */
export interface Chain {
  /** The hash of the row that follows the link. */
  hashOf(previous: Link, row: StoredRow): Buffer
  /** Authenticates both ends. */
  sealOf(ends: Ends): Buffer
  isSealed(ends: Ends, seal: Buffer): boolean
}

/** Before the first row. */
const ORIGIN: Link = { position: 0n, hash: Buffer.alloc(32) }

export function emptyChain(tenantId: string): Ends {
  return { tenantId, base: ORIGIN, head: ORIGIN, brokenPosition: null }
}

/** @param key 32 bytes that no other purpose uses */
export function openChain(key: Buffer): Chain {
  const macKey = createSecretKey(key)
  const sealOf = (ends: Ends) => mac(macKey, sealedText(ends))
  return {
    hashOf: (previous, row) => mac(macKey, hashedText(previous, row)),
    sealOf,
    isSealed: (ends, seal) => {
      const expected = sealOf(ends)
      return seal.length === expected.length && timingSafeEqual(seal, expected)
    },
  }
}

function mac(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Every column of the row, in one fixed order. */
function hashedText({ position, hash }: Link, row: StoredRow): string {
  const targets = Object.entries(row.targets).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([
    'row',
    String(position + 1n),
    hash.toString('hex'),
    row.tenant_id,
    row.id,
    row.actor_type,
    row.actor_id,
    row.actor_label,
    row.action,
    row.surface,
    targets,
    row.ip,
    row.user_agent,
    row.status,
    row.error_reason,
    row.request_id,
  ])
}

function sealedText({ tenantId, base, head, brokenPosition }: Ends): string {
  const ends = [base, head].flatMap(({ position, hash }) => [String(position), hash.toString('hex')])
  return JSON.stringify(['ends', tenantId, ...ends, brokenPosition === null ? null : String(brokenPosition)])
}
