import { isDeepStrictEqual } from 'node:util'
import type { KeyRing } from '../../kit/key-ring.ts'
import { ACCOUNT_KINDS, type AccountKind, abilitiesOf } from '../../providers/abilities.ts'
import { type GmailOptions, gmailKind } from './gmail.ts'
import { type GraphOptions, graphKind } from './graph.ts'
import { openClientStates } from './graph-push/client-state.ts'
import type { PushBase } from './push-base.ts'
import { type ImapOptions, imapKind } from './imap.ts'
import type { Kind } from './kind.ts'

/** The kinds of accounts that are reached here. */
export type Kinds = Readonly<Partial<Record<AccountKind, Kind>>>

export type KindOptions = GmailOptions &
  Omit<GraphOptions, 'subscribing'> &
  ImapOptions & {
    keyRing: KeyRing
    /** The address to which providers push. */
    base: PushBase
  }

/** The settings of kinds. */
export type KindSettings = GmailOptions['settings'] & ImapOptions['settings']

export async function openKinds(options: KindOptions): Promise<Kinds> {
  const { db, keyRing, base } = options
  const subscribing = { states: await openClientStates(db, keyRing), base }
  const kinds: Record<AccountKind, Kind> = {
    gmail: gmailKind(options),
    graph: graphKind({ ...options, subscribing }),
    imap: imapKind(options),
  }
  for (const kind of ACCOUNT_KINDS) requireFollowed(kind, kinds[kind])
  return kinds
}

/** @throws if what is followed of a kind of account cannot be reached, or the other way round */
function requireFollowed(kind: AccountKind, { endpoints }: Kind): void {
  const { followed } = abilitiesOf(kind)
  if (!isDeepStrictEqual(Object.keys(endpoints).toSorted(), [...followed].toSorted()))
    throw new Error(`An account of ${kind} has other endpoints than it follows`)
}
