import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  SUBSCRIBED_KINDS,
  type Subscribed,
  type SubscribedKind,
} from '../../../accounts/grants/subscriptions.ts'
import type { Db } from '../../../database/pool.ts'
import { requireSealedValue } from '../../../database/sealed-value.ts'
import type { KeyRing } from '../../../kit/key-ring.ts'

const ACCOUNT_BYTES = 16
const NONCE_BYTES = 8
const MAC_BYTES = 32
const STATE_BYTES = ACCOUNT_BYTES + NONCE_BYTES + MAC_BYTES
const STATE = new RegExp(`^[\\w-]{${Math.ceil((STATE_BYTES * 4) / 3)}}$`)
const NONCE = new RegExp(`^[0-9a-f]{${2 * NONCE_BYTES}}$`)
/** Keep the MACs of each kind apart, and from others under the same key. */
const PURPOSES: Readonly<Record<SubscribedKind, string>> = {
  mail: 'graph_subscription',
  calendar: 'graph_calendar_subscription',
  contacts: 'graph_contacts_subscription',
}

/**
 * Makes and checks the `clientState` of subscriptions, at most 128 characters. It names the account and has a MAC of that
 * and the kind of data, so that a notification proves itself without a look at the database.
 */
export interface ClientStates {
  make(subscribed: Subscribed): string
  /** Returns null for a text that was not made here. */
  read(clientState: string): Subscribed | null
}

export function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString('hex')
}

export async function openClientStates(db: Db, keyRing: KeyRing): Promise<ClientStates> {
  return clientStates(createSecretKey(await requireSealedValue(db, keyRing, 'push_key')))
}

export function clientStates(key: KeyObject): ClientStates {
  const macOf = (kind: SubscribedKind, named: Buffer) =>
    createHmac('sha256', key).update(PURPOSES[kind]).update(named).digest()
  return {
    make({ accountId, kind, nonce }) {
      if (!NONCE.test(nonce)) throw new RangeError(`no nonce: ${nonce}`)
      const named = Buffer.from(accountId.replaceAll('-', '') + nonce, 'hex')
      if (named.length !== ACCOUNT_BYTES + NONCE_BYTES) throw new RangeError(`no account: ${accountId}`)
      return Buffer.concat([named, macOf(kind, named)]).toString('base64url')
    },
    read(clientState) {
      if (!STATE.test(clientState)) return null
      const bytes = Buffer.from(clientState, 'base64url')
      const named = bytes.subarray(0, ACCOUNT_BYTES + NONCE_BYTES)
      const mac = bytes.subarray(ACCOUNT_BYTES + NONCE_BYTES)
      const kind = SUBSCRIBED_KINDS.find(one => timingSafeEqual(mac, macOf(one, named)))
      if (kind === undefined) return null
      const hex = named.toString('hex')
      const [, a, b, c, d, e] = /^(.{8})(.{4})(.{4})(.{4})(.{12})/.exec(hex) ?? []
      return { accountId: [a, b, c, d, e].join('-'), kind, nonce: hex.slice(2 * ACCOUNT_BYTES) }
    },
  }
}
