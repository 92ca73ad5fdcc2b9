import type { ChangingArrangement } from './arrangement.ts'
import { describeChangedFlags } from './changing-flags.ts'
import { describeChangedMailboxes } from './changing-mailboxes.ts'
import { describeAddedMessages } from './changing-messages.ts'
import { describeMovedMessages } from './changing-moves.ts'

/** Contract of every `ChangingProvider`. */
export function describeChanging(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describeChangedFlags(name, setUp)
  describeMovedMessages(name, setUp)
  describeChangedMailboxes(name, setUp)
  describeAddedMessages(name, setUp)
}
