import type { KeyRing } from '../../kit/key-ring.ts'
import type { AccountKind } from '../../providers/abilities.ts'
import { type GmailOptions, gmailKind } from './gmail.ts'
import { type GraphOptions, graphKind } from './graph.ts'
import { openClientStates } from './graph-push/client-state.ts'
import type { PushBase } from './graph-push/plan.ts'
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
  return {
    gmail: gmailKind(options),
    graph: graphKind({ ...options, subscribing }),
    imap: imapKind(options),
  }
}
