import { hash, randomBytes } from 'node:crypto'
import type { MessageKey } from '../../../../providers/mail.ts'

const CAPACITY_MIN = 1024
/** A fuller table is doubled. */
const FULL_SHARE = 0.7
/** 2^32 divided by the golden ratio, which spreads ascending numbers over the table. */
const SPREAD = 0x9e37_79b1
const DIGEST_BYTES = 6

/**
 * A set of message keys in at most 23 bytes for each. A lasting id is kept as a digest of 48 bits, under a salt of its
 * own: should two ids have the same digest, they have another one in the next set.
 */
export class KeySet {
  readonly #salt = randomBytes(8).toString('hex')
  /** 0 is a free slot. */
  #slots = new Float64Array(CAPACITY_MIN)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** @returns whether it was not in the set */
  add(key: MessageKey): boolean {
    const value = this.#valueOf(key)
    const at = slotOf(this.#slots, value)
    if (this.#slots[at] === value) return false
    this.#slots[at] = value
    if (++this.#size > this.#slots.length * FULL_SHARE) this.#grow()
    return true
  }

  has(key: MessageKey): boolean {
    const value = this.#valueOf(key)
    return this.#slots[slotOf(this.#slots, value)] === value
  }

  #valueOf(key: MessageKey): number {
    if (typeof key === 'number') return key + 1
    return hash('sha1', this.#salt + key, 'buffer').readUIntBE(0, DIGEST_BYTES) + 1
  }

  #grow(): void {
    const slots = new Float64Array(this.#slots.length * 2)
    for (const value of this.#slots) if (value !== 0) slots[slotOf(slots, value)] = value
    this.#slots = slots
  }
}

/** The slot that holds a value, or the free one that it belongs into. */
function slotOf(slots: Float64Array, value: number): number {
  const mask = slots.length - 1
  const high = Math.floor(value / 0x1_0000_0000)
  let at = (Math.imul((value ^ high) | 0, SPREAD) >>> 8) & mask
  while (slots[at] !== 0 && slots[at] !== value) at = (at + 1) & mask
  return at
}
