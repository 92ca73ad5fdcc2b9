import type { AccountKind } from '../../providers/abilities.ts'
import { type GmailOptions, gmailKind } from './gmail.ts'
import { type GraphOptions, graphKind } from './graph.ts'
import { type ImapOptions, imapKind } from './imap.ts'
import type { Kind } from './kind.ts'

/** The kinds of accounts that are reached here. */
export type Kinds = Readonly<Partial<Record<AccountKind, Kind>>>

export type KindOptions = GmailOptions & GraphOptions & ImapOptions

/** The settings of kinds. */
export type KindSettings = GmailOptions['settings'] & ImapOptions['settings']

export function openKinds(options: KindOptions): Kinds {
  return { gmail: gmailKind(options), graph: graphKind(options), imap: imapKind(options) }
}
